// Holds rules of docs/spec: R-STAND-14: days and months of the local time zone, also where clocks change.
import { describe, expect, onTestFinished, test } from 'vitest'
import { periodOf, resetsAt } from '../../src/budgets/calendar.ts'

/** Periods of moments in a time zone: the day, its end, the month, its end. */
function said(zone: string, moments: readonly string[]): readonly (readonly string[])[] {
  const before = process.env['TZ']
  onTestFinished(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  process.env['TZ'] = zone
  return moments
    .map((text) => new Date(text))
    .map((at) => [periodOf('day', at), resetsAt('day', at), periodOf('month', at), resetsAt('month', at)])
}

describe('a day', () => {
  test.each([
    ['Europe/Berlin', '2026-11-29T22:59:59Z', '2026-11-29', '2026-11-30T00:00:00+01:00'],
    ['Europe/Berlin', '2026-11-29T23:00:00Z', '2026-11-30', '2026-12-01T00:00:00+01:00'],
    // The offset at that time: 23 and 25 hours.
    ['Europe/Berlin', '2026-03-28T23:30:00Z', '2026-03-29', '2026-03-30T00:00:00+02:00'],
    ['Europe/Berlin', '2026-10-24T22:30:00Z', '2026-10-25', '2026-10-26T00:00:00+01:00'],
    ['America/St_Johns', '2026-11-29T12:00:00Z', '2026-11-29', '2026-11-30T00:00:00-03:30'],
    // There is no midnight: the day begins at one.
    ['America/Sao_Paulo', '2018-11-03T15:00:00Z', '2018-11-03', '2018-11-04T01:00:00-02:00'],
    ['Africa/Cairo', '2026-04-23T12:00:00Z', '2026-04-23', '2026-04-24T01:00:00+03:00'],
    // Midnight occurs twice: the first counts.
    ['America/Havana', '2026-10-31T16:00:00Z', '2026-10-31', '2026-11-01T00:00:00-04:00'],
    // Clocks go back over midnight: the same day occurs again, and ends a second time.
    ['America/St_Johns', '2010-11-07T03:00:00Z', '2010-11-06', '2010-11-07T00:00:00-03:30'],
    // A day that was skipped.
    ['Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-29', '2011-12-31T00:00:00+14:00'],
  ])('in %s at %s', (zone, at, period, reset) => {
    expect(said(zone, [at])[0]?.slice(0, 2)).toEqual([period, reset])
  })

  test('ends in the future, where the next period begins, at every time in a year of clock changes', () => {
    const start = Date.UTC(2010, 0, 1)
    const moments = Array.from({ length: 1_500 }, (_, step) => new Date(start + step * 21_023_000).toISOString())
    for (const zone of ['America/St_Johns', 'Asia/Gaza', 'Pacific/Apia']) {
      for (const [index, [day = '', reset = '', month = '', next = '']] of said(zone, moments).entries()) {
        expect(Date.parse(reset)).toBeGreaterThan(Date.parse(moments[index] ?? ''))
        expect(reset.slice(0, 10) > day).toBe(true)
        expect(Date.parse(next)).toBeGreaterThan(Date.parse(moments[index] ?? ''))
        expect(next.slice(0, 7) > month).toBe(true)
      }
    }
  })
})

test('a month ends on the first of the next', () => {
  expect(said('Europe/Berlin', ['2026-12-31T12:00:00Z'])[0]?.slice(2)).toEqual(['2026-12', '2027-01-01T00:00:00+01:00'])
  expect(said('Pacific/Kiritimati', ['2026-11-30T12:00:00Z'])[0]?.slice(2)).toEqual([
    '2026-12',
    '2027-01-01T00:00:00+14:00',
  ])
})
