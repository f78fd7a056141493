import type { Calibration } from '../calibration/calibrate-limits.ts'
import { calibrateTrajectories, type GradedTrajectory } from '../calibration/calibrate-trajectories.ts'
import { gradedRun, type GradingSources, type RunToGrade } from '../grades/graded-runs.ts'
import { withoutInputs } from '../what-if/without-inputs.ts'

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
