import { stagesOf, type RecordedStage } from './stage-record.ts'
import type { BudgetLease } from '../limits/lease.ts'
import type { RunProgress, RunStart } from '../state/state.ts'
import type { RunResult } from '../endings/terminal.ts'
import { Transcript } from '../conversation/transcript.ts'
import { beginningOf, isOwnStart } from './check-records.ts'
import type { StepStore, StepRecord } from './log.ts'

/** A run that ended, and what it spent. */
export interface EndedRun {
  /** Id of the run. */
  readonly runId: string
  /** The run whose counters this one carries: what that spent is in its figures, too. */
  readonly continues?: string
  /** The caller's own name for the prompt that it began with (`promptId`); absent where it had none. */
  readonly promptId?: string
  /** How it ended. */
  readonly terminal: RunResult
  /** What it spent. */
  readonly spent: RunProgress
}

/** What the records of a session come to. */
export interface FoldedSession {
  /** What was said in the runs that ended. */
  readonly transcript: Transcript
  /** Records of the last run, if it did not end: `resume` goes on with it. A lap may stand for those of past turns (`folds`). */
  readonly open: readonly StepRecord[] | undefined
  /** The runs that ended, in their order. */
  readonly ended: readonly EndedRun[]
  /** The conversation was taken back after the last run: that is over, whatever it waited for. What it has cost counts. */
  readonly isRewound?: boolean
  /** What came after its runs; none when absent. What that has cost counts. */
  readonly stages?: readonly RecordedStage[]
}

/** A session that an earlier process left, and where its records go on. */
export interface StoredSession extends FoldedSession {
  /** The name under which it goes on. */
  readonly sessionId?: string
  /** Where new records go. */
  readonly log: StepStore
  /** Where what it may spend is shared with other sessions. */
  readonly lease?: BudgetLease | undefined
}

/**
 * Records of a session as those of its runs. What comes between two runs belongs to the first. A duration below zero, which older versions wrote where the
 * clock of the machine was set back, is none.
 */
export function runsOf(records: readonly StepRecord[]): readonly (readonly StepRecord[])[] {
  const runs: StepRecord[][] = []
  for (const record of records) {
    if (isOwnStart(record)) runs.push([])
    runs.at(-1)?.push(withoutTimeBack(record))
  }
  return runs
}

/** Anybody may have written a record: what is of another type is looked at elsewhere. */
function withoutTimeBack(record: StepRecord): StepRecord {
  if (record.type === 'result') return record.durationMs < 0 ? { ...record, durationMs: 0 } : record
  if (record.type !== 'stage' || record.stage?.phase !== 'ended' || !(record.stage.durationMs < 0)) return record
  return { ...record, stage: { ...record.stage, durationMs: 0 } }
}

/**
 * Puts together the transcript of a session from the records of its runs, in order.
 * @throws ConfigurationError for what is no record of a run.
 */
export function foldSession(runs: readonly (readonly StepRecord[])[]): FoldedSession {
  let transcript = Transcript.empty()
  const ended: EndedRun[] = []
  let isRewound = false
  const stages = stagesOf(runs.flat().flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
  const after = stages.length === 0 ? {} : { stages }
  for (const records of runs) {
    const { start } = beginningOf(records)
    const end = records.findLast((record) => record.type === 'end' && record.scope === '')
    // What it said comes with the state that it goes on in.
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

/** The runs whose figures make the session's, each once: without those that another of them, or the open one, goes on from. */
export function countedRuns({ ended, open }: FoldedSession, continued?: string): readonly EndedRun[] {
  const carried = new Set([continued, ...ended.map(({ continues }) => continues)])
  if (open !== undefined) carried.add(beginningOf(open).start.run.continues)
  return ended.filter(({ runId }) => !carried.has(runId))
}

/** The caller's own name for the prompt that a run began with; undefined where it began without one, or the prompt had none. */
export function promptIdOf(records: readonly StepRecord[]): string | undefined {
  return promptIdIn(beginningOf(records).start)
}

function promptIdIn({ added }: RunStart): string | undefined {
  const prompt = added.findLast((entry) => entry.kind === 'user' && entry.origin === 'prompt')
  return prompt?.kind === 'user' ? prompt.inboxId : undefined
}

/** The name of the run that these records are of. */
export function runIdOf(records: readonly StepRecord[] = []): string {
  return beginningOf(records).start.run.runId
}
