import { endings, type RunResult } from '@halting/core'
import { type EndingLimit, endingLimits, limitOfResult, sharedBudgetOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { limitFlags } from '../flags/limit-flags.ts'

/** A limit that a flag can raise. */
export type FlagLimit = keyof typeof limitFlags

/** The limit that an ending reports, if a flag can raise it. */
export function flagLimitOf(terminal: RunResult): FlagLimit | undefined {
  const limit = limitOfResult(terminal)
  return limit !== null && hasFlag(limit) ? limit : undefined
}

function hasFlag(limit: EndingLimit): limit is FlagLimit {
  return Object.hasOwn(limitFlags, limit)
}

/** `--max-budget-usd`. */
export function flagOf(limit: FlagLimit): string {
  return `--${limitFlags[limit].replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** How to raise the limit of an ending by its flag, and to which value if the next request did not fit. */
export function limitAdvice(terminal: RunResult, { model, wrapUp }: Pick<Flags, 'model' | 'wrapUp'>): string {
  const limit = flagLimitOf(terminal)
  if (limit === undefined) return standingBudgetAdvice(terminal)
  const { reason, signal, summary } = terminal
  const { limitNeededUsd, limitNeeded } = signal.context
  const canWrapUp = endings[reason].wrapsUp && wrapUp !== true
  const lastAnswer = canWrapUp ? ', or add --wrap-up for a final answer' : ''
  const isMoney = endingLimits[limit].unit === 'usd'
  const needed = isMoney ? limitNeededUsd : endingLimits[limit].unit === 'tokens' ? limitNeeded : undefined
  // The limit may be a default or a setting.
  const orSetting =
    limit === 'maxRunUsd' ? ' (none: no limit; limits.maxRunUsd in your settings sets it for all runs)' : ''
  if (typeof needed !== 'number') return `Raise ${flagOf(limit)}${orSetting}${lastAnswer}.`
  const isFirst = summary.requests === 0
  const cheaper = isMoney && isFirst ? `, or choose a cheaper model${model === undefined ? ' with --model' : ''}` : ''
  const figure = isMoney ? usdFlag(needed) : needed
  return `Raise ${flagOf(limit)} to ${figure} or more${orSetting}${cheaper}${isFirst ? '' : lastAnswer}.`
}

/** What to do about a standing budget, after the time when it resets; '' if no standing budget ended the run. */
export function standingBudgetAdvice({ signal }: Pick<RunResult, 'signal'>): string {
  if (sharedBudgetOf(signal)?.kind !== 'standing') return ''
  return 'Wait for the reset, raise the budget in your settings, or ignore it with --ignore-standing-budgets. halting budget shows what is left.'
}

/** An amount as the flag expects it, rounded up to a cent. */
export function usdFlag(usd: number): string {
  // Subtracts a little, because 0.1 is not exactly a tenth.
  return String(Math.ceil(usd * 100 - 1e-6) / 100)
}

/**
 * The flag that makes a run wait for a service that refuses requests; '' if waiting does not help, or would take too long.
 * `waitForLimits`: how long the run was allowed to wait, in milliseconds.
 */
export function waitAdvice({ signal, retryAt }: RunResult, waitForLimits: number | undefined, now: number): string {
  const { kind, attempts } = signal.context
  const leftMs = retryAt === undefined ? 0 : Date.parse(retryAt) - now
  const isDown =
    kind === 'overloaded' ||
    kind === 'server_error' ||
    (kind === 'connection' && typeof attempts === 'number' && attempts > 1)
  const hours = waitHours(leftMs, waitForLimits)
  if ((retryAt === undefined && !isDown) || leftMs < 0 || hours === undefined) return ''
  const flag = '--wait-for-limits'
  if ((waitForLimits ?? 0) > 0) return `${flag} ${hours}h waits longer.`
  return retryAt === undefined
    ? `${flag} ${hours}h waits until the service answers.`
    : `${flag} ${hours}h waits for it.`
}

/**
 * The hours for `--wait-for-limits` that cover a wait; undefined if it is too long. `waitForLimits`: how long the run was allowed to wait, in
 * milliseconds, all of which it may have used.
 */
export function waitHours(leftMs: number, waitForLimits = 0): number | undefined {
  return usualHours.find((hours) => hours * hourMs >= waitForLimits + leftMs + spareMs)
}

const hourMs = 3_600_000
/** Up to 31 days, the longest wait. */
const usualHours = [8, 24, 48, 96, 168, 336, 744]
/** Added because waits take slightly longer than the service requests. */
const spareMs = 60_000
