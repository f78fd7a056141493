const dayMs = 86_400_000

/** The last millisecond of the year 9999, counted from 1970. */
const lastMs = 253_402_300_799_999

/** A time as ISO 8601 in UTC, `2026-11-29T12:31:05.000Z`; undefined outside the years 0 to 9999. Core does not use the host's calendar. */
export function isoTimeOf(ms: number): string | undefined {
  if (!(ms >= 0 && ms <= lastMs)) return undefined
  const days = Math.floor(ms / dayMs)
  const rest = Math.floor(ms - days * dayMs)
  const { year, month, day } = civilOf(days)
  const time = [rest / 3_600_000, (rest / 60_000) % 60, (rest / 1_000) % 60].map((part) => padded(part, 2)).join(':')
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}T${time}.${padded(rest % 1_000, 3)}Z`
}

function padded(value: number, digits: number): string {
  return String(Math.floor(value)).padStart(digits, '0')
}

/** The date that is this many days after 1970-01-01. Years start in March in this calculation, so that a leap day is the last day of a year. */
function civilOf(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  // Days since 1 March of the year 0, counted in 400-year cycles of 146,097 days.
  const since = days + 719_468
  const cycle = Math.floor(since / 146_097)
  const dayOfCycle = since - cycle * 146_097
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1_460) + Math.floor(dayOfCycle / 36_524) - Math.floor(dayOfCycle / 146_096)) /
      365,
  )
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  const day = dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1
  return { year: yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month, day }
}

/**
 * Whether a text is a time as `isoTimeOf` writes it, with any fraction of a second. Rejects dates such as 30 February,
 * which some databases refuse and others store.
 */
export function isIsoTimeOfCalendar(text: string): boolean {
  const found = /^(?!0000)(\d{4})-([01]\d)-([0-3]\d)T([0-2]\d):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/.exec(text)
  if (found === null) return false
  const [year = 0, month = 0, day = 0, hour = 0] = found.slice(1).map(Number)
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
  return day >= 1 && day <= days && hour <= 23
}
