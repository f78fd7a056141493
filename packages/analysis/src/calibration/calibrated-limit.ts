import type { RunUse } from '../grades/graded-run.ts'
import type { ShareInterval } from './intervals.ts'

/** A figure of a run that can be limited. */
export type CalibratedFigure = keyof RunUse

/** All figures that limits are calibrated on. */
export const calibratedFigures: readonly CalibratedFigure[] = Object.freeze([
  'usd',
  'tokens',
  'activeMs',
  'turns',
] as const)

/** Limits by figure, in the units of `RunUse`. An absent figure is not limited. */
export type LimitsByFigure = { readonly [figure in CalibratedFigure]?: number }

/** How many solved runs the limits stop. JSON. */
export interface LostRuns {
  /** Solved runs that would or might have been stopped. */
  readonly runs: number
  /** Solved runs. */
  readonly of: number
  /** `runs` divided by `of`, from 0 to 1; 0 when there are none. */
  readonly share: number
  /** Its exact 95 % interval (Clopper–Pearson). */
  readonly interval: ShareInterval
}

/** How much of a figure the limits save in unsolved runs. JSON. */
export interface SavedUse {
  /** The amount that unsolved runs used after the limits would have stopped them, in the unit of the figure. */
  readonly amount: number
  /** The amount that all runs of the group used, including solved ones. */
  readonly of: number
  /** `amount` divided by `of`, from 0 to 1; 0 when nothing was used. */
  readonly share: number
  /** Its 95 % interval, by bootstrap with a fixed seed; null when nothing is saved. */
  readonly interval: ShareInterval | null
}

/** A limit on one figure that loses at most the given share of solved runs. JSON. */
export interface CalibratedLimit {
  /** A limit was found. */
  readonly kind: 'limit'
  /** The limit: the quantile, rounded up to a figure that a person would type. In US dollars, tokens, active milliseconds or turns. */
  readonly limit: number
  /** The use of the solved run at `rank`. */
  readonly quantile: number
  /** The rank of that run among the solved runs, the smallest first: ⌈(solved + 1)(1 − mayLose)⌉. */
  readonly rank: number
  /** Solved runs for which this figure is known. */
  readonly solved: number
  /** How many of them the limit would have lost. */
  readonly lost: LostRuns
  /**
   * The share of future solved runs that the limit will lose, if they resemble these runs. Computed for the unrounded limit: the rounded one loses no
   * more.
   */
  readonly toExpect: {
    /** The average share. */
    readonly share: number
    /** The 95 % interval, from the distribution Beta(solved + 1 − rank, rank). */
    readonly interval: ShareInterval
  }
  /** Unsolved runs that the limit stops. */
  readonly stops: number
  /** How much the limit saves of its figure. */
  readonly saved: SavedUse
}

/** Why there is no limit on a figure. JSON. */
export interface RefusedLimit {
  /** No limit was found. */
  readonly kind: 'refused'
  /** `few`: there are too few solved runs. `unpriced`: too few of the solved runs have a known cost. `unused`: solved runs used none of it. */
  readonly why: 'few' | 'unpriced' | 'unused'
  /** Solved runs for which this figure is known. */
  readonly solved: number
  /** The number of solved runs that a limit needs. */
  readonly needed: number
}

/** The combined effect of several limits. JSON. */
export interface LimitsTogether {
  /** The limits. */
  readonly limits: LimitsByFigure
  /** Solved runs that at least one of the limits stops. */
  readonly lost: LostRuns
  /** Unsolved runs that at least one of the limits stops. */
  readonly stops: number
  /**
   * How much the limits save of each figure. When only sums of runs are known, this is a lower bound: what exceeds the limit on the figure itself.
   */
  readonly saved: { readonly [figure in CalibratedFigure]: SavedUse }
}

/** Limits calibrated on the runs of one model in one repository, or on a larger group. JSON. */
export interface CalibratedGroup {
  /** The model; null for runs of all models. */
  readonly model: string | null
  /** The repository; null for runs of all repositories. */
  readonly repository: string | null
  /** Runs of the group. */
  readonly runs: number
  /** Solved runs of the group, by how they were graded. */
  readonly solved: {
    /** All solved runs. */
    readonly all: number
    /** Runs that a person graded. */
    readonly byPerson: number
    /** Runs whose goals were checked by programs. */
    readonly byGoal: number
    /** Runs that completed without any other grade: a weak sign. */
    readonly guessed: number
    /** Number of sessions of these runs. Runs of one session resemble each other: with few sessions, all intervals are too narrow. */
    readonly sessions: number
  }
  /** Runs without a grade. They count as not solved. */
  readonly ungraded: number
  /** The limit on each figure, or why there is no limit. */
  readonly limits: { readonly [figure in CalibratedFigure]: CalibratedLimit | RefusedLimit }
  /** The combined effect of the limits; null when there are none. */
  readonly together: LimitsTogether | null
}

/** The effect of limits on a run. */
export interface RunUnderLimits {
  /**
   * `maybe`: the record does not show it, because requests reserve more than they cost. A solved run then counts as stopped, any other run as not
   * stopped.
   */
  readonly stops: 'yes' | 'no' | 'maybe'
  /** The amount that the run would not have used; null for an unknown figure. */
  readonly saved: RunUse
}
