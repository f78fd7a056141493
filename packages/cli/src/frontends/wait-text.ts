import type { RunEvent, RunResult } from '@halting/core'
import type { WaitingRequest } from '@halting/core/session'
import { longestQuietWaitMs } from '@halting/core/adapters'
import { dollars } from '../io/dollars.ts'
import { many, oneLine, rounded, stopwatch } from '../io/figures.ts'

/** `waits for $2.10 reserved by 3 requests`; of a standing budget `waits for $2.10 of $20 a day reserved by 3 requests` */
export function waitText({
  reservedUsd,
  reservedTokens,
  holders,
  budget,
}: {
  readonly reservedUsd: number
  readonly reservedTokens: number
  readonly holders: number
  readonly budget?: string | undefined
}): string {
  const what = reservedUsd > 0 ? dollars(reservedUsd) : `${rounded(reservedTokens)} tokens`
  const of = budget === undefined ? '' : ` of ${oneLine(budget, 40)}`
  return `waits for ${what}${of} reserved by ${many(holders, 'request')}`
}

/** A moment in local time: `14:05`, `14:05:30` where that is soon, `2026-11-30 14:05` where it is on another day. Milliseconds since 1970. */
export function clockText(ms: number, now: number): string {
  const [moment, today] = [new Date(ms), new Date(now)]
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`
  const isToday = moment.toDateString() === today.toDateString()
  const seconds = Math.abs(ms - now) < soonMs ? `:${two(moment.getSeconds())}` : ''
  return `${isToday ? '' : `${day} `}${two(moment.getHours())}:${two(moment.getMinutes())}${seconds}`
}

/** Whoever comes back within so much time wants to know the second. */
const soonMs = 600_000

/** What is shown of a wait for a service. `error`: its status, or what kind of failure. */
type ShownWait = Pick<WaitingRequest, 'untilMs' | 'error'>

/** `waits for the service until 14:05 (429: Too many requests)` */
export function serviceWaitText(
  { untilMs, error, message }: ShownWait & { readonly message: string },
  now: number,
): string {
  const because = [error, oneLine(message, 200).replace(/[.\s]+$/, '')].filter((part) => part !== '')
  // A message of a service often begins with its status.
  const why = because[1]?.startsWith(error) === true ? because[1] : because.join(': ')
  return `waits for the service until ${clockText(untilMs, now)}${why === '' ? '' : ` (${why})`}`
}

/** `waits for the service, 12:31 left (429)`. */
export function serviceCountdown({ untilMs, error }: ShownWait, now: number): string {
  const why = error === '' ? '' : ` (${oneLine(error, 40)})`
  return `waits for the service, ${stopwatch(Math.max(0, Math.ceil((untilMs - now) / 1_000) * 1_000))} left${why}`
}

/** What a wait for a service is shown as by its event. */
export function waitOfEvent({
  untilMs,
  error,
}: Extract<RunEvent, { readonly type: 'service_wait' }>): ShownWait & { readonly message: string } {
  const { status, kind, message } = error
  return { untilMs, error: status === null ? kind.replaceAll('_', ' ') : String(status), message }
}

/** When a retry comes that waits so long: `at 14:05:30` where it is told of, else undefined (spec R-SERV-15). */
export function longRetryText({ delayMs }: { readonly delayMs: number }, now: number): string | undefined {
  return delayMs > longestQuietWaitMs ? `at ${clockText(now + delayMs, now)}` : undefined
}

/** The message of an ending as a person reads it: with the time at which the service takes requests again in local time. */
export function endingMessage({ signal, retryAt }: Pick<RunResult, 'signal' | 'retryAt'>, now: number): string {
  const moment = retryAt === undefined ? Number.NaN : Date.parse(retryAt)
  if (retryAt === undefined || Number.isNaN(moment)) return signal.message
  return signal.message.replace(retryAt, clockText(moment, now))
}
