import { stagesOf, type RecordedStage } from '@halting/core/after'
import { accountOf, type Account } from '../account/account.ts'
import { noticesWith } from '../account/recorded-notices.ts'
import type { StepRecord } from '@halting/core/steps'
import type { AnySession } from '../sessions/read-session.ts'
import { many } from '../words/figures.ts'
import type { NextStep } from './next-step.ts'
import { terminalOf } from './terminal-of.ts'
import { unreportedUsageIn, type UnreportedUsage } from './unreported-usage.ts'
import { foreignAccount } from './foreign-account.ts'

/** Why a run of a session stopped, and what else to say about it. */
export interface RunExplanation {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory. */
  readonly cwd: string
  /** The account of the run. */
  readonly account: Account
  /** Attempts whose usage was never reported. */
  readonly unreportedUsage: UnreportedUsage
  /** Notices of models and services in this session so far, for example that another API is used. */
  readonly notices: readonly string[]
  /** Stages after the run. */
  readonly stages: readonly RecordedStage[]
  /** What a person can do next. */
  readonly nextStep: NextStep
  /** How earlier runs ended. */
  readonly before: readonly string[]
  /** Id of the process that is writing to it. */
  readonly heldBy?: number
  /** Remarks on a session of another program. */
  readonly about: readonly string[]
}

/** Details of a run in addition to its records. */
export interface RunDetails {
  /** Remarks on a session of another program. */
  readonly about: RunExplanation['about']
  /** What a person can do next. */
  readonly nextStep?: RunExplanation['nextStep'] | undefined
  /** Id of the process that is writing to the session. */
  readonly heldBy?: number | undefined
  /** The account of the run, if already computed. */
  readonly account?: Account | undefined
}

/**
 * Prepares explanations of all runs of a session, counted from 0, as in `halting why`. What they share is computed once: there may be ten thousand
 * runs.
 */
export function explainRuns(session: AnySession): (run: number, details: RunDetails) => RunExplanation {
  const { sessionId, cwd, runs, foreign } = session
  const stages = stagesByRun(runs)
  let noticesByRun: ReturnType<typeof noticesUntil> | undefined
  const notices = (): ReturnType<typeof noticesUntil> => (noticesByRun ??= noticesUntil(runs))
  return (run, { nextStep = { says: '' }, about, heldBy, account: known }) => {
    const records = runs[run] ?? []
    const account = known ?? (foreign === undefined ? accountOf(records) : foreignAccount(records))
    return {
      sessionId,
      cwd,
      account,
      unreportedUsage: unreportedUsageIn(records),
      notices: notices()[run] ?? [],
      stages: stages.get(account.run.runId) ?? [],
      nextStep,
      before: endingsBefore(runs, run),
      about,
      ...(heldBy !== undefined && { heldBy }),
    }
  }
}

/** Notices by run, including those of earlier runs: a model reports a fact once, and it remains true. */
function noticesUntil(runs: AnySession['runs']): readonly (readonly string[])[] {
  let notices: readonly string[] = []
  return runs.map((records) => (notices = noticesWith(notices, records)))
}

function stagesByRun(runs: AnySession['runs']): ReadonlyMap<string, readonly RecordedStage[]> {
  const records = runs.flatMap((run) => run.flatMap((record) => (record.type === 'stage' ? [record.stage] : [])))
  const byRun = new Map<string, RecordedStage[]>()
  for (const stage of stagesOf(records)) {
    const known = byRun.get(stage.runId)
    if (known === undefined) byRun.set(stage.runId, [stage])
    else known.push(stage)
  }
  return byRun
}

/** The number of earlier runs whose endings are listed. */
const maxEarlierEndings = 20

function endingsBefore(runs: readonly (readonly StepRecord[])[], run: number): readonly string[] {
  const first = Math.max(0, run - maxEarlierEndings)
  const named = runs
    .slice(first, run)
    .map((records, index) => `run ${first + index + 1} ${terminalOf(records)?.reason ?? 'did not end'}`)
  return first === 0 ? named : [many(first, 'earlier run'), ...named]
}
