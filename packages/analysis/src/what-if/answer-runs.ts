import type { ForeignSession } from '../foreign/session.ts'
import type { SessionKind } from '../foreign/read-foreign.ts'
import { HaltingError } from '@halting/core'
import type { OtherLimits } from './other-limits.ts'
import type { Trajectory } from './trajectory.ts'
import { whatIfPriced } from './changing-calls.ts'
import type { PastSession, PastTrajectory } from '../sessions/read-session.ts'
import type { ManySessions } from '../sessions/session-files.ts'
import type { RunOutcome } from '../grades/run-outcome.ts'
import type { RunAnswer } from './run-answer.ts'
import { withoutInputs } from './without-inputs.ts'

/** A run that was read, with its session. */
export type PastRun = Omit<RunAnswer, 'answer'> &
  Pick<PastTrajectory, 'trajectory' | 'clock'> &
  Pick<PastSession, 'cwd'> & {
    /** Its recorded outcome; absent when none is recorded. */
    readonly outcome?: RunOutcome
  }

/** What to compute for each run while its session is in memory. A folder may not fit in memory. */
export interface WantedAnswers {
  /** The limits to try; undefined for none. */
  readonly limits: OtherLimits | undefined
  /** Whether limits are suggested. */
  readonly suggests: boolean
  /** Whether copied runs are included. */
  readonly copies: 'shown' | 'left out'
  /** Called for each run that counts, in the order of the answers. */
  readonly see?: (run: PastRun) => void
}

/** The answers, and what was read and skipped. */
export interface AnsweredRuns {
  /** Runs that were read. */
  readonly runs: number
  /** One for each run. */
  readonly answers: readonly RunAnswer[]
  /** Input for suggestions; empty when none were requested. */
  readonly trajectories: readonly Trajectory[]
  /** Models without a price, of all runs. */
  readonly unpriced: ReadonlySet<string>
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sessions of other programs, with their cost at our prices. */
  readonly foreign: readonly {
    /** The session. */
    readonly foreign: ForeignSession
    /** US dollars, at the prices of this machine. */
    readonly costUsd: number
  }[]
  /** Copies of runs that were left out. */
  readonly copies: number
}

/** Answers for the runs of these sessions, which are read one after another. */
export async function answerRuns(
  { names, read }: ManySessions<PastSession>,
  wanted: WantedAnswers,
): Promise<AnsweredRuns> {
  const { limits, suggests } = wanted
  let [runs, copies] = [0, 0]
  const answers: RunAnswer[] = []
  const trajectories: Trajectory[] = []
  const unpriced = new Set<string>()
  const skipped: string[] = []
  const foreign: { foreign: ForeignSession; costUsd: number }[] = []
  for (const name of names) {
    try {
      const past = pastRunsOf(await read(name), name)
      for (const run of past.runs) {
        if (run.isCopy && wanted.copies === 'left out') {
          copies++
          continue
        }
        runs++
        for (const model of run.unpriced) unpriced.add(model)
        wanted.see?.(run)
        if (limits !== undefined) answers.push(answerFor(run, limits))
        if (suggests) trajectories.push(withoutInputs(run.trajectory))
      }
      if (past.foreign !== undefined) foreign.push(past.foreign)
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return { runs, answers, trajectories, unpriced, skipped, foreign, copies }
}

function answerFor(
  { trajectory, session, run, file, program, unpriced, isCopy }: PastRun,
  limits: OtherLimits,
): RunAnswer {
  return { session, run, file, program, unpriced, isCopy, answer: whatIfPriced(trajectory, limits, unpriced) }
}

interface PastRuns {
  readonly runs: readonly PastRun[]
  readonly foreign?: AnsweredRuns['foreign'][number]
}

/** The runs of a session. */
export function pastRunsOf(session: PastSession, file: string): PastRuns {
  const program: SessionKind = session.foreign?.program ?? 'halting'
  const runs = session.runs.map((run, index): PastRun => {
    const outcome = session.outcomes[index]
    const place = { session: session.sessionId, cwd: session.cwd, run: `run${index + 1}`, file, program }
    return { ...place, ...run, ...(outcome !== undefined && { outcome }) }
  })
  if (session.foreign === undefined) return { runs }
  const paid = runs.flatMap(({ trajectory }) => trajectory.turns.flatMap(({ payments }) => payments))
  const costUsd = paid.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9
  return { runs, foreign: { foreign: session.foreign, costUsd } }
}
