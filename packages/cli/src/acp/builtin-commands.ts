import type { Session } from '@halting/core/session'
import { endings, type LimitsChange } from '@halting/core'
import { endingLimits, mostGoalTries } from '@halting/core/adapters'
import { parseGoalArgument, type GoalCommand } from '../frontends/goal-argument.ts'
import { goalRows } from '../frontends/goal-words.ts'
import type { Command } from './session-opener.ts'

/** What this face itself does with a prompt: every editor has a field to write in, and few have buttons for these. */
export const builtinCommands: readonly Command[] = [
  { name: 'continue', description: 'Continue where the last run stopped' },
  { name: 'retry', description: 'Retry now instead of waiting for a service' },
  { name: 'compact', description: 'Compact the conversation', argumentHint: 'what to keep' },
  {
    name: 'until',
    description: 'Work until a command exits with 0; without one, show the goals',
    argumentHint: 'COMMAND, + COMMAND, or off',
  },
  {
    name: 'goal',
    description: 'Work until a model judges a text to be true; a command (/until) is more reliable',
    argumentHint: 'what must hold, or off',
  },
]

const builtinNames = ['continue', 'retry', 'compact', 'until', 'goal'] as const
type BuiltinName = (typeof builtinNames)[number]

/** The command of a prompt, with what is written behind it. A prompt without anything in it goes on. */
export function parseBuiltinCommand(text: string): { readonly name: BuiltinName; readonly rest: string } | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return { name: 'continue', rest: '' }
  const [, given, rest = ''] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(trimmed) ?? []
  const name = builtinNames.find((one) => one === given)
  return name === undefined ? undefined : { name, rest }
}

/** Sets the goals of the session, or shows them; gives what the person is told. @throws ConfigurationError for what cannot be set. */
export function setGoal(session: Session, name: GoalCommand, argument: string): string {
  const { goal } = session.snapshot
  const read = parseGoalArgument(name, argument, goal, Date.now())
  if (read.kind === 'show') return goalRows(goal).join('\n')
  session.set(read.change)
  return `${read.message}${session.snapshot.goal?.isChecked === false ? ' Goals are not checked in plan mode.' : ''}`
}

/**
 * Goes on. A run that ended after its turns, its tool calls or its time gets as many again, as a new prompt would give it; dollars and tokens are for a person to raise.
 * @throws ConfigurationError where there is nothing to go on with.
 */
export function continueRun(session: Session): void {
  session.resume(raisedLimits(session.snapshot))
}

function raisedLimits({ last, limits, figures }: Session['snapshot']): LimitsChange | undefined {
  const limit = last === undefined ? null : endings[last.reason].limit
  if (limit === null || endingLimits[limit].raisedBy !== 'continuing') return undefined
  if (limit === 'maxTurns' && limits.maxTurns !== null && figures.turns >= limits.maxTurns)
    return { maxTurns: figures.turns + limits.maxTurns }
  if (limit === 'maxToolCalls' && limits.maxToolCalls !== null && figures.toolCalls >= limits.maxToolCalls)
    return { maxToolCalls: figures.toolCalls + limits.maxToolCalls }
  if (limit === 'maxDurationMs' && limits.maxDurationMs !== null && (figures.leftMs ?? 0) <= 0)
    return { maxDurationMs: figures.usedMs + limits.maxDurationMs }
  const { used, limit: tries } = last?.signal.context ?? {}
  // An answer that asks something goes back without further tries.
  if (limit === 'maxGoalTries' && typeof used === 'number' && typeof tries === 'number' && used >= tries)
    return { maxGoalTries: Math.min(mostGoalTries, used + tries) }
  return undefined
}
