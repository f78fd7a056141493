import type { LimitsInForce } from '@halting/agent/session'
import type { LimitsChange } from '@halting/core'
import { dollars, duration, type Reading, tokens, wholeNumber } from '../../flags/values.ts'
import { counted, elapsed, money } from '../../io/figures.ts'

export type ReadLimits =
  | { readonly kind: 'change'; readonly change: LimitsChange; readonly says: string }
  | { readonly kind: 'wrong'; readonly says: string }

interface Limit {
  readonly name: keyof LimitsInForce
  readonly words: readonly [string, ...string[]]
  readonly read: (given: string) => Reading<number>
  readonly shown: (value: number) => string
}

const limits: readonly Limit[] = [
  { name: 'maxTurns', words: ['turns', 'turn'], read: wholeNumber, shown: (value) => `${counted(value)} turns` },
  {
    name: 'maxBudgetUsd',
    words: ['usd', 'dollars', 'budget', '$'],
    read: (given) => dollars(given.replace(/^\$/, '')),
    shown: money,
  },
  { name: 'maxTotalTokens', words: ['tokens', 'token'], read: tokens, shown: (value) => `${counted(value)} tokens` },
  { name: 'maxDurationMs', words: ['time', 'duration'], read: duration, shown: elapsed },
]

const usage = '/limits turns 60, /limits usd 2.50, /limits tokens 500k, /limits time 20m; +20 adds, none takes it away.'

/** `turns 60`, `turns +20`, `usd none`: what is set, and what a person is told of it. */
export function readLimits(argument: string, inForce: LimitsInForce): ReadLimits {
  const [word = '', value = '', ...more] = argument.trim().split(/\s+/)
  const limit = limits.find(({ words }) => words.includes(word.toLowerCase()))
  if (limit === undefined || value === '' || more.length > 0) return { kind: 'wrong', says: usage }
  const [what] = limit.words
  if (/^(?:none|off|no)$/i.test(value))
    return { kind: 'change', change: { [limit.name]: null }, says: `No limit of ${what}.` }
  const isMore = value.startsWith('+')
  const read = limit.read(isMore ? value.slice(1) : value)
  if (!('value' in read)) return { kind: 'wrong', says: `${value} is not ${read.expected}. ${usage}` }
  const before = inForce[limit.name]
  if (isMore && before === null) return { kind: 'wrong', says: `There is no limit of ${what} to add to.` }
  const now = isMore ? (before ?? 0) + read.value : read.value
  const from = before === null ? 'no limit' : limit.shown(before)
  return { kind: 'change', change: { [limit.name]: now }, says: `${limit.shown(now)} (before: ${from}).` }
}
