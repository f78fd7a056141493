/** Longer than any value that says when to come back. */
const longestValue = 64

/** A smaller number is a count of seconds: 31 years are nobody's wait. From here on it is a time in Unix seconds. */
const firstUnixSeconds = 1e9
/** From here on a number is a time in Unix milliseconds: in seconds it would be the year 5138. */
const firstUnixMs = 1e11
/** From here on, the year 5138 in milliseconds, a number is nonsense. */
const endOfUnixMs = 1e14

/** Milliseconds of one unit of a duration, as Go and protocol buffers write it. */
const msOfUnit: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a time span: `34` and `7.66` (seconds), `34s`, `6m0s`, `1h2m3.5s`, `120ms`. Null for anything else. */
export function spanMsOf(text: string): number | null {
  const seconds = numberOf(text)
  if (seconds !== null) return seconds < firstUnixSeconds ? Math.ceil(seconds * 1000) : null
  if (text.length > longestValue || !/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return null
  let spanMs = 0
  for (const [, count, unit = ''] of text.matchAll(/([\d.]+)([a-z]+)/g)) spanMs += Number(count) * (msOfUnit[unit] ?? 0)
  return spanMs < firstUnixSeconds * 1000 ? Math.ceil(spanMs) : null
}

/**
 * A time in milliseconds since 1970: Unix seconds, Unix milliseconds, RFC 3339 with its zone, or one of the three forms
 * of HTTP. Null for anything else.
 */
export function timeMsOf(text: string): number | null {
  const number = numberOf(text)
  if (number === null) return dateMsOf(text)
  if (number < firstUnixSeconds || number >= endOfUnixMs) return null
  return number < firstUnixMs ? number * 1000 : number
}

/** Milliseconds from now, of a time span or a time. Null for a time that has passed, and for what is neither. */
export function waitMsOf(text: string, nowMs: number): number | null {
  return spanMsOf(text) ?? waitUntil(timeMsOf(text), nowMs)
}

/** Milliseconds from now until a time; null when it has passed. */
export function waitUntil(timeMs: number | null, nowMs: number): number | null {
  return timeMs === null || timeMs < nowMs ? null : Math.ceil(timeMs - nowMs)
}

/** Milliseconds as a count, of less than 31 years. */
export function countMsOf(text: string): number | null {
  const ms = numberOf(text)
  return ms !== null && ms < firstUnixSeconds * 1000 ? Math.ceil(ms) : null
}

/** Digits with or without a fraction. No sign and no exponent: services write none. */
export function numberOf(text: string): number | null {
  return text.length <= longestValue && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : null
}

const dateForms = [
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i,
  /^[a-z]{3,9}, \d{1,2}[ -][a-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d (?:GMT|UTC)$/i,
]
/** The oldest form of HTTP, which names no zone and means GMT. */
const ansiForm = /^[a-z]{3} [a-z]{3} [ \d]?\d \d\d:\d\d:\d\d \d{4}$/i

/** `Date.parse` takes `-5` and `3, 4` for dates too, and reads a date without a zone by the zone of this machine. */
export function dateMsOf(text: string): number | null {
  const value = text.trim()
  if (value.length > longestValue) return null
  const isAnsi = ansiForm.test(value)
  if (!isAnsi && !dateForms.some((form) => form.test(value))) return null
  const timeMs = Date.parse(isAnsi ? `${value} GMT` : value)
  return Number.isNaN(timeMs) || timeMs < 0 ? null : timeMs
}
