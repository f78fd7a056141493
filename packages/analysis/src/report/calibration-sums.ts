import type { Calibration } from '../calibration/calibrate-limits.ts'
import { calibrateTrajectories, type GradedTrajectory } from '../calibration/calibrate-trajectories.ts'
import { gradedRun, type GradingSources, type RunToGrade } from '../grades/graded-runs.ts'
import type { PastTurn, Trajectory } from '../what-if/trajectory.ts'

/** The share of solved runs that the limits of a report may lose. */
const reportMayLose = 0.02

/** Calibrates limits on the runs of a report. */
export class CalibrationSums {
  readonly #sources: GradingSources
  readonly #runs: GradedTrajectory[] = []

  constructor(sources: GradingSources) {
    this.#sources = sources
  }

  /** A run that a later one continues counts in that one. */
  add(run: RunToGrade): void {
    if (run.outcome.isContinued) return
    this.#runs.push(gradedRun({ ...run, trajectory: withoutInputs(run.trajectory) }, this.#sources))
  }

  get calibration(): Calibration {
    return calibrateTrajectories(this.#runs, { mayLose: reportMayLose })
  }
}

/** What calls were given is most of a trajectory, and says nothing to limits. */
function withoutInputs({ turns, ...rest }: Trajectory): Trajectory {
  const short = (turn: PastTurn): PastTurn => ({ ...turn, calls: turn.calls.map((call) => ({ ...call, input: null })) })
  return { ...rest, turns: turns.map(short) }
}
