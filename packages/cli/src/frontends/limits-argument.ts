import type { LimitsInForce, SessionSnapshot } from '@halting/core/session'
import { maxGoalTriesAllowed } from '@halting/core/adapters'
import type { LimitsChange } from '@halting/core'
import { settableLimits } from './settable-limits.ts'

export type LimitsArgument =
  | { readonly kind: 'change'; readonly change: LimitsChange; readonly says: string }
  | { readonly kind: 'wrong'; readonly says: string }

/** The limits in force; null for none. `maxGoalTries` is null for a session without goals. */
export type LimitsToSet = LimitsInForce & { readonly maxGoalTries: number | null }

export function limitsToSet({ limits, goal }: Pick<SessionSnapshot, 'limits' | 'goal'>): LimitsToSet {
  return { ...limits, maxGoalTries: goal?.maxTries ?? null }
}

/** The words for each limit; the first one is shown to people. */
const aliases: { readonly [name in keyof LimitsToSet]: readonly [string, ...string[]] } = {
  maxTurns: ['turns', 'turn'],
  maxBudgetUsd: ['usd', 'dollars', 'budget', '$'],
  maxTotalTokens: ['tokens', 'token'],
  maxDurationMs: ['time', 'duration'],
  maxRunUsd: ['run-usd', 'run'],
  maxToolCalls: ['calls', 'call', 'tool-calls'],
  maxGoalTries: ['tries', 'try'],
}

/** The scope of each dollar limit, because there are two. */
const scopeText: { readonly [name in keyof LimitsToSet]?: string } = {
  maxBudgetUsd: ' for the session',
  maxRunUsd: ' a run',
}

// This cast is safe: the keys of the record are the names of the limits.
const names = Object.keys(aliases) as readonly (keyof LimitsToSet)[]

const usage =
  'Use /limits turns 60, /limits usd 2.50, /limits tokens 500k, /limits time 20m, /limits run-usd 5, /limits calls 100, /limits tries 20; +20 adds, none removes a limit.'

/** Parses `turns 60`, `turns +20` or `usd none`: the change, and a message for the person. */
export function parseLimitsArgument(argument: string, current: LimitsToSet): LimitsArgument {
  const [word = '', value = '', ...more] = argument.trim().split(/\s+/)
  const name = names.find((one) => aliases[one].includes(word.toLowerCase()))
  if (name === undefined || value === '' || more.length > 0) return { kind: 'wrong', says: usage }
  const [limit, [what]] = [settableLimits[name], aliases[name]]
  if (name === 'maxGoalTries' && current.maxGoalTries === null)
    return { kind: 'wrong', says: 'There is no goal, so there are no tries to limit. Set a goal with /until COMMAND.' }
  if (name !== 'maxGoalTries' && /^(?:none|off|no)$/i.test(value))
    return { kind: 'change', change: { [name]: null }, says: `no limit of ${what}.` }
  const isMore = value.startsWith('+')
  const read = limit.parse(isMore ? value.slice(1) : value)
  if (!('value' in read)) return { kind: 'wrong', says: `${value} is not ${read.expected}. ${usage}` }
  const before = current[name]
  if (isMore && before === null)
    return { kind: 'wrong', says: `There is no limit of ${what} to add to. Set one without the +.` }
  const now = isMore ? (before ?? 0) + read.value : read.value
  if (name === 'maxGoalTries' && now > maxGoalTriesAllowed)
    return { kind: 'wrong', says: `${now} tries are too many (maximum: ${maxGoalTriesAllowed}).` }
  const from = before === null ? 'no limit' : limit.format(before)
  return {
    kind: 'change',
    change: { [name]: now },
    says: `${limit.format(now)}${scopeText[name] ?? ''} (before: ${from}).`,
  }
}
