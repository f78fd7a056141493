import type { AnswerHeaders } from '../http/transport.ts'
import { countMsOf, dateMsOf, numberOf, waitMsOf } from './reset-values.ts'

/**
 * Returns how long the headers ask to wait before the next request, in milliseconds: `retry-after-ms`, or `retry-after`
 * in seconds or as a date. The longest of several numbers applies. Null if they do not say, or name a past time.
 */
export function retryAfterMsOf(headers: AnswerHeaders, nowMs: number): number | null {
  return (
    longest(headers.get('retry-after-ms'), countMsOf) ??
    longest(headers.get('retry-after'), (value) => waitMsOf(value, nowMs))
  )
}

/** Returns the service's time of its response, because clocks differ; `nowMs`, our time, if it does not say. */
export function answeredAtMs(headers: AnswerHeaders, nowMs: number): number {
  const date = headers.get('date')
  return (date === null ? null : dateMsOf(date)) ?? nowMs
}

/** The time until a limit resets, and how much of it is left. */
export interface LimitReset {
  readonly waitMs: number
  readonly left: 'none' | 'unknown' | 'some'
}

/** The header with the reset time, the one with the remaining amount, and whether it counts requests. */
type LimitHeaders = readonly [reset: string, left: string, counted?: 'requests']

const limits: readonly LimitHeaders[] = [
  // Messages API: RFC 3339. The unified limit is that of a subscription, in Unix seconds.
  ['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-requests-remaining', 'requests'],
  ['anthropic-ratelimit-tokens-reset', 'anthropic-ratelimit-tokens-remaining'],
  ['anthropic-ratelimit-input-tokens-reset', 'anthropic-ratelimit-input-tokens-remaining'],
  ['anthropic-ratelimit-output-tokens-reset', 'anthropic-ratelimit-output-tokens-remaining'],
  ['anthropic-ratelimit-unified-reset', 'anthropic-ratelimit-unified-status'],
  // OpenAI, Groq: durations such as `6m0s`. Azure: seconds.
  ['x-ratelimit-reset-requests', 'x-ratelimit-remaining-requests', 'requests'],
  ['x-ratelimit-reset-tokens', 'x-ratelimit-remaining-tokens'],
  // Cerebras: seconds with a fraction.
  ['x-ratelimit-reset-requests-day', 'x-ratelimit-remaining-requests-day', 'requests'],
  ['x-ratelimit-reset-tokens-minute', 'x-ratelimit-remaining-tokens-minute'],
  // OpenRouter: Unix milliseconds. Gateways: Unix seconds, or seconds from now.
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
  ['ratelimit-reset', 'ratelimit-remaining'],
]

/**
 * Returns the limit that probably caused a refusal: the one with the longest wait among the exhausted ones, otherwise
 * among those that do not say, otherwise among all. Null if no header names a future time.
 */
export function limitResetOf(headers: AnswerHeaders, nowMs: number): LimitReset | null {
  const resets = limits.flatMap(([reset, leftName, counted]) => {
    const waitMs = longest(headers.get(reset), (value) => waitMsOf(value, nowMs))
    const remaining = leftOf(headers.get(leftName))
    // A request needs only one of the remaining requests, but may need more than the remaining tokens.
    const isOther = counted === 'requests' && remaining === 'some'
    return waitMs === null || waitMs === 0 || isOther ? [] : [{ waitMs, left: remaining }]
  })
  for (const left of ['none', 'unknown', 'some'] as const) {
    const waits = resets.filter((reset) => reset.left === left).map(({ waitMs }) => waitMs)
    if (waits.length > 0) return { waitMs: Math.max(...waits), left }
  }
  return null
}

/** Parses a count, or the status of a unified limit. */
function leftOf(value: string | null): LimitReset['left'] {
  if (value === null) return 'unknown'
  if (value === 'rejected') return 'none'
  const remaining = value.startsWith('allowed') ? 1 : numberOf(value)
  return remaining === null ? 'unknown' : remaining === 0 ? 'none' : 'some'
}

/** Parses a header that may be repeated, and so be a list. HTTP dates contain a comma, too. */
function longest(value: string | null, read: (value: string) => number | null): number | null {
  if (value === null) return null
  const whole = read(value.trim())
  if (whole !== null) return whole
  const waits = value.split(',', maxValues).map((part) => read(part.trim()))
  return waits.reduce((one, other) => (one === null || other === null ? null : Math.max(one, other)))
}

/** More repetitions than any real header has. */
const maxValues = 32
