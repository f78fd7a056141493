import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkTokenBudget,
  diminishingThreshold,
  freshTracker,
  tokenTargetBound,
  type BudgetTracker,
} from '../../src/limits/token-target.ts'

const tracker = (continuationCount: number, lastDeltaTokens = 0, lastGlobalTurnTokens = 0): BudgetTracker => ({
  continuationCount,
  lastDeltaTokens,
  lastGlobalTurnTokens,
  startedAt: 1_000,
})
const check = (
  from: BudgetTracker,
  globalTurnTokens: number,
  more: { budget?: number | null; agentId?: string } = {},
) => checkTokenBudget({ tracker: from, budget: 10_000, globalTurnTokens, now: 3_500, ...more })

describe('the token-budget gate (spec R-GATE-1 to R-GATE-4)', () => {
  test.each([
    ['a subagent', { agentId: 'agent' }],
    ['no budget', { budget: null }],
    ['a budget of 0', { budget: 0 }],
    ['a budget below 0', { budget: -5 }],
  ])('is not there for %s', (_name, more) => {
    const from = tracker(2)
    expect(check(from, 100, more)).toEqual({ decision: { action: 'stop', completionEvent: null }, tracker: from })
  })

  const nudge = (figures: string) =>
    `You have used ${figures} intended for this task. Keep working on it; do not summarize or stop yet.`

  test.each([
    // [tracker, tokens so far, continues, diminishing, next count, next delta]
    [
      'below the threshold for the first time',
      tracker(0),
      1_000,
      { nudged: '1,000 of the 10,000 tokens (10 %)', pct: 10, delta: 1_000 },
    ],
    [
      'one token below 90 %',
      tracker(1, 4_000, 4_000),
      8_999,
      { nudged: '8,999 of the 10,000 tokens (90 %)', pct: 90, delta: 4_999 },
    ],
    [
      'no gain, but only two continuations',
      tracker(2, 0, 1_000),
      1_000,
      { nudged: '1,000 of the 10,000 tokens (10 %)', pct: 10, delta: 0 },
    ],
    [
      'a small gain after a large one',
      tracker(3, 500, 1_000),
      1_499,
      { nudged: '1,499 of the 10,000 tokens (15 %)', pct: 15, delta: 499 },
    ],
    [
      'a large gain after a small one',
      tracker(3, 499, 1_000),
      1_500,
      { nudged: '1,500 of the 10,000 tokens (15 %)', pct: 15, delta: 500 },
    ],
  ] as const)('continues: %s', (_name, from, tokens, { nudged, pct, delta }) => {
    const continuationCount = from.continuationCount + 1
    expect(check(from, tokens)).toEqual({
      decision: {
        action: 'continue',
        nudgeMessage: nudge(nudged),
        continuationCount,
        pct,
        turnTokens: tokens,
        budget: 10_000,
      },
      tracker: { continuationCount, lastDeltaTokens: delta, lastGlobalTurnTokens: tokens, startedAt: 1_000 },
    })
  })

  test.each([
    ['at 90 %', tracker(2, 4_000, 5_000), 9_000, 90, false],
    ['beyond the budget', tracker(1, 4_000, 5_000), 12_000, 120, false],
    ['two small gains in a row after three continuations', tracker(3, 499, 1_000), 1_499, 15, true],
    ['many continuations, no gain', tracker(9, 0, 1_000), 1_000, 10, true],
  ] as const)('stops with an event: %s', (_name, from, turnTokens, pct, diminishingReturns) => {
    const { continuationCount } = from
    expect(check(from, turnTokens)).toEqual({
      decision: {
        action: 'stop',
        completionEvent: { continuationCount, pct, turnTokens, budget: 10_000, diminishingReturns, durationMs: 2_500 },
      },
      tracker: from,
    })
  })

  test('stops without an event when it never continued', () => {
    expect(check(tracker(0), 9_000)).toEqual({
      decision: { action: 'stop', completionEvent: null },
      tracker: tracker(0),
    })
  })

  test('does not change the tracker that was passed', () => {
    const from = Object.freeze(tracker(1))
    check(from, 100)
    expect(from).toEqual(tracker(1))
  })
})

describe('the bound of the gate', () => {
  test('is 3 + 2 * ceil(0.9 * target / 500)', () => {
    expect([500, 1_000, 10_000, 500_000].map((target) => tokenTargetBound(target))).toEqual([5, 7, 39, 1_803])
    expect([null, undefined, 0, -1].map((target) => tokenTargetBound(target))).toEqual([0, 0, 0, 0])
    expect(diminishingThreshold).toBe(500)
  })

  test('holds for any gains', () => {
    const gains = fc.oneof(fc.constant(0), fc.constantFrom(1, 499, 500, 501), fc.nat(2_000))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.infiniteStream(gains), (budget, stream) => {
        let state = freshTracker(0)
        let tokens = 0
        let continuations = 0
        for (const gain of stream) {
          tokens += gain
          const { decision, tracker: next } = checkTokenBudget({
            tracker: state,
            budget,
            globalTurnTokens: tokens,
            now: 0,
          })
          if (decision.action === 'stop') break
          continuations++
          state = next
          expect(continuations).toBeLessThanOrEqual(3 + 2 * Math.ceil((0.9 * budget) / 500))
        }
      }),
      { numRuns: 500 },
    )
  })

  test('is nearly reached by gains that alternate', () => {
    const budget = 10_000
    let state = freshTracker(0)
    let tokens = 0
    let continuations = 0
    for (let index = 0; ; index++) {
      tokens += index % 2 === 0 ? 0 : 500
      const { decision, tracker: next } = checkTokenBudget({ tracker: state, budget, globalTurnTokens: tokens, now: 0 })
      if (decision.action === 'stop') break
      continuations++
      state = next
    }
    expect(continuations).toBe(35)
  })
})
