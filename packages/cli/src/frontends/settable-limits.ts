import type { LimitsChange } from '@halting/core'
import { triesText } from '@halting/core/adapters'
import { dollars, duration, goalTries, type Reading, tokens, wholeNumber } from '../flags/values.ts'
import { elapsed, many, money } from '../io/figures.ts'

interface SettableLimit {
  /** What a person writes, as the flag of this limit takes it. */
  readonly read: (given: string) => Reading<number>
  /** What a person is told of it. */
  readonly shown: (value: number) => string
}

/** Limits that a person raises while a session is open, wherever they sit. */
export const settableLimits: { readonly [name in keyof LimitsChange]-?: SettableLimit } = {
  maxTurns: { read: wholeNumber, shown: (value) => many(value, 'turn') },
  maxBudgetUsd: { read: (given) => dollars(given.replace(/^\$/, '')), shown: money },
  maxRunUsd: { read: (given) => dollars(given.replace(/^\$/, '')), shown: money },
  maxToolCalls: { read: wholeNumber, shown: (value) => many(value, 'tool call') },
  maxTotalTokens: { read: tokens, shown: (value) => many(value, 'token') },
  maxDurationMs: { read: duration, shown: elapsed },
  maxGoalTries: { read: goalTries, shown: triesText },
}
