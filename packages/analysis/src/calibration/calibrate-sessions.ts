import { gradedRun, type GradingSources, type RunToGrade } from '../grades/graded-runs.ts'
import type { ManySessions } from '../sessions/session-files.ts'
import type { PastSession } from '../sessions/read-session.ts'
import { answerRuns, type AnsweredRuns } from '../what-if/answer-runs.ts'
import { withoutInputs } from '../what-if/without-inputs.ts'
import type { Calibration } from './calibrate-limits.ts'
import { calibrateTrajectories, type GradedTrajectory } from './calibrate-trajectories.ts'

/** Limits calibrated on sessions, with what was read and skipped. */
export interface CalibratedSessions extends Omit<AnsweredRuns, 'answers' | 'trajectories'> {
  /** The limits. */
  readonly calibration: Calibration
}

/**
 * Reads sessions one after another, grades their runs, and calibrates limits on them. Copies count only in their original session. A run that a later
 * run continues counts as part of the later one.
 * @throws ConfigurationError for a share that is not between 0 and 1.
 */
export async function calibrateSessions(
  sessions: ManySessions<PastSession>,
  sources: GradingSources,
  options: {
    /** The share of solved runs that each limit may lose: above 0 and below 1, such as 0.02. */
    readonly mayLose: number
  },
): Promise<CalibratedSessions> {
  const sums = new CalibrationSums(sources, options)
  const {
    answers: _,
    trajectories: __,
    ...read
  } = await answerRuns(sessions, {
    limits: undefined,
    suggests: false,
    copies: 'left out',
    see({ session, cwd, outcome, trajectory, unpriced }) {
      if (outcome !== undefined) sums.add({ sessionId: session, cwd, outcome, trajectory, unpriced })
    },
  })
  return { ...read, calibration: sums.calibration }
}

/** Collects graded runs, and calibrates limits on them. */
export class CalibrationSums {
  readonly #sources: GradingSources
  readonly #options: { readonly mayLose: number }
  readonly #runs: GradedTrajectory[] = []

  /** `mayLose`: the share of solved runs that each limit may lose. */
  constructor(sources: GradingSources, options: { readonly mayLose: number }) {
    this.#sources = sources
    this.#options = options
  }

  /** Adds a run, unless a later run continues it: that run counts instead. */
  add(run: RunToGrade): void {
    if (run.outcome.isContinued) return
    this.#runs.push(gradedRun({ ...run, trajectory: withoutInputs(run.trajectory) }, this.#sources))
  }

  get calibration(): Calibration {
    return calibrateTrajectories(this.#runs, this.#options)
  }
}
