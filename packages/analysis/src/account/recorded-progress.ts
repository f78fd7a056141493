import type { RunProgress } from '@halting/core/adapters'
import { beginningOf, lastMomentOf, usdOf, type StepRecord } from '@halting/core/steps'
import { isAtWorst, recordedSteps, type RecordedRequest, type RecordedSteps } from './recorded-steps.ts'

/** What a run came to. Costs are in US dollars. */
export interface Totals {
  /** Turns. */
  readonly turns: number
  /** Attempts at model requests that are on record. */
  readonly requests: number
  /** Input and output tokens. */
  readonly tokens: number
  /** What services told. */
  readonly costUsd: number
  /** With what nobody told, which is charged at worst case, and what open requests may cost. */
  readonly committedUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** What the records of a run say of where it was last, and what it came to. */
export interface RecordedProgress {
  /** At its end, or in the last iteration on record. */
  readonly spent: RunProgress
  /** A turn was granted, and its model not asked. */
  readonly isTurnOpen: boolean
  /** What the run came to. */
  readonly totals: Totals
}

/** Reads from records what a run came to, also one that did not end. @throws ConfigurationError for what is no record of one run. */
export function recordedProgress(
  records: readonly StepRecord[],
  { requests }: RecordedSteps = recordedSteps(records),
): RecordedProgress {
  const begin = beginningOf(records)
  const end = records.find((record) => record.type === 'end' && record.scope === '')
  const ended = end?.type === 'end' ? end : undefined
  const spent = ended?.spent ?? lastProgress(records) ?? begin.start.spent
  return {
    spent,
    isTurnOpen: spent.turnBegins && (ended !== undefined || !isAsked(requests, spent)),
    totals: totalsOf(records, requests, spent, ended !== undefined),
  }
}

function lastProgress(records: readonly StepRecord[]): RunProgress | undefined {
  const lap = records.findLast((record) => record.type === 'lap' && record.lap.scope === '')
  return lap?.type === 'lap' ? lap.lap.spent : undefined
}

function totalsOf(
  records: readonly StepRecord[],
  requests: readonly RecordedRequest[],
  spent: RunProgress,
  hasEnded: boolean,
): Totals {
  if (hasEnded) {
    const { turns, totalTokens: tokens, nanos, unknownNanos, now, startedAt } = spent
    return {
      turns,
      // None is under way: a reply that is not on record was lost.
      requests: requests.length,
      tokens,
      costUsd: usdOf(nanos),
      committedUsd: usdOf(nanos + unknownNanos),
      activeMs: now - startedAt,
    }
  }
  const { at, start } = beginningOf(records)
  const carried = start.spent
  const done = requests.filter(({ isOpen }) => !isOpen)
  const told = requests.reduce((sum, request) => sum + (isAtWorst(request) ? 0 : request.nanos), 0)
  const all = requests.reduce((sum, { nanos }) => sum + nanos, 0)
  return {
    turns: spent.turns + (spent.turnBegins && isAsked(requests, spent) ? 1 : 0),
    requests: done.length,
    tokens: carried.totalTokens + done.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: usdOf(carried.nanos + told),
    committedUsd: usdOf(carried.nanos + carried.unknownNanos + all),
    activeMs: carried.now - carried.startedAt + lastMomentOf(records) - at,
  }
}

/** The request after the last lap is on record. */
function isAsked(requests: readonly RecordedRequest[], spent: RunProgress): boolean {
  return requests.some(({ scope, request, phase }) => scope === '' && phase === 'model' && request === spent.request)
}
