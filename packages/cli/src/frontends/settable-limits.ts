import type { LimitsChange } from '@halting/core'
import { triesText } from '@halting/core/adapters'
import { dollars, duration, goalTries, type Reading, tokens, wholeNumber } from '../flags/values.ts'
import { elapsed, many, money } from '../io/figures.ts'

interface SettableLimit {
  /** Parses the text that a person types, like the flag of this limit. */
  readonly parse: (text: string) => Reading<number>
  /** Formats a value for a person. */
  readonly format: (value: number) => string
}

/** The limits that a person can change while a session is open. */
export const settableLimits: { readonly [name in keyof LimitsChange]-?: SettableLimit } = {
  maxTurns: { parse: wholeNumber, format: (value) => many(value, 'turn') },
  maxBudgetUsd: { parse: (text) => dollars(text.replace(/^\$/, '')), format: money },
  maxRunUsd: { parse: (text) => dollars(text.replace(/^\$/, '')), format: money },
  maxToolCalls: { parse: wholeNumber, format: (value) => many(value, 'tool call') },
  maxTotalTokens: { parse: tokens, format: (value) => many(value, 'token') },
  maxDurationMs: { parse: duration, format: elapsed },
  maxGoalTries: { parse: goalTries, format: triesText },
}
