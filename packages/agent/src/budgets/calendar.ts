import type { BudgetPer } from '@halting/core/adapters'

/**
 * Returns the local-time period that contains a given time, such as `2026-11-29` or `2026-11`. As text, later periods
 * compare greater.
 */
export function periodOf(per: BudgetPer, at: Date): string {
  const month = `${padded(at.getFullYear(), 4)}-${padded(at.getMonth() + 1, 2)}`
  return per === 'month' ? month : `${month}-${padded(at.getDate(), 2)}`
}

const minuteMs = 60_000

/** Start of the next period: ISO 8601 with the offset of the local time zone at that time. */
export function resetsAt(per: BudgetPer, at: Date): string {
  return localTime(nextPeriod(per, at))
}

/**
 * Returns the first instant of the next period. A day may begin after midnight if the clocks are set forward at that
 * time.
 */
function nextPeriod(per: BudgetPer, at: Date): Date {
  const next =
    per === 'month'
      ? new Date(at.getFullYear(), at.getMonth() + 1, 1)
      : new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1)
  if (next > at) return next
  // If clocks are set back over midnight, a day begins twice, the second time within hours.
  const own = periodOf(per, at)
  let minute = new Date(Math.floor(at.getTime() / minuteMs) * minuteMs + minuteMs)
  while (periodOf(per, minute) <= own) minute = new Date(minute.getTime() + minuteMs)
  return minute
}

function localTime(at: Date): string {
  const offset = -at.getTimezoneOffset()
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const zone = `${offset < 0 ? '-' : '+'}${padded(hours, 2)}:${padded(minutes, 2)}`
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => padded(part, 2)).join(':')
  return `${periodOf('day', at)}T${time}${zone}`
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}
