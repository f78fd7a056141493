import type { SessionKind } from '../foreign/read-foreign.ts'
import type { PeriodSpent } from './period-account.ts'
import type { StandingLimit } from './standing-limits.ts'
import type { SuggestedLimit } from './suggest-limits.ts'
import type { WhatIf } from './what-if.ts'

/** The answer for one run. */
export interface RunAnswer {
  /** Id of the session. */
  readonly session: string
  /** Id of the run. */
  readonly run: string
  /** Path of the file that has its record. */
  readonly file: string
  /** Who recorded it. */
  readonly program: SessionKind
  /** Models without a price: dollars say nothing of this run. */
  readonly unpriced: readonly string[]
  /** It was made in another session, of which this one is a copy. */
  readonly isCopy: boolean
  /** What the limits would have made of it. */
  readonly answer: WhatIf
}

/** What is told of all runs together. */
export interface WhatIfAnswers {
  /** None where only limits were asked for. */
  readonly answers: readonly RunAnswer[]
  /** Suggested limits; undefined where none were asked for. */
  readonly suggested: readonly SuggestedLimit[] | undefined
  /** Runs that were read. */
  readonly runs: number
  /** The standing budgets that were tried, and what became of them; absent where none was asked for. */
  readonly budgets?: readonly StandingLimit[]
  /** What each budget came to in each period; absent where no budget was tried. */
  readonly periods?: readonly PeriodSpent[]
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about what was read of other programs. */
  readonly notes: readonly string[]
}
