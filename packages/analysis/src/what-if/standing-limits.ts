import type { BudgetTerms } from '@halting/core/adapters'

/** A standing budget to try: US dollars per day or month, for all models or those that match a pattern. `Infinity` means no limit. */
export type StandingLimit = Omit<BudgetTerms, 'folder'>

/** A day or month in the local time zone, with the beginning of the next one in milliseconds since 1970. */
export interface LocalPeriod {
  /** `2026-11-28` or `2026-11`. */
  readonly name: string
  readonly end: number
}

/** The day or month of a moment. */
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
