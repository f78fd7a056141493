import type { Session } from '@halting/core/session'
import { endings, type LimitsChange } from '@halting/core'
import { endingLimits, maxGoalTriesAllowed } from '@halting/core/adapters'
import { parseGoalArgument, type GoalCommand } from '../frontends/goal-argument.ts'
import { goalRows } from '../frontends/goal-words.ts'
import type { Command } from './session-opener.ts'

/** Commands that this frontend handles itself. Every editor has a text field, and few have buttons for these. */
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

/** The command of a prompt with its argument. An empty prompt continues the run. */
export function parseBuiltinCommand(text: string): { readonly name: BuiltinName; readonly rest: string } | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return { name: 'continue', rest: '' }
  const [, word, rest = ''] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(trimmed) ?? []
  const name = builtinNames.find((one) => one === word)
  return name === undefined ? undefined : { name, rest }
}

/** Sets or lists the goals of the session. Returns a message for the person. @throws ConfigurationError for goals that cannot be set. */
export function setGoal(session: Session, name: GoalCommand, argument: string): string {
  const { goal } = session.snapshot
  const read = parseGoalArgument(name, argument, goal, Date.now())
  if (read.kind === 'show') return goalRows(goal).join('\n')
  session.set(read.change)
  return `${read.message}${session.snapshot.goal?.isChecked === false ? ' Goals are not checked in plan mode.' : ''}`
}

/**
 * Continues the session. A run that ended at its limit of turns, tool calls or time gets the same limit again, as with a new prompt. Dollars and tokens are raised by
 * a person only.
 * @throws ConfigurationError if there is nothing to continue.
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
  // The answer to a question of the model does not need further tries.
  if (limit === 'maxGoalTries' && typeof used === 'number' && typeof tries === 'number' && used >= tries)
    return { maxGoalTries: Math.min(maxGoalTriesAllowed, used + tries) }
  return undefined
}
