/**
 * How long a service asks to wait, in milliseconds: `retry-after-ms`, or `retry-after` as seconds or as a date.
 * Null when it does not say, or says what nobody can read.
 */
export function retryAfterMsOf(headers: Headers, nowMs: number): number | null {
  const milliseconds = wholeNumber(headers.get('retry-after-ms'))
  if (milliseconds !== null) return milliseconds
  const value = headers.get('retry-after')
  if (value === null) return null
  const seconds = wholeNumber(value)
  if (seconds !== null) return Math.ceil(seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null
}
