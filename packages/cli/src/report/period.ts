import type { Flags, NamedMoment } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'
import type { Period } from '@halting/analysis/report'

const defaultDays = 7

/**
 * The period that the flags select. Ages in days and weeks count from the start of that day (default: the last seven
 * days).
 * @throws UsageError if the end is not after the start
 */
export function reportPeriod(
  { since, untilDate: until }: Pick<Flags, 'since' | 'untilDate'>,
  isNamed: boolean,
  now: number,
): Period {
  const isUsual = since === undefined && until === undefined && !isNamed
  const from = isUsual ? startOfDayAgo(defaultDays, now) : since === undefined ? null : resolveMoment(since, now)
  const to = until === undefined ? null : resolveMoment(until, now, 1)
  if (from !== null && to !== null && to <= from)
    throw new UsageError('--until is not after --since. Name the earlier of the two with --since.')
  return { since: from, until: to }
}

/** The time in milliseconds since 1970. For a day, `more` adds days, so that the end of a period includes its last day. */
export function resolveMoment(moment: NamedMoment, now: number, more: 0 | 1 = 0): number {
  switch (moment.kind) {
    case 'moment':
      return moment.at
    case 'day':
      return startOfDay(moment.year, moment.month - 1, moment.day + more)
    case 'ago':
      if (moment.unit === 'h') return now - moment.count * 3_600_000
      return startOfDayAgo(moment.count * (moment.unit === 'w' ? 7 : 1) - more, now)
  }
}

/** The start of the day that was `days` ago, in the local time zone. */
function startOfDayAgo(days: number, now: number): number {
  const today = new Date(now)
  return startOfDay(today.getFullYear(), today.getMonth(), today.getDate() - days)
}

/** The start of a day in the local time zone. `new Date(50, …)` would mean 1950. */
function startOfDay(year: number, month: number, day: number): number {
  const date = new Date(2000, 0, 1)
  date.setFullYear(year, month, day)
  return date.getTime()
}
