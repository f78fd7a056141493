import type { SdkResult, TranscriptEntry } from '@halting/core'
import { recordedResult, runsOf, type StepRecord } from '@halting/core/steps'
import type { OpenRun } from './work.ts'

function hasEnded(run: readonly StepRecord[]): boolean {
  return run.some((record) => record.type === 'end' && record.scope === '')
}

function runIdOf([first]: readonly StepRecord[]): string {
  return first?.type === 'start' ? first.start.run.runId : ''
}

/** The run of these that did not end, and the messages that are in it. */
export function openRunOf(records: readonly StepRecord[]): OpenRun | undefined {
  const run = runsOf(records).at(-1)
  const [first] = run ?? []
  if (run === undefined || first?.type !== 'start' || hasEnded(run)) return undefined
  // Where records of past laps are left out, these have the messages that were taken.
  return { runId: runIdOf(run), ids: [...messagesIn(run)], isWithoutMessage: messagesIn([first]).size === 0 }
}

/** What a record adds to the transcript of its scope. What came in after the last lap is in the end. */
export function addedBy(record: StepRecord): readonly TranscriptEntry[] {
  if (record.type === 'start') return record.start.added
  if (record.type === 'lap') return record.lap.added
  return record.type === 'end' ? record.added : []
}

/** Messages that are in the runs of these. */
export function messagesIn(records: readonly StepRecord[]): ReadonlySet<string> {
  const ids = records.flatMap((record) =>
    record.type === 'control'
      ? (record.control.messages ?? []).map(({ id }) => id)
      : addedBy(record).flatMap((entry) => (entry.kind === 'user' && entry.inboxId) || []),
  )
  return new Set(ids)
}

/** Results of runs that ended, of which nobody was told: `records` are of this invocation, `before` the conversation, of which nobody was told those of `untold`. */
export function untoldResults(
  sessionId: string,
  before: readonly StepRecord[],
  records: readonly StepRecord[],
  told: ReadonlySet<string>,
  untold: readonly string[] = [],
): readonly { readonly runId: string; readonly result: SdkResult }[] {
  const earlier = runsOf(before)
  const runs = [...earlier, ...runsOf(records)]
  return runs.flatMap((run, index) => {
    const runId = runIdOf(run)
    if (!hasEnded(run) || told.has(runId) || (index < earlier.length && !untold.includes(runId))) return []
    const result = recordedResult(sessionId, runs.slice(0, index + 1))
    return result === undefined ? [] : [{ runId, result }]
  })
}
