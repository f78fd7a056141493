import type { NamedMoment } from './flags.ts'
import type { Reading } from './values.ts'

/** Parses `7d`, `12h`, `2w`, `2026-11-01`, or a time such as `2026-11-01T08:00Z`. */
export function namedMoment(given: string): Reading<NamedMoment> {
  const [, count = '', unit] = /^(\d{1,5})([hdw])$/.exec(given) ?? []
  if (unit === 'h' || unit === 'd' || unit === 'w') return { value: { kind: 'ago', count: Number(count), unit } }
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(given) ?? []).map(Number)
  if (year !== undefined && month !== undefined && day !== undefined && isDay(year, month, day))
    return { value: { kind: 'day', year, month, day } }
  const at = /^\d{4}-\d{2}-\d{2}T/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isFinite(at)) return { value: { kind: 'moment', at } }
  return { expected: 'an age (12h, 7d, 2w), a day (2026-11-01) or a time (2026-11-01T08:00Z)' }
}

/** Rejects days that do not exist, such as 31 February. */
function isDay(year: number, month: number, day: number): boolean {
  // `Date.UTC` maps years below 100 to 1900 and later. The calendar repeats every 400 years.
  const date = new Date(Date.UTC(2000 + (year % 400), month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}
