import { recordedAccount } from './session-account.ts'
import { beginningOf } from '../steps/check-records.ts'
import { foldSession } from '../steps/fold-session.ts'
import type { StepRecord } from '../steps/log.ts'
import { StopSignal } from '../endings/signal.ts'
import { StopSignals } from '../endings/signals.ts'
import { uuidOf } from '../values/hash.ts'
import { resultMessage } from '../sdk/result-message.ts'
import type { SdkResult } from '../sdk/sdk-messages.ts'

/**
 * The result message of the last run of these, which ended, for who has its records and not what it told. Denials are in no record: it names none, and no window of
 * a model. Undefined where that run did not end.
 * @throws ConfigurationError for what is no record of a run.
 */
export function recordedResult(sessionId: string, runs: readonly (readonly StepRecord[])[]): SdkResult | undefined {
  const folded = foldSession(runs)
  const last = folded.ended.at(-1)
  if (last === undefined || folded.open !== undefined) return undefined
  const { terminal: stored, spent, runId } = last
  const terminal = {
    ...stored,
    signal: StopSignal.fromJSON(stored.signal),
    signals: StopSignals.fromJSON(stored.signals),
  }
  const account = recordedAccount(folded)
  const { history = 0 } = beginningOf(runs.at(-1) ?? []).start
  const startLength = foldSession(runs.slice(0, -1)).transcript.length + history
  return resultMessage({
    uuid: uuidOf(`${sessionId}/${runId}/result`),
    sessionId,
    terminal,
    state: { transcript: folded.transcript, startLength, spent },
    denials: [],
    sessionCostUsd: account.costUsd,
    sessionUsage: account.usage,
    models: [],
    contextWindow: null,
    output: undefined,
  })
}
