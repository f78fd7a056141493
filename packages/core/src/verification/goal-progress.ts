import type { GoalCheck, GoalSpec } from './goal-record.ts'

/** The progress of a run's goals: part of `RunProgress`, small and JSON. */
export type GoalProgress = {
  readonly specs: readonly GoalSpec[]
  /** How often an answer was sent back since the goals were set. */
  readonly tries: number
  /** Number of rounds of checks since the goals were set. */
  readonly rounds: number
  /** Whether the goals were met before the next request after they were set; null until that was checked. */
  readonly baseline: boolean | null
  readonly last: GoalRound | null
  /** The report and changes of the last answer that was sent back, to detect an answer without progress. */
  readonly lastTry: { readonly report: number; readonly changes: number } | null
  /** Whether a check has failed. */
  readonly hasFailed: boolean
  readonly flaky: boolean
  /** Whether the model was reminded that nothing had changed. */
  readonly reminded: boolean
  /** Set if the protected files were unchanged when the previous run ended. Changes since then count as the person's. */
  readonly looksAnew?: true
  /** Number of tool results at the last prompt, or when an answer was last sent back. */
  readonly resultsBefore: number
}

/** The result of a round of checks, as later rounds need it. */
type GoalRound = {
  readonly met: boolean
  readonly checks: readonly GoalCheck[]
  readonly tampered: readonly string[]
  readonly changedTests: readonly string[]
  /** Number of calls up to that round that may have changed something (`RunProgress.changes`). */
  readonly changes: number
}

/** The last round, if nothing has changed since; otherwise, or without a round, undefined. */
export function currentRound(spent: {
  readonly goal?: GoalProgress | undefined
  readonly changes?: Changes | undefined
}): GoalRound | undefined {
  const last = spent.goal?.last ?? null
  return last !== null && last.changes === changeCount(spent) ? last : undefined
}

/** Progress of goals that were just set. */
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

/** True if both lists name the same goals in the same order. */
export function isSameGoals(one: readonly GoalSpec[], other: readonly GoalSpec[]): boolean {
  return (
    one.length === other.length &&
    one.every(
      ({ name, judged, set }, index) =>
        other[index]?.name === name && other[index].judged === judged && other[index].set === set,
    )
  )
}

/** Number of calls that may have changed something, and the last of them. JSON. */
export type Changes = {
  readonly calls: number
  /** Index of the transcript entry with the result of that call: results in earlier entries are older. */
  readonly at: number
  /** Id of that call; null for background work. Earlier results in the same entry are older, too. */
  readonly by: string | null
}

/** Number of calls that may have changed something, from the progress of a run. */
export function changeCount({ changes }: { readonly changes?: Changes | undefined }): number {
  return changes?.calls ?? 0
}
