import type { SuggestedLimit, WhatIf } from '@halting/core/steps'

/** The answer for one run. */
export interface RunAnswer {
  readonly session: string
  readonly run: string
  readonly file: string
  readonly answer: WhatIf
}

/** What is told of all runs together. */
export interface Told {
  /** None where only limits were asked for. */
  readonly answers: readonly RunAnswer[]
  readonly suggested: readonly SuggestedLimit[] | undefined
  readonly runs: number
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
}
