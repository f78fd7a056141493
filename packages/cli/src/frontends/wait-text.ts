import type { RunEvent, RunResult } from '@halting/core'
import type { Session, WaitingRequest } from '@halting/core/session'
import { failureName, isJsonObject, longestQuietWaitMs } from '@halting/core/adapters'
import { dollars } from '../io/dollars.ts'
import { clockText, many, oneLine, rounded, timeLeft } from '../io/figures.ts'

/** `waiting for $2.10 reserved by 3 requests`; for a standing budget `waiting for $2.10 of $20 a day reserved by 3 requests`. */
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
  return `waiting for ${what}${of} reserved by ${many(holders, 'request')}`
}

/** A wait for a service. `error`: its HTTP status, or the kind of failure. */
type ServiceWait = Pick<WaitingRequest, 'untilMs' | 'error'>

/** `waiting for the service until 14:05 (429: Too many requests)` */
export function serviceWaitText(
  { untilMs, error, message }: ServiceWait & { readonly message: string },
  now: number,
): string {
  const because = [error, oneLine(message, 200).replace(/[.\s]+$/, '')].filter((part) => part !== '')
  // The message of a service often starts with its status.
  const why = because[1]?.startsWith(error) === true ? because[1] : because.join(': ')
  return `waiting for the service until ${clockText(untilMs, now)}${why === '' ? '' : ` (${why})`}`
}

/** `waiting for the service, 12:31 left (429)`. */
export function serviceCountdown({ untilMs, error }: ServiceWait, now: number): string {
  const why = error === '' ? '' : ` (${oneLine(error, 40)})`
  return `${countdownText('the service', untilMs - now)}${why}`
}

/** `waiting for bash_1 to end, 9:48 left` */
export function countdownText(what: string, leftMs: number): string {
  return `waiting for ${what}, ${timeLeft(leftMs)} left`
}

/** The wait that an event reports. */
export function serviceWaitOf({
  untilMs,
  error,
}: Extract<RunEvent, { readonly type: 'service_wait' }>): ServiceWait & { readonly message: string } {
  return { untilMs, error: failureName(error), message: error.message }
}

/** The time of a retry, if its delay is long enough to report: `at 14:05:30`; otherwise undefined (spec R-SERV-15). */
export function longRetryText({ delayMs }: { readonly delayMs: number }, now: number): string | undefined {
  return delayMs > longestQuietWaitMs ? `at ${clockText(now + delayMs, now)}` : undefined
}

/** The message of an ending, with the time of the next possible request in local time. */
export function endingMessage({ signal, retryAt }: Pick<RunResult, 'signal' | 'retryAt'>, now: number): string {
  const resumesAt = retryAt === undefined ? Number.NaN : Date.parse(retryAt)
  if (retryAt === undefined || Number.isNaN(resumesAt)) return signal.message
  return signal.message.replace(retryAt, clockText(resumesAt, now))
}

/** Retries the services that a session waits for, as `/retry` does. Returns a message for the person. */
export function retryServices(session: Pick<Session, 'retryNow'>): string {
  return session.retryNow() ? 'Retrying now.' : 'This session is not waiting for a service.'
}

/** The wait that a tool reports when it starts to wait (spec R-WAIT-17). */
export interface ToolWait {
  /** The text that follows "waiting for". */
  readonly what: string
  /** The latest time at which the wait ends, in milliseconds since 1970. */
  readonly untilMs: number
  /** The remaining duration of the wait, in milliseconds. */
  readonly leftMs: number
}

/** The wait that progress data of a call reports; undefined if it reports none. */
export function toolWaitIn(data: unknown): ToolWait | undefined {
  if (!isJsonObject(data)) return undefined
  const { waitsFor: what, untilMs, leftMs } = data
  if (typeof what !== 'string' || typeof untilMs !== 'number' || typeof leftMs !== 'number') return undefined
  return { what, untilMs, leftMs }
}

/** `waiting for bash_1 to end, at most until 14:05`, in local time. */
export function toolWaitText({ what, untilMs }: Pick<ToolWait, 'what' | 'untilMs'>, now: number): string {
  return `waiting for ${what}, at most until ${clockText(untilMs, now)}`
}
