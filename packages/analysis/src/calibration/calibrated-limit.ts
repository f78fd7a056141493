import type { RunUse } from '../grades/graded-run.ts'
import type { ShareInterval } from './intervals.ts'

/** A figure of a run that a limit counts. */
export type CalibratedFigure = keyof RunUse

/** All figures that a limit is calibrated on. */
export const calibratedFigures: readonly CalibratedFigure[] = Object.freeze([
  'usd',
  'tokens',
  'activeMs',
  'turns',
] as const)

/** Limits by the figures that they count, in the units of `RunUse`. What is left out is not limited. */
export type LimitsByFigure = { readonly [figure in CalibratedFigure]?: number }

/** How many of the solved runs limits stop. JSON. */
export interface LostRuns {
  /** Solved runs that were stopped, or may have been. */
  readonly runs: number
  /** Solved runs. */
  readonly of: number
  /** The share of both, from 0 to 1; 0 where there are none. */
  readonly share: number
  /** Its exact interval at 95 %, by Clopper and Pearson. */
  readonly interval: ShareInterval
}

/** What limits save of a figure, in runs that were not solved. JSON. */
export interface SavedUse {
  /** What these runs used after they were stopped, in the unit of the figure. */
  readonly amount: number
  /** What all runs of the group used of it, solved ones with them. */
  readonly of: number
  /** The share of both, from 0 to 1; 0 where nothing was used. */
  readonly share: number
  /** Its interval at 95 %, by drawing the runs anew with a fixed seed; null where nothing is saved. */
  readonly interval: ShareInterval | null
}

/** A limit on one figure that loses at most the wanted share of solved runs. JSON. */
export interface CalibratedLimit {
  /** There is a limit. */
  readonly kind: 'limit'
  /** The limit: the quantile, rounded up to a figure that a person would type. US dollars, tokens, active milliseconds or turns. */
  readonly limit: number
  /** The use of the solved run at `rank`. */
  readonly quantile: number
  /** Which of the solved runs that is, from the smallest on: ⌈(solved + 1)(1 − mayLose)⌉. */
  readonly rank: number
  /** Solved runs whose use of this figure is known. */
  readonly solved: number
  /** What it would have lost of them. */
  readonly lost: LostRuns
  /** What share of solved runs to come it will lose, where they come from where these came from. Not rounded up: the limit itself loses no more. */
  readonly toExpect: {
    /** On average. */
    readonly share: number
    /** The interval at 95 %, by the distribution Beta(solved + 1 − rank, rank). */
    readonly interval: ShareInterval
  }
  /** Runs that were not solved, and that it stops. */
  readonly stops: number
  /** What that saves of the figure that it limits. */
  readonly saved: SavedUse
}

/** Why there is no limit on a figure. JSON. */
export interface RefusedLimit {
  /** There is none. */
  readonly kind: 'refused'
  /** `few`: there are too few solved runs. `unpriced`: there are enough, but too few of them have a price. `unused`: solved runs used nothing of it. */
  readonly why: 'few' | 'unpriced' | 'unused'
  /** Solved runs whose use of this figure is known. */
  readonly solved: number
  /** How many it takes. */
  readonly needed: number
}

/** What several limits do together. JSON. */
export interface LimitsTogether {
  /** The limits. */
  readonly limits: LimitsByFigure
  /** Solved runs that any of them stops: their losses add. */
  readonly lost: LostRuns
  /** Runs that were not solved, and that any of them stops. */
  readonly stops: number
  /** What they save of each figure. Where only sums of runs are known, what goes beyond the limit on this figure itself: at least that much. */
  readonly saved: { readonly [figure in CalibratedFigure]: SavedUse }
}

/** Limits that are calibrated on runs of one model in one repository, or of several together. JSON. */
export interface CalibratedGroup {
  /** The model; null where runs of all models are together. */
  readonly model: string | null
  /** The repository; null where runs of all repositories are together. */
  readonly repository: string | null
  /** Runs of the group. */
  readonly runs: number
  /** Those of them that were solved, by who says so. */
  readonly solved: {
    /** All figures that a limit is calibrated on. */
    readonly all: number
    /** Somebody graded them. */
    readonly byPerson: number
    /** Programs checked their goals. */
    readonly byGoal: number
    /** They completed, and nobody said otherwise: a weak sign. */
    readonly guessed: number
    /** Sessions that they are of. Runs of one session resemble each other: where there are few, all intervals are too narrow. */
    readonly sessions: number
  }
  /** Runs of which nobody can say how they came out. They count as not solved. */
  readonly ungraded: number
  /** The limit on each figure, or why there is none. */
  readonly limits: { readonly [figure in CalibratedFigure]: CalibratedLimit | RefusedLimit }
  /** What the limits do together; null where there are none. */
  readonly together: LimitsTogether | null
}

/** What limits make of a run. */
export interface RunUnderLimits {
  /** `maybe`: the record cannot say, since requests reserve more than they cost. Of a solved run it counts as stopped, of another as not. */
  readonly stops: 'yes' | 'no' | 'maybe'
  /** What it would not have used; null for a figure that is not known. */
  readonly saved: RunUse
}
