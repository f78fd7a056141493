import type { BudgetTerms } from '@halting/core/adapters'

/** A standing budget to try: so many US dollars a day or a month, of all models or of those that a pattern names. `Infinity` limits nothing. */
export type StandingLimit = Omit<BudgetTerms, 'folder'>

/** A day or a month of the local time zone: from one moment to the next period, in milliseconds since 1970. */
export interface LocalPeriod {
  /** `2026-11-28` or `2026-11`. */
  readonly name: string
  readonly end: number
}

/** The day or the month in which a moment lies. */
export function localPeriod(per: StandingLimit['per'], moment: number): LocalPeriod {
  const date = new Date(moment)
  const [year, month] = [date.getFullYear(), date.getMonth()]
  const name = localTime(moment).slice(0, per === 'day' ? 10 : 7)
  const end = per === 'day' ? new Date(year, month, date.getDate() + 1) : new Date(year, month + 1, 1)
  return { name, end: end.getTime() }
}

/** A moment in ISO 8601, with the offset of the local time zone. */
export function localTime(moment: number): string {
  const date = new Date(moment)
  const offset = -date.getTimezoneOffset()
  const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, '0')
  const local = new Date(moment + offset * 60_000).toISOString().slice(0, 19)
  return `${local}${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`
}
