import { compactCommand } from '@halting/core/adapters'
import type { SessionSnapshot } from '@halting/core/session'
import type { Flags } from '../flags/flags.ts'
import { needsBound } from '../frontends/loop-words.ts'
import type { LoopTerms, StoredLoop } from '../frontends/loop-record.ts'
import { UsageError } from '../usage-error.ts'

/** Flags that the record of a loop stores, so that a continued loop keeps its goals and budget. */
const recorded = [
  'maxBudgetUsd',
  'until',
  'goal',
  'untilTries',
  'untilTimeout',
  'untilStable',
  'protect',
] as const satisfies readonly (keyof Flags & keyof LoopTerms)[]

/** Flags that the record stores: the command that continues the loop does not repeat them. */
export const recordedFlags: ReadonlySet<string> = new Set<keyof Flags>(['every', 'rounds', 'loopTime', ...recorded])

/** Whether a recorded loop continues: without a prompt, or with the same one. A different prompt starts a new loop. */
export function continuesLoop(stored: StoredLoop | undefined, prompt: string): stored is StoredLoop {
  return stored !== undefined && (prompt === '' || prompt === stored.terms.prompt)
}

/** The terms of a loop: those on record, overridden by flags. @throws UsageError if the prompt or the interval is missing */
export function loopTerms(flags: Flags, prompt: string, stored: StoredLoop | undefined): LoopTerms {
  if (flags.inputFormat === 'stream-json')
    throw new UsageError('--input-format stream-json is for hosts, which send each prompt themselves. Remove it.')
  const before = stored?.terms
  const everyMs = flags.every ?? before?.everyMs
  const { rounds = before?.rounds, loopTime: forMs = before?.forMs } = flags
  const text = prompt === '' ? (before?.prompt ?? '') : prompt
  if (text === '') throw new UsageError(noPrompt(flags))
  if (compactCommand.test(text))
    throw new UsageError('A loop cannot repeat /compact: runs compact automatically when the context window fills up.')
  if (everyMs === undefined)
    throw new UsageError(
      'Set the interval with --every 10m (from the start of one round to the start of the next); --every 0 starts each round at once.',
    )
  const own = Object.fromEntries(
    recorded.flatMap((name) => {
      const value = flags[name] ?? before?.[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  return {
    prompt: text,
    everyMs,
    ...(rounds !== undefined && { rounds }),
    ...(forMs !== undefined && { forMs }),
    ...own,
  }
}

function noPrompt({ resume, continue: isNewest }: Flags): string {
  const isNamed = resume !== undefined || isNewest === true
  const where = isNamed ? 'The session has no loop to continue, and there is no prompt.' : 'There is no prompt.'
  return `${where} Put it after loop: halting loop "Check the build." --every 10m --rounds 6`
}

/** The flags of this call, extended by the recorded terms. */
export function flagsWithTerms(flags: Flags, terms: LoopTerms): Flags {
  const own = Object.fromEntries(recorded.flatMap((name) => (terms[name] === undefined ? [] : [[name, terms[name]]])))
  return { ...flags, ...own }
}

/** @throws UsageError for a loop without a bound */
export function requireBound(
  { rounds, forMs }: LoopTerms,
  { limits, goal }: Pick<SessionSnapshot, 'limits' | 'goal'>,
): void {
  if (rounds !== undefined || forMs !== undefined || limits.maxBudgetUsd !== null || goal?.isChecked === true) return
  throw new UsageError(
    `${needsBound}: give --rounds N, --for TIME, --max-budget-usd X or --until CMD. --max-run-usd limits each round, not the loop.`,
  )
}
