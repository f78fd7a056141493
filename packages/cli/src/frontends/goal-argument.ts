import type { GoalSpec, SettingsChange } from '@halting/core'
import type { SessionGoal } from '@halting/core/session'
import { oneLine } from '../io/figures.ts'

/** `until`: commands that must exit with 0. `goal`: a text that a model judges. */
export type GoalCommand = 'until' | 'goal'

export type GoalArgument = GoalsShown | GoalsChanged

/** Without an argument, the command shows the goals. */
interface GoalsShown {
  readonly kind: 'show'
}

interface GoalsChanged {
  readonly kind: 'change'
  readonly change: SettingsChange
  readonly message: string
  /** The command that was set, if any. */
  readonly command?: string
}

/**
 * Parses the argument of `/until` or `/goal`: a command or text replaces the earlier ones, `+ COMMAND` adds one, `off`
 * removes those of its kind. `setNumber`: a number that no earlier goals of the session had, for example the time. With
 * a new number, the check starts over, with new protected files and tries.
 */
export function parseGoalArgument(
  name: GoalCommand,
  argument: string,
  current: SessionGoal | null,
  setNumber: number,
): GoalArgument {
  const trimmed = argument.trim()
  if (trimmed === '') return { kind: 'show' }
  const all: readonly GoalSpec[] = (current?.goals ?? []).map(({ set: _, ...spec }) => spec)
  const isJudged = name === 'goal'
  const others = all.filter(({ judged }) => (judged === true) !== isJudged)
  const same = all.filter(({ judged }) => (judged === true) === isJudged)
  if (/^(?:off|none)$/i.test(trimmed))
    return { kind: 'change', ...goalChange(others, setNumber), message: offText(name, same, others) }
  const [, more] = name === 'until' ? (/^\+\s*(\S[\s\S]*)$/.exec(trimmed) ?? []) : []
  const text = more ?? trimmed
  const spec: GoalSpec = isJudged ? { name: text, judged: true } : { name: text }
  const before = more === undefined ? [] : same.filter((each) => each.name !== text)
  // Commands are checked before a model is asked.
  const specs = isJudged ? [...others, spec] : [...before, spec, ...others]
  const command = isJudged ? {} : { command: text }
  return { kind: 'change', ...goalChange(specs, setNumber), message: setText(name, text, specs.length), ...command }
}

function goalChange(specs: readonly GoalSpec[], setNumber: number): { readonly change: SettingsChange } {
  return { change: { until: specs.map((spec) => ({ ...spec, set: setNumber })) } }
}

function setText(name: GoalCommand, text: string, goals: number): string {
  const what = oneLine(text, 200)
  const all = goals === 1 ? '' : ` All ${goals} goals must be met.`
  return name === 'until'
    ? `An answer is accepted when this command exits with 0: ${what}.${all}`
    : `An answer is accepted when a model judges this to be true: ${what}.${all} A command (/until) is more reliable.`
}

function offText(name: GoalCommand, same: readonly GoalSpec[], others: readonly GoalSpec[]): string {
  const kind = name === 'until' ? 'commands as goals' : 'goals judged by a model'
  const stays =
    others.length === 0
      ? ''
      : ` ${name === 'until' ? '/goal off' : '/until off'} removes the other ${others.length === 1 ? 'goal' : 'goals'}.`
  return `${same.length === 0 ? 'There were no' : 'Removed the'} ${kind}.${stays}`
}
