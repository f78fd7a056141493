import { expect, test } from 'vitest'
import { namedMoment } from '../../src/flags/time-values.ts'
import { dayOf } from '@halting/analysis/report'
import { reportPeriod } from '../../src/report/period.ts'

const now = new Date(2026, 10, 24, 15).getTime()

test.each([
  ['1w', '2026-11-17'],
  ['99999w', '0110-05-20'],
  ['99999d', '1753-02-09'],
  ['0050-01-01', '0050-01-01'],
  ['0096-02-29', '0096-02-29'],
  ['2024-02-29', '2024-02-29'],
  ['9999-12-31', '9999-12-31'],
])('parses --since %s as a period that starts on %s', (given, day) => {
  const read = namedMoment(given)
  const since = 'value' in read ? read.value : undefined
  expect(dayOf(reportPeriod({ ...(since !== undefined && { since }) }, true, now).since)).toBe(day)
})

test.each(['2026-02-29', '0050-02-30', '2026-13-01', '999999w', '0x1d', ''])('refuses the time %s', (given) => {
  expect(namedMoment(given)).toEqual({ expected: expect.stringContaining('an age (12h, 7d, 2w)') as string })
})
