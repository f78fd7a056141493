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
  /** The program that recorded it. */
  readonly program: SessionKind
  /** Models without a price: dollar limits cannot be applied to this run. */
  readonly unpriced: readonly string[]
  /** Whether it is a copy of a run of another session. */
  readonly isCopy: boolean
  /** The effect of the limits. */
  readonly answer: WhatIf
}

/** The answers for all runs. */
export interface WhatIfAnswers {
  /** Answers by run; empty when only suggestions were requested. */
  readonly answers: readonly RunAnswer[]
  /** Suggested limits; undefined when none were requested. */
  readonly suggested: readonly SuggestedLimit[] | undefined
  /** Runs that were read. */
  readonly runs: number
  /** The standing budgets that were tried; absent for none. */
  readonly budgets?: readonly StandingLimit[]
  /** Result of each budget in each period; absent when no budget was tried. */
  readonly periods?: readonly PeriodSpent[]
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about sessions of other programs. */
  readonly notes: readonly string[]
}
