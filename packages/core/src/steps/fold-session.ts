import { stagesOf, type RecordedStage } from './stage-record.ts'
import type { BudgetLease } from '../limits/lease.ts'
import type { RunProgress, RunStart } from '../state/state.ts'
import type { RunResult } from '../endings/run-result.ts'
import { Transcript } from '../conversation/transcript.ts'
import { startOfRecord, isOwnStart } from './check-records.ts'
import type { StepStore, StepRecord } from './step-record.ts'

/** An ended run and its spending. */
export interface EndedRun {
  /** Id of the run. */
  readonly runId: string
  /** The run whose counters this one carries: its figures include that run's spending. */
  readonly continues?: string
  /** The caller's id for the initial prompt (`promptId`); absent if the prompt had no id. */
  readonly promptId?: string
  /** How it ended. */
  readonly terminal: RunResult
  /** What it spent. */
  readonly spent: RunProgress
}

/** The result of folding a session's records. */
export interface FoldedSession {
  /** The conversation of the ended runs. */
  readonly transcript: Transcript
  /** Records of the last run, if it did not end: `resume` continues that run. One iteration may replace the records of past turns (`folds`). */
  readonly open: readonly StepRecord[] | undefined
  /** The ended runs, in order. */
  readonly ended: readonly EndedRun[]
  /** Whether the conversation was rewound after the last run. That run is over, even if it was waiting; its cost still counts. */
  readonly isRewound?: boolean
  /** Stages after the runs; absent if there are none. Their cost counts. */
  readonly stages?: readonly RecordedStage[]
}

/** A session of an earlier process, and the log for new records. */
export interface StoredSession extends FoldedSession {
  /** The session id; the session continues under this id. */
  readonly sessionId?: string
  /** Where new records are stored. */
  readonly log: StepStore
  /** Set if the session shares its budget with others. */
  readonly lease?: BudgetLease | undefined
}

/**
 * Splits the records of a session into runs. Records between two runs belong to the first of them. Durations that are
 * negative become zero: older versions wrote them when the machine's clock was set back.
 */
export function splitRuns(records: readonly StepRecord[]): readonly (readonly StepRecord[])[] {
  const runs: StepRecord[][] = []
  for (const record of records) {
    if (isOwnStart(record)) runs.push([])
    runs.at(-1)?.push(withoutNegativeDurations(record))
  }
  return runs
}

/** The record may come from an untrusted source; values of other types are validated elsewhere. */
function withoutNegativeDurations(record: StepRecord): StepRecord {
  if (record.type === 'result') return record.durationMs < 0 ? { ...record, durationMs: 0 } : record
  if (record.type !== 'stage' || record.stage?.phase !== 'ended' || !(record.stage.durationMs < 0)) return record
  return { ...record, stage: { ...record.stage, durationMs: 0 } }
}

/**
 * Builds the transcript of a session from the records of its runs, in order.
 * @throws ConfigurationError for records that are not those of a run.
 */
export function foldSession(runs: readonly (readonly StepRecord[])[]): FoldedSession {
  let transcript = Transcript.empty()
  const ended: EndedRun[] = []
  let isRewound = false
  const stages = stagesOf(runs.flat().flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
  const after = stages.length === 0 ? {} : { stages }
  for (const records of runs) {
    const { start } = startOfRecord(records)
    const end = records.findLast((record) => record.type === 'end' && record.scope === '')
    // The messages of an open run are in the state from which it continues.
    if (end?.type !== 'end') return { transcript, open: records, ended, ...after }
    let reached = transcript.appendAll(start.added)
    isRewound = false
    for (const record of records) {
      if (record.type === 'rewind') {
        reached = Transcript.of(reached.since(0).slice(0, record.entries))
        isRewound = true
      }
      const added =
        record.type === 'lap' && record.lap.scope === ''
          ? record.lap.added
          : record.type === 'end' && record.scope === ''
            ? record.added
            : []
      reached = reached.appendAll(added)
    }
    const { runId, continues } = start.run
    const promptId = promptIdIn(start)
    ended.push({
      runId,
      ...(continues !== undefined && { continues }),
      ...(promptId !== undefined && { promptId }),
      terminal: end.terminal,
      spent: end.spent,
    })
    transcript = reached
  }
  return { transcript, open: undefined, ended, ...after, ...(isRewound && { isRewound }) }
}

/** The runs whose figures add up to those of the session: excludes runs that another run, or the open one, continues. */
export function countedRuns({ ended, open }: FoldedSession, continued?: string): readonly EndedRun[] {
  const carried = new Set([continued, ...ended.map(({ continues }) => continues)])
  if (open !== undefined) carried.add(startOfRecord(open).start.run.continues)
  return ended.filter(({ runId }) => !carried.has(runId))
}

/** The caller's id for the initial prompt of a run; undefined if there was no prompt, or it had no id. */
export function promptIdOf(records: readonly StepRecord[]): string | undefined {
  return promptIdIn(startOfRecord(records).start)
}

function promptIdIn({ added }: RunStart): string | undefined {
  const prompt = added.findLast((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  return prompt?.kind === 'user' ? prompt.inboxId : undefined
}

/** The id of the run with these records. */
export function runIdOf(records: readonly StepRecord[] = []): string {
  return startOfRecord(records).start.run.runId
}
