import type { Session } from '@halting/core/session'
import { endings, type LimitsChange } from '@halting/core'
import { endingLimits, mostGoalTries } from '@halting/core/adapters'
import type { Command } from './opener.ts'

/** What this face itself does with a prompt: every editor has a field to write in, and few have buttons for these. */
export const ownCommands: readonly Command[] = [
  { name: 'continue', description: 'Goes on where the last run ended, at a limit or before its end' },
  { name: 'compact', description: 'Makes the conversation shorter', argumentHint: 'what to keep' },
]

/** The command of a prompt, with what is written behind it. A prompt without anything in it goes on. */
export function ownCommandOf(
  text: string,
): { readonly name: 'continue' | 'compact'; readonly rest: string } | undefined {
  const said = text.trim()
  if (said === '') return { name: 'continue', rest: '' }
  const [, name, rest = ''] = /^\/(continue|compact)(?:\s+(.*))?$/s.exec(said) ?? []
  return name === 'continue' || name === 'compact' ? { name, rest } : undefined
}

/**
 * Goes on. A run that ended after its turns or its time gets as many again, as a new prompt would give it; dollars and tokens are for a person to raise.
 * @throws ConfigurationError where there is nothing to go on with.
 */
export function goOn(session: Session): void {
  session.resume(moreOf(session.snapshot))
}

function moreOf({ last, limits, figures }: Session['snapshot']): LimitsChange | undefined {
  const limit = last === undefined ? null : endings[last.reason].limit
  if (limit === null || endingLimits[limit].raisedBy !== 'continuing') return undefined
  if (limit === 'maxTurns' && limits.maxTurns !== null && figures.turns >= limits.maxTurns)
    return { maxTurns: figures.turns + limits.maxTurns }
  if (limit === 'maxDurationMs' && limits.maxDurationMs !== null && (figures.leftMs ?? 0) <= 0)
    return { maxDurationMs: figures.usedMs + limits.maxDurationMs }
  const { used, limit: tries } = last?.signal.context ?? {}
  if (limit === 'maxGoalTries' && typeof used === 'number' && typeof tries === 'number')
    return { maxGoalTries: Math.min(mostGoalTries, used + tries) }
  return undefined
}
