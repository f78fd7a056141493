/** Longer than any valid value. */
const longestValue = 64

/** Smaller numbers are seconds, up to 31 years; larger ones are Unix time in seconds. */
const firstUnixSeconds = 1e9
/** Numbers from here on are Unix time in milliseconds: in seconds they would be after the year 5138. */
const firstUnixMs = 1e11
/** Numbers from here on, the year 5138 in milliseconds, are invalid. */
const endOfUnixMs = 1e14

/** Milliseconds per unit of a duration, as Go and protocol buffers write it. */
const msOfUnit: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Parses a duration in milliseconds: `34` and `7.66` (seconds), `34s`, `6m0s`, `1h2m3.5s`, `120ms`. Null for anything
 * else.
 */
export function spanMsOf(text: string): number | null {
  const seconds = numberOf(text)
  if (seconds !== null) return seconds < firstUnixSeconds ? Math.ceil(seconds * 1000) : null
  if (text.length > longestValue || !/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return null
  let spanMs = 0
  for (const [, count, unit = ''] of text.matchAll(/([\d.]+)([a-z]+)/g)) spanMs += Number(count) * (msOfUnit[unit] ?? 0)
  return spanMs < firstUnixSeconds * 1000 ? Math.ceil(spanMs) : null
}

/**
 * Parses a time in milliseconds since 1970: Unix seconds, Unix milliseconds, RFC 3339 with a time zone, or one of the
 * three HTTP formats. Null for anything else.
 */
export function timeMsOf(text: string): number | null {
  const number = numberOf(text)
  if (number === null) return dateMsOf(text)
  if (number < firstUnixSeconds || number >= endOfUnixMs) return null
  return number < firstUnixMs ? number * 1000 : number
}

/** Parses a duration or a time, as milliseconds from now. Null for a past time, and for anything else. */
export function waitMsOf(text: string, nowMs: number): number | null {
  return spanMsOf(text) ?? waitUntil(timeMsOf(text), nowMs)
}

/** Returns the milliseconds from now until a time; null if it has passed. */
export function waitUntil(timeMs: number | null, nowMs: number): number | null {
  return timeMs === null || timeMs < nowMs ? null : Math.ceil(timeMs - nowMs)
}

/** Parses a number of milliseconds below 31 years. */
export function countMsOf(text: string): number | null {
  const ms = numberOf(text)
  return ms !== null && ms < firstUnixSeconds * 1000 ? Math.ceil(ms) : null
}

/** Parses digits with an optional fraction. Services write no sign and no exponent. */
export function numberOf(text: string): number | null {
  return text.length <= longestValue && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : null
}

const dateForms = [
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i,
  /^[a-z]{3,9}, \d{1,2}[ -][a-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d (?:GMT|UTC)$/i,
]
/** The oldest HTTP format, which has no time zone and means GMT. */
const ansiForm = /^[a-z]{3} [a-z]{3} [ \d]?\d \d\d:\d\d:\d\d \d{4}$/i

/** Parses a date. `Date.parse` alone also accepts `-5` and `3, 4`, and uses the local time zone if none is given. */
export function dateMsOf(text: string): number | null {
  const value = text.trim()
  if (value.length > longestValue) return null
  const isAnsi = ansiForm.test(value)
  if (!isAnsi && !dateForms.some((form) => form.test(value))) return null
  const timeMs = Date.parse(isAnsi ? `${value} GMT` : value)
  return Number.isNaN(timeMs) || timeMs < 0 ? null : timeMs
}
