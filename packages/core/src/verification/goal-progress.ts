import type { GoalCheck, GoalSpec } from './goal-record.ts'

/** How far a run has come with its goals: part of `RunProgress`, small and JSON. */
export type GoalProgress = {
  readonly specs: readonly GoalSpec[]
  /** How often an answer was sent back since these goals were set. */
  readonly tries: number
  /** Rounds of checks since then. */
  readonly rounds: number
  /** Whether they held before the next request after they were set; null until that was checked. */
  readonly baseline: boolean | null
  readonly last: GoalRound | null
  /** What the last answer that was sent back came to, to tell whether another one differs. */
  readonly lastTry: { readonly report: number; readonly changes: number } | null
  /** A check has failed. */
  readonly hasFailed: boolean
  readonly flaky: boolean
  /** The model was told that nothing had changed. */
  readonly reminded: boolean
  /** The files around the checks were in order when the run before ended: what has changed of them since counts as the person's. */
  readonly looksAnew?: true
  /** Results of tools when the person last said something, or an answer was last sent back. */
  readonly resultsBefore: number
}

/** What one round of checks came to, as far as later ones need it. */
type GoalRound = {
  readonly met: boolean
  readonly checks: readonly GoalCheck[]
  readonly tampered: readonly string[]
  readonly changedTests: readonly string[]
  /** Calls that may have changed something until then (`RunProgress.changes`). */
  readonly changes: number
}

/** The last round, where nothing has changed since; undefined where something has, or nothing was checked. */
export function standingRound(spent: {
  readonly goal?: GoalProgress | undefined
  readonly changes?: Changes | undefined
}): GoalRound | undefined {
  const last = spent.goal?.last ?? null
  return last !== null && last.changes === changesOf(spent) ? last : undefined
}

/** Goals that were just set. */
export function freshGoal(specs: readonly GoalSpec[], resultsBefore: number): GoalProgress | undefined {
  if (specs.length === 0) return undefined
  return {
    specs,
    tries: 0,
    rounds: 0,
    baseline: null,
    last: null,
    lastTry: null,
    hasFailed: false,
    flaky: false,
    reminded: false,
    resultsBefore,
  }
}

/** True where both name the same goals in the same order. */
export function isSameGoals(one: readonly GoalSpec[], other: readonly GoalSpec[]): boolean {
  return (
    one.length === other.length &&
    one.every(
      ({ name, judged, set }, index) =>
        other[index]?.name === name && other[index].judged === judged && other[index].set === set,
    )
  )
}

/** Calls that may have changed something, and the last of them. JSON. */
export type Changes = {
  readonly calls: number
  /** Index of the transcript entry that its result is in: results in entries before are older. */
  readonly at: number
  /** The call; null for work beside the run. Results before its own in that entry are older, too. */
  readonly by: string | null
}

/** Calls so far that may have changed something, of a run's progress. */
export function changesOf({ changes }: { readonly changes?: Changes | undefined }): number {
  return changes?.calls ?? 0
}
