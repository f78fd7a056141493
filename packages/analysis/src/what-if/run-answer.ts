import type { SessionKind } from '../foreign/read-foreign.ts'
import type { SuggestedLimit } from './suggest-limits.ts'
import type { WhatIf } from './what-if.ts'

/** The answer for one run. */
export interface RunAnswer {
  readonly session: string
  readonly run: string
  readonly file: string
  /** Who recorded it. */
  readonly program: SessionKind
  /** Models without a price: dollars say nothing of this run. */
  readonly unpriced: readonly string[]
  /** It was made in another session, of which this one is a copy. */
  readonly isCopy: boolean
  readonly answer: WhatIf
}

/** What is told of all runs together. */
export interface WhatIfAnswers {
  /** None where only limits were asked for. */
  readonly answers: readonly RunAnswer[]
  readonly suggested: readonly SuggestedLimit[] | undefined
  readonly runs: number
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about what was read of other programs. */
  readonly notes: readonly string[]
}
