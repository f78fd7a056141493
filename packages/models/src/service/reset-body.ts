import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import type { AnswerHeaders } from '../http/transport.ts'
import { listOf, stringOf } from '../json-fields.ts'
import type { ErrorBody } from './error-body.ts'
import { countMsOf, spanMsOf, timeMsOf, waitMsOf, waitUntil } from './reset-values.ts'

/**
 * Returns the milliseconds until the time that a body names in a field or its message; null if it names no future time.
 */
export function bodyWaitMs({ objects, message }: ErrorBody, nowMs: number): number | null {
  for (const object of objects) {
    const waitMs = fieldWaitMs(object, nowMs)
    if (waitMs !== null) return waitMs
  }
  return messageWaitMs(message, nowMs)
}

/** Headers of a service that a router repeats in its error: OpenRouter's `metadata.headers`. */
export function headersInBody({ objects }: ErrorBody): readonly AnswerHeaders[] {
  return objects.flatMap(({ headers }) => {
    if (!isJsonObject(headers)) return []
    const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), textOf(value)]))
    return [{ get: (name: string) => values.get(name) ?? null }]
  })
}

type ReadWait = (text: string, nowMs: number) => number | null

/** Fields with a retry time; those that need no clock come first. */
const fields: readonly (readonly [name: string, read: ReadWait])[] = [
  // ChatGPT plans (`usage_limit_reached`).
  ['resets_in_seconds', spanMsOf],
  // Seconds: Replicate, OpenRouter, gateways.
  ['retry_after', waitMsOf],
  ['retry_after_seconds', spanMsOf],
  ['retry_after_ms', countMsOf],
  // Google's `RetryInfo`: `34s`, `33.5s`.
  ['retryDelay', spanMsOf],
  ['resets_at', (text, nowMs) => waitUntil(timeMsOf(text), nowMs)],
]

function fieldWaitMs(object: JsonObject, nowMs: number): number | null {
  for (const [name, read] of fields) {
    const text = textOf(object[name])
    const waitMs = text === null ? null : read(text, nowMs)
    if (waitMs !== null && waitMs > 0) return waitMs
  }
  const info = listOf(object.details).find((detail) => isJsonObject(detail) && isRetryInfo(detail))
  return isJsonObject(info) ? fieldWaitMs({ retryDelay: info.retryDelay }, nowMs) : null
}

function isRetryInfo(detail: JsonObject): boolean {
  return stringOf(detail['@type']).endsWith('RetryInfo')
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : null
}

/** Messages longer than this are not parsed. */
const longestMessage = 4_096

/** "Please try again in 6m0s", "retry after 26 seconds", "resets in ~5s", "wait for 30 seconds". */
const spanInWords =
  /\b(?:try again|retry|retrying|resets?) (?:in|after) ~?(?<span>\d[\d.]* ?[a-z][\w. ,]*)|\bwait (?:for )?(?:at least )?(?<wait>\d[\d.]* ?[a-z][\w. ,]*)/i

/** "Try again at 5:00 PM UTC", "resets at 2026-11-29T17:00:00Z", "regain access on 2026-12-01 at 00:00 UTC". */
const timeInWords =
  /\b(?:try again|retry|resets?|regain access|available|available again|limited) (?:at|on|after|until) (?<time>\d[\d:.TZ +apmutcg()-]{1,40})/i

/**
 * Returns the milliseconds that a message asks to wait. Null if it does not say, or names a time without a time zone.
 */
export function messageWaitMs(message: string, nowMs: number): number | null {
  if (message.length > longestMessage) return null
  const spans = spanInWords.exec(message)?.groups
  const span = spans?.span ?? spans?.wait
  if (span !== undefined) return spokenSpanMs(span)
  const time = timeInWords.exec(message)?.groups?.time
  return time === undefined ? null : spokenWaitMs(time, nowMs)
}

function spokenSpanMs(span: string): number | null {
  let spanMs = 0
  let end = 0
  for (const part of span.matchAll(/(?:,? (?:and )?)?(\d+(?:\.\d+)?) ?([a-z]+)/gi)) {
    const [text, count, unit = ''] = part
    const unitMs = unitMsOf(unit.toLowerCase())
    // The first word that is not a unit belongs to the sentence, not to the duration.
    if (unitMs === undefined || part.index !== end) break
    spanMs += Number(count) * unitMs
    end += text.length
  }
  const ms = countMsOf(String(spanMs))
  return ms === 0 ? null : ms
}

function unitMsOf(unit: string): number | undefined {
  if (/^(ms|milliseconds?)$/.test(unit)) return 1
  if (/^(s|secs?|seconds?)$/.test(unit)) return 1000
  if (/^(m|mins?|minutes?)$/.test(unit)) return 60_000
  if (/^(h|hrs?|hours?)$/.test(unit)) return 3_600_000
  return /^(d|days?)$/.test(unit) ? dayMs : undefined
}

const dayMs = 86_400_000
/** A time of day within the last hour may mean today, so it is not treated as tomorrow's. */
const longestToTimeOfDay = dayMs - 3_600_000

const zone = /\(?(?<zone>Z|UTC|GMT|[+-]\d\d:\d\d)\b(?! ?[+-])/.source
const dateInWords = new RegExp(
  `^(?<day>\\d{4}-\\d\\d-\\d\\d)(?:T| at | )(?<clock>\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?) ?${zone}`,
  'i',
)
const clockInWords = /^(?<hour>\d{1,2})(?::(?<minute>\d\d))? ?(?<half>am|pm)? ?\(?(?:UTC|GMT)\b(?! ?[+-])/i

/** Parses a date and time with a time zone, or a time of day in UTC. Without a zone it would be ambiguous. */
function spokenWaitMs(time: string, nowMs: number): number | null {
  const date = dateInWords.exec(time)?.groups
  if (date !== undefined) {
    const { day = '', clock = '', zone: named = '' } = date
    const offset = /^[+-]/.test(named) ? named : 'Z'
    return waitUntil(timeMsOf(`${day}T${clock.length === 5 ? `${clock}:00` : clock}${offset}`), nowMs)
  }
  const { hour = '', minute = '0', half } = clockInWords.exec(time)?.groups ?? {}
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
  // "At 5 UTC" is ambiguous; "at 13 PM" is invalid.
  const isClock = half === undefined ? time.includes(':') : Number(hour) >= 1 && Number(hour) <= 12
  if (hour === '' || !isClock || hours > 23 || Number(minute) > 59) return null
  const timeOfDayMs = (hours * 60 + Number(minute)) * 60_000
  const waitMs = (((timeOfDayMs - nowMs) % dayMs) + dayMs) % dayMs
  return waitMs === 0 || waitMs > longestToTimeOfDay ? null : Math.ceil(waitMs)
}
