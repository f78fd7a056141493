import { describe, expect, test } from 'vitest'
import { StopCategory } from '../../src/index.ts'

// The public surface, frozen: not read from src.
const priorities = {
  error: 0,
  stop_requested: 1,
  user_requested: 2,
  steps_limit: 2,
  token_limit: 3,
  cost_limit: 3,
  time_limit: 4,
  retry_limit: 5,
  no_progress: 5,
  finish_reason: 6,
  completed: 8,
  unknown: 9,
} as const
const reasons = Object.keys(priorities) as readonly StopCategory[]

describe('a stop reason is one of a closed set', () => {
  test('is the one of spec R-STOP-2, most urgent first', () => {
    expect(StopCategory.all).toEqual(reasons)
  })

  test('has a constant for each reason, with its name', () => {
    const { ErrorForbade, StopRequested, UserRequested, StepsLimitReached, TokenLimitReached, CostLimitReached } =
      StopCategory
    const { TimeLimitReached, RetryLimitReached, NoProgress, FinishReasonReceived, Completed, Unknown } = StopCategory
    expect([
      ErrorForbade,
      StopRequested,
      UserRequested,
      StepsLimitReached,
      TokenLimitReached,
      CostLimitReached,
    ]).toEqual(reasons.slice(0, 6))
    expect([TimeLimitReached, RetryLimitReached, NoProgress, FinishReasonReceived, Completed, Unknown]).toEqual(
      reasons.slice(6),
    )
  })

  test('is immutable for callers', () => {
    expect(Object.isFrozen(StopCategory)).toBe(true)
    expect(Object.isFrozen(StopCategory.all)).toBe(true)
  })
})

describe('priority', () => {
  test.each(reasons)('of %s is the number of spec R-STOP-2', (reason) => {
    expect(StopCategory.priority(reason)).toBe(priorities[reason])
  })

  test('compare orders every pair as their numbers do', () => {
    for (const a of reasons) {
      for (const b of reasons) expect(StopCategory.compare(a, b)).toBe(Math.sign(priorities[a] - priorities[b]))
    }
  })

  test('compare sorts a list with the most urgent first', () => {
    expect(
      (['completed', 'time_limit', 'error', 'steps_limit'] as StopCategory[]).toSorted((a, b) =>
        StopCategory.compare(a, b),
      ),
    ).toEqual(['error', 'steps_limit', 'time_limit', 'completed'])
  })
})

describe('wasForceStopped', () => {
  test('is false for a natural end and true for everything else', () => {
    expect(reasons.filter((reason) => !StopCategory.wasForceStopped(reason))).toEqual(['finish_reason', 'completed'])
  })
})

describe('a reason read from stored data', () => {
  test('is itself when it is known', () => {
    expect(reasons.map((reason) => StopCategory.parse(reason))).toEqual(reasons)
  })

  test.each(['steps', '', 'toString', '__proto__', 'constructor', 7, null, undefined, {}, [], ['error'], Symbol('x')])(
    'is unknown when it is %s',
    (value) => {
      expect(StopCategory.parse(value)).toBe('unknown')
    },
  )
})
