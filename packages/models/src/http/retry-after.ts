import type { AnswerHeaders } from './transport.ts'

/**
 * How long a service asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` as seconds or as a date. A date
 * is read against the `date` of the same answer: the clocks of two machines differ. Of several numbers the longest
 * counts. Null when it does not say, or says what is neither.
 */
export function retryAfterMsOf(headers: AnswerHeaders, nowMs: number): number | null {
  const milliseconds = numberOf(headers.get('retry-after-ms'))
  if (milliseconds !== null) return milliseconds
  const value = headers.get('retry-after')
  if (value === null) return null
  const seconds = numberOf(value)
  if (seconds !== null) return Math.ceil(seconds * 1000)
  const date = dateOf(value)
  return date === null ? null : Math.max(0, date - (dateOf(headers.get('date')) ?? nowMs))
}

/** Longer than any value of such a header. */
const longestValue = 64

function numberOf(value: string | null): number | null {
  if (value === null || value.length > longestValue) return null
  // A header that stands there twice is read as a list.
  const parts = value.split(',').map((part) => part.trim())
  return parts.every((part) => /^\d+(\.\d+)?$/.test(part)) ? Math.max(...parts.map(Number)) : null
}

/** The three forms of HTTP, which all begin with a weekday. `Date.parse` takes `-5` and `3, 4` for dates too. */
function dateOf(value: string | null): number | null {
  if (value === null || value.length > longestValue) return null
  const text = value.trim()
  if (!/^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i.test(text)) return null
  // The oldest of the forms names no zone, and means GMT.
  const date = Date.parse(/gmt$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(date) ? null : date
}
