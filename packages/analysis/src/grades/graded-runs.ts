import type { PastSession } from '../sessions/read-session.ts'
import type { Trajectory } from '../what-if/trajectory.ts'
import { gradeOf } from './grade-of.ts'
import type { GradedTrajectory } from '../calibration/calibrate-trajectories.ts'
import type { RunUse } from './graded-run.ts'
import type { RunOutcome } from './run-outcome.ts'

/** Grades of people, and repositories of folders. */
export interface GradingSources {
  /** Grades by people, as `readGrades` of `@halting/journal` returns them. */
  readonly grades: {
    /** The grade of a run; undefined for none. */
    of(
      sessionId: string,
      runId: string,
    ):
      | {
          /** The person's grade. */
          readonly grade: 'good' | 'bad'
        }
      | undefined
  }
  /** The repository of a folder, identified by its main worktree; the folder itself outside of a repository. */
  readonly repositoryOf: (folder: string) => string
}

/** Sources without grades and without repositories. */
export const ungraded: GradingSources = { grades: { of: () => undefined }, repositoryOf: (folder) => folder }

/** A run with its record, before it is graded. */
export interface RunToGrade {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session; '' if unknown. */
  readonly cwd: string
  /** The recorded outcome. */
  readonly outcome: RunOutcome
  /** The trajectory of the run. */
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
    use: runUse(trajectory, unpriced),
    grade: gradeOf(outcome, grades.of(sessionId, outcome.runId)?.grade),
    trajectory,
    unpriced,
  }
}

/** Grades the runs of a session. Copies count only in their original session, and a run that a later one continues counts as part of that one. */
export function gradedRuns(session: PastSession, sources: GradingSources): readonly GradedTrajectory[] {
  const { sessionId, cwd, runs, outcomes } = session
  return runs.flatMap(({ isCopy, trajectory, unpriced }, index) => {
    const outcome = outcomes[index]
    if (isCopy || outcome === undefined || outcome.isContinued) return []
    return [gradedRun({ sessionId, cwd, outcome, trajectory, unpriced }, sources)]
  })
}

function runUse({ turns, carried }: Trajectory, unpriced: readonly string[]): RunUse {
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

/** The model with the most requests; of several, the first. */
function mainModelOf({ turns }: Trajectory): string {
  const counts = new Map<string, number>()
  for (const { payments } of turns)
    for (const { of, model } of payments)
      if (of === 'run' && model !== '') counts.set(model, (counts.get(model) ?? 0) + 1)
  const [main] = [...counts].toSorted(([, a], [, b]) => b - a)
  return main?.[0] ?? ''
}
