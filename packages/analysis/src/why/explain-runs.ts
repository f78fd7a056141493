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

/** What is told of one session. */
export interface RunExplanation {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory. */
  readonly cwd: string
  /** Of the newest run. */
  readonly account: Account
  /** What of it nobody told. */
  readonly untold: UnreportedUsage
  /** What models and their services gave notice of in this session so far, such as that another API is used. */
  readonly notices: readonly string[]
  /** What came after it. */
  readonly stages: readonly RecordedStage[]
  /** What a person may do next. */
  readonly goOn: NextStep
  /** How the runs before it ended. */
  readonly before: readonly string[]
  /** The process that writes it at this moment. */
  readonly heldBy?: number
  /** What else is to be said of a session of another program. */
  readonly about: readonly string[]
}

/** What is known of a run beside its records. */
export interface BesideRun {
  /** What else is to be said of a session of another program. */
  readonly about: RunExplanation['about']
  /** What a person may do next. */
  readonly goOn?: RunExplanation['goOn'] | undefined
  /** The process that writes the session at this moment. */
  readonly heldBy?: number | undefined
  /** Its account, where that is known already. */
  readonly account?: Account | undefined
}

/** What `halting why` tells of any run of a session, counted from 0. What all of them share is looked for once: there may be ten thousand. */
export function explainRuns(session: AnySession): (run: number, beside: BesideRun) => RunExplanation {
  const { sessionId, cwd, runs, foreign } = session
  const stages = stagesByRun(runs)
  let heard: ReturnType<typeof noticesUntil> | undefined
  const notices = (): ReturnType<typeof noticesUntil> => (heard ??= noticesUntil(runs))
  return (run, { goOn = { says: '' }, about, heldBy, account: known }) => {
    const records = runs[run] ?? []
    const account = known ?? (foreign === undefined ? accountOf(records) : foreignAccount(records))
    return {
      sessionId,
      cwd,
      account,
      untold: unreportedUsageIn(records),
      notices: notices()[run] ?? [],
      stages: stages.get(account.run.runId) ?? [],
      goOn,
      before: endingsBefore(runs, run),
      about,
      ...(heldBy !== undefined && { heldBy }),
    }
  }
}

/** Of each run those of the runs before it, too: a model tells a thing once, and it holds from then on. */
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

/** So many runs before one are told by their endings, the last ones. */
const mostBefore = 20

function endingsBefore(runs: readonly (readonly StepRecord[])[], run: number): readonly string[] {
  const first = Math.max(0, run - mostBefore)
  const named = runs
    .slice(first, run)
    .map((records, index) => `run ${first + index + 1} ${terminalOf(records)?.reason ?? 'did not end'}`)
  return first === 0 ? named : [many(first, 'earlier run'), ...named]
}
