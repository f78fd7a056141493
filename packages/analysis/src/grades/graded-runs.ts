import type { PastSession } from '../sessions/read-session.ts'
import type { Trajectory } from '../what-if/trajectory.ts'
import { gradeOf } from './grade-of.ts'
import type { GradedTrajectory } from '../calibration/calibrate-trajectories.ts'
import type { RunUse } from './graded-run.ts'
import type { RunOutcome } from './run-outcome.ts'

/** What a program knows of runs beside their records. */
export interface GradingSources {
  /** What a person said of a run: the grades that `readGrades` of `@halting/journal` gives. */
  readonly grades: {
    /** Undefined for a run without a grade. */
    of(
      sessionId: string,
      runId: string,
    ):
      | {
          /** What a person said of it. */
          readonly grade: 'good' | 'bad'
        }
      | undefined
  }
  /** The repository of a folder, by its main worktree; the folder itself where it is in none. */
  readonly repositoryOf: (folder: string) => string
}

/** Where nobody graded anything, and repositories are not known. */
export const ungraded: GradingSources = { grades: { of: () => undefined }, repositoryOf: (folder) => folder }

/** A run, and what is on record of it. */
export interface RunToGrade {
  /** Id of the session. */
  readonly sessionId: string
  /** Where the session worked; '' where that is not known. */
  readonly cwd: string
  /** How it came out. */
  readonly outcome: RunOutcome
  /** The run, as limits see it. */
  readonly trajectory: Trajectory
  /** Models without a price. */
  readonly unpriced: readonly string[]
}

/** Grades one run, with what it used. */
export function gradedRun(run: RunToGrade, { grades, repositoryOf }: GradingSources): GradedTrajectory {
  const { sessionId, cwd, outcome, trajectory, unpriced } = run
  return {
    sessionId,
    model: mainModelOf(trajectory),
    repository: cwd === '' ? '' : repositoryOf(cwd),
    use: useOf(trajectory, unpriced),
    grade: gradeOf(outcome, grades.of(sessionId, outcome.runId)?.grade),
    trajectory,
    unpriced,
  }
}

/** Grades the runs of a session. Copies count in the session in which they were made, and a run that a later one continues counts in that one. */
export function gradedRuns(session: PastSession, sources: GradingSources): readonly GradedTrajectory[] {
  const { sessionId, cwd, runs, outcomes } = session
  return runs.flatMap(({ isCopy, trajectory, unpriced }, index) => {
    const outcome = outcomes[index]
    if (isCopy || outcome === undefined || outcome.isContinued) return []
    return [gradedRun({ sessionId, cwd, outcome, trajectory, unpriced }, sources)]
  })
}

function useOf({ turns, carried }: Trajectory, unpriced: readonly string[]): RunUse {
  let { nanos, tokens, turns: counted } = carried
  for (const { countsAsTurn, payments } of turns) {
    if (countsAsTurn) counted++
    for (const payment of payments) {
      nanos += payment.nanos
      tokens += payment.tokens
    }
  }
  const activeMs = carried.ms + (turns.at(-1)?.endMs ?? 0)
  return { usd: unpriced.length > 0 ? null : nanos / 1e9, tokens, activeMs, turns: counted }
}

/** Of several that were asked as often, the first. */
function mainModelOf({ turns }: Trajectory): string {
  const counts = new Map<string, number>()
  for (const { payments } of turns)
    for (const { of, model } of payments)
      if (of === 'run' && model !== '') counts.set(model, (counts.get(model) ?? 0) + 1)
  const [main] = [...counts].toSorted(([, a], [, b]) => b - a)
  return main?.[0] ?? ''
}
