import type { GoalResult, RunEvent, RunResult } from '@halting/core'
import { goalLine, goalNames } from '../frontends/goal-words.ts'
import type { Flags } from '../flags/flags.ts'
import { many, oneLine } from '../io/figures.ts'

/** The lines about goals that `halting -p` prints on stderr (spec R-GOAL-62). */
export interface GoalLines {
  /** The lines for an event: for each round of checks of the main run; none for other events. */
  linesFor(event: RunEvent): readonly string[]
}

/** Maximum number of lines of a check's output that `--verbose` shows. */
const shownLines = 10
const maxLineLength = 300
/** Maximum number of test files that are listed. */
const shownNames = 5

export function followGoals(isVerbose: boolean): GoalLines {
  let goals: readonly string[] = []
  return {
    linesFor(event) {
      if (event.type === 'goal_start') ({ goals } = event)
      if (event.type !== 'goal_end') return []
      const failed = event.checks.at(-1)
      const isShown = isVerbose && !event.met && failed !== undefined && failed.tail !== ''
      const report = isShown ? failed.tail.split('\n').filter((line) => line.trim() !== '') : []
      return [goalLine(goals, event), ...report.slice(-shownLines).map((line) => `  ${oneLine(line, maxLineLength)}`)]
    },
  }
}

/** The goal part of a closing line; '' for a run without goals. */
export function goalPart({ goal, reason }: Pick<RunResult, 'goal' | 'reason'>): string {
  // The ending itself reports it in its message.
  if (goal === undefined || reason === 'goal_unmet') return ''
  const { met, checks, heldFromStart, judged } = goal
  if (met === 'unknown') return checks.length === 0 ? 'goal not checked' : 'goal not checked after the last change'
  const failed = checks.at(-1)
  if (!met) return `goal not met${failed === undefined ? '' : `: ${goalNames([failed.name])}`}`
  const how = [
    ...(judged === true ? ['judged by a model'] : []),
    ...(heldFromStart === true ? ['already met at the start'] : []),
  ]
  return `goal met: ${goalNames(checks.map(({ name }) => name))}${how.length === 0 ? '' : ` (${how.join('; ')})`}`
}

/** Remarks on a goal verdict, one line each: tests that the agent changed, and a flaky check. */
export function goalNotes(goal: GoalResult | undefined, stable = 1): readonly string[] {
  if (goal === undefined) return []
  const { changedTests, flaky } = goal
  const more = changedTests.length - shownNames
  const names = [...changedTests.slice(0, shownNames), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return [
    ...(changedTests.length === 0 ? [] : [`The agent changed ${many(changedTests.length, 'test file')}: ${names}.`]),
    ...(flaky
      ? [
          `The check is flaky: its result changed although no file did. --until-stable ${Math.max(3, 2 * stable)} requires that many passes in a row.`,
        ]
      : []),
  ]
}

/** Whether the first check failed because the goal is not usable, such as an unknown command. No request was made. */
export function isUnusableGoal({ reason, signal }: Pick<RunResult, 'reason' | 'signal'>): boolean {
  return reason === 'error' && signal.source === 'goal' && signal.context['code'] === 'configuration'
}

/** Goal flags that a resume command must repeat, because they are not recorded (spec R-GOAL-65a). */
export function goalArguments(
  { untilTries, untilTimeout, untilStable, protect = [] }: Flags,
  command: string,
): readonly string[] {
  const isRaised = untilTries === undefined || command.includes('--until-tries')
  return [
    ...(isRaised ? [] : ['--until-tries', String(untilTries)]),
    ...(untilTimeout === undefined ? [] : ['--until-timeout', `${untilTimeout}ms`]),
    ...(untilStable === undefined ? [] : ['--until-stable', String(untilStable)]),
    ...protect.flatMap((glob) => ['--protect', glob]),
  ]
}
