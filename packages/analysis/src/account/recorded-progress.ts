import type { RunProgress } from '@halting/core/adapters'
import { startOfRecord, lastTimeOf, usdOf, type StepRecord } from '@halting/core/steps'
import { isAtWorst, recordedSteps, type RecordedRequest, type RecordedSteps } from './recorded-steps.ts'

/** Totals of a run. Costs are in US dollars. */
export interface Totals {
  /** Turns. */
  readonly turns: number
  /** Recorded attempts at model requests. */
  readonly requests: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Cost that services reported, in US dollars. */
  readonly costUsd: number
  /** The reported cost, plus unreported cost at worst case, plus the most that open requests may cost; in US dollars. */
  readonly committedUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** The last recorded state of a run, and its totals. */
export interface RecordedProgress {
  /** State at the end of the run, or in its last recorded iteration. */
  readonly spent: RunProgress
  /** Whether a turn was granted and its model request has not been made. */
  readonly isTurnOpen: boolean
  /** Totals of the run. */
  readonly totals: Totals
}

/**
 * Reads the last state and the totals of a run from its records, also of a run that has not ended.
 * @throws ConfigurationError for records that are not those of one run.
 */
export function recordedProgress(
  records: readonly StepRecord[],
  { requests }: RecordedSteps = recordedSteps(records),
): RecordedProgress {
  const begin = startOfRecord(records)
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
      // No request counts as open: a reply that was not recorded is lost.
      requests: requests.length,
      tokens,
      costUsd: usdOf(nanos),
      committedUsd: usdOf(nanos + unknownNanos),
      activeMs: now - startedAt,
    }
  }
  const { at, start } = startOfRecord(records)
  const carried = start.spent
  const done = requests.filter(({ isOpen }) => !isOpen)
  const reportedNanos = requests.reduce((sum, request) => sum + (isAtWorst(request) ? 0 : request.nanos), 0)
  const all = requests.reduce((sum, { nanos }) => sum + nanos, 0)
  return {
    turns: spent.turns + (spent.turnBegins && isAsked(requests, spent) ? 1 : 0),
    requests: done.length,
    tokens: carried.totalTokens + done.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: usdOf(carried.nanos + reportedNanos),
    committedUsd: usdOf(carried.nanos + carried.unknownNanos + all),
    activeMs: carried.now - carried.startedAt + lastTimeOf(records) - at,
  }
}

/** Whether the request after the last iteration was recorded. */
function isAsked(requests: readonly RecordedRequest[], spent: RunProgress): boolean {
  return requests.some(({ scope, request, phase }) => scope === '' && phase === 'model' && request === spent.request)
}
