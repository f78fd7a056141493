import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  transitionRules,
  retriesLeft,
  iterationsLeft,
  noIterations,
  rankingOf,
  ranksBelow,
  chargeIteration,
  spendsTurn,
  transitions,
  turnsBegun,
  type SpentIterations,
} from '../../src/limits/transition-rules.ts'
import type { IterationReason } from '../../src/index.ts'
import { calls, reader, run } from '../support/harness.ts'

// The table of transitions (spec R-LAP-1), frozen here: not read from src.
const table = {
  next_turn: ['turns', 0, 'run', true],
  user_input: ['turns', 0, 'run', true],
  continuation_requested: ['own', 8, 'refill', true],
  stop_hook_blocking: ['own', 8, 'refill', true],
  goal_unmet: ['goalTries', 0, 'run', true],
  unverified_change: ['ownTurns', 1, 'run', true],
  token_budget_continuation: ['tokenTarget', 0, 'run', true],
  structured_output_retry: ['own', 5, 'refill', true],
  pause_turn: ['own', 8, 'refill', false],
  max_output_tokens_recovery: ['own', 3, 'refill', false],
  max_output_tokens_escalate: ['own', 1, 'run', false],
  model_fallback: ['own', 1, 'run', false],
  media_recovery: ['own', 1, 'refill', false],
  reactive_compact_retry: ['own', 1, 'refill', false],
  collapse_drain_retry: ['own', 1, 'refill', false],
  no_progress_nudge: ['ownTurns', 2, 'run', true],
  wrap_up: ['own', 1, 'run', true],
  limit_raised: ['raises', 0, 'run', false],
} as const satisfies Record<IterationReason, readonly [string, number, string, boolean]>

const limits = { maxTurns: 4, goalTries: 2, tokenTargetIterations: 3 }
const anyTransition = fc.constantFrom(...(Object.keys(table) as IterationReason[]))

/** Spends iterations within their retry limits, and returns how often each was taken. */
function spendAll(iterations: readonly (readonly [IterationReason, boolean])[]): SpentIterations {
  let spent: SpentIterations = noIterations
  for (const [transition, madeProgress] of iterations)
    if (iterationsLeft(transition, spent, limits) > 0) spent = chargeIteration(transition, spent, madeProgress)
  return spent
}

test('the retry limits are those of spec R-LAP-1, in its order', () => {
  expect(transitions).toEqual(Object.keys(table))
  const rows = Object.entries(transitionRules).map(
    ([transition, { chargedTo, iterations: laps, resets, countsAsTurn }]) => [
      transition,
      [chargedTo, laps, resets, countsAsTurn],
    ],
  )
  expect(Object.fromEntries(rows)).toEqual(table)
})

test('counts the first turn and each iteration that spends one as turns begun', () => {
  fc.assert(
    fc.property(fc.dictionary(anyTransition, fc.nat(50)), (inRun) => {
      let iterations = 1
      for (const transition of transitions) if (spendsTurn(transition)) iterations += inRun[transition] ?? 0
      expect(turnsBegun({ ...noIterations, inRun })).toBe(iterations)
    }),
  )
})

describe('the ranking', () => {
  test('starts at turns left, gate left, and the sum of all other retry limits', () => {
    expect(rankingOf(noIterations, limits)).toEqual([3, 3, 43])
  })

  test('decreases with every permitted iteration, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyTransition, fc.boolean()), { maxLength: 200 }), (iterations) => {
        let spent: SpentIterations = noIterations
        for (const [transition, madeProgress] of iterations) {
          if (iterationsLeft(transition, spent, limits) <= 0) continue
          const before = rankingOf(spent, limits)
          spent = chargeIteration(transition, spent, madeProgress)
          expect(ranksBelow(rankingOf(spent, limits), before)).toBe(true)
        }
      }),
    )
  })

  test('is not below itself, and nothing negative ranks below anything', () => {
    expect(ranksBelow([1, 1, 1], [1, 1, 1])).toBe(false)
    expect(ranksBelow([0, 9, 99], [1, 0, 0])).toBe(true)
    expect(ranksBelow([1, 0, 99], [1, 1, 0])).toBe(true)
    expect(ranksBelow([1, 1, 0], [1, 1, 1])).toBe(true)
    expect(ranksBelow([0, -1, 0], [1, 1, 1])).toBe(false)
  })
})

describe('the retries left, as an iteration reports them', () => {
  test('are the retry limit of each transition minus the iterations taken, as JSON numbers', () => {
    const spent = spendAll([
      ['next_turn', false],
      ['stop_hook_blocking', false],
      ['wrap_up', false],
      ['token_budget_continuation', false],
    ])
    const left = retriesLeft(spent, limits)
    expect(left).toEqual({
      next_turn: 2,
      user_input: 2,
      continuation_requested: 8,
      stop_hook_blocking: 7,
      goal_unmet: 2,
      unverified_change: 1,
      token_budget_continuation: 2,
      structured_output_retry: 5,
      pause_turn: 8,
      max_output_tokens_recovery: 3,
      max_output_tokens_escalate: 1,
      model_fallback: 1,
      media_recovery: 1,
      reactive_compact_retry: 1,
      collapse_drain_retry: 1,
      no_progress_nudge: 2,
      wrap_up: 0,
      limit_raised: 0,
    })
    expect(JSON.parse(JSON.stringify(left))).toEqual(left)
  })

  test('are null without a limit, and never below 0', () => {
    const unlimited = retriesLeft(noIterations, { maxTurns: Infinity, tokenTargetIterations: 0 })
    expect([unlimited.next_turn, unlimited.user_input]).toEqual([null, null])
    const spent = spendAll([
      ['next_turn', false],
      ['next_turn', false],
      ['token_budget_continuation', true],
      ['token_budget_continuation', true],
    ])
    // A run that continues with lower limits, or without a token target, has spent more than it may.
    const lowered = { maxTurns: 2, tokenTargetIterations: 0 }
    const { next_turn, token_budget_continuation } = retriesLeft(spent, lowered)
    expect([next_turn, token_budget_continuation, rankingOf(spent, lowered)]).toEqual([0, 0, [0, 0, 41]])
  })

  test('are the permitted iterations, whatever was spent', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyTransition, fc.boolean()), { maxLength: 100 }), (iterations) => {
        const spent = spendAll(iterations)
        const each = transitions.map((transition) => [transition, iterationsLeft(transition, spent, limits)])
        expect(retriesLeft(spent, limits)).toEqual(Object.fromEntries(each))
      }),
    )
  })

  test('are reported with every iteration', async () => {
    const { events } = await run((_request, index) => (index < 2 ? calls('Look') : 'done'), {
      tools: [reader('Look')],
      maxTurns: 5,
    })
    const iterationEvents = events.flatMap((event) => (event.type === 'lap' ? [event] : []))
    expect(
      iterationEvents.map(({ after, left }) => [after, left.next_turn, left.stop_hook_blocking, left.wrap_up]),
    ).toEqual([
      [[3, 0, 41], 3, 8, 1],
      [[2, 0, 41], 2, 8, 1],
    ])
  })
})

describe('refilling', () => {
  const used = spendAll([
    ['stop_hook_blocking', false],
    ['pause_turn', false],
    ['max_output_tokens_escalate', false],
    ['no_progress_nudge', false],
  ])
  const left = (spent: SpentIterations) =>
    (['stop_hook_blocking', 'pause_turn', 'max_output_tokens_escalate', 'no_progress_nudge'] as const).map((name) =>
      iterationsLeft(name, spent, limits),
    )

  test('a spent turn refills every resettable retry limit, and none that is per run', () => {
    expect(left(used)).toEqual([7, 7, 0, 1])
    expect(left(chargeIteration('next_turn', used, false))).toEqual([8, 8, 0, 1])
    expect(left(chargeIteration('user_input', used, false))).toEqual([8, 8, 0, 1])
  })

  test('a token continuation refills them only when it made progress', () => {
    expect(left(chargeIteration('token_budget_continuation', used, true))).toEqual([8, 8, 0, 1])
    expect(left(chargeIteration('token_budget_continuation', used, false))).toEqual([7, 7, 0, 1])
  })

  test.each((Object.keys(table) as IterationReason[]).filter((name) => table[name][0] === 'own'))(
    '%s refills nothing',
    (transition) => {
      const spent = chargeIteration(transition, used, true)
      for (const other of Object.keys(table) as IterationReason[])
        expect(iterationsLeft(other, spent, limits)).toBeLessThanOrEqual(iterationsLeft(other, used, limits))
    },
  )

  test('next_turn and user_input share one retry limit, and the first turn is no iteration', () => {
    const spent = chargeIteration('user_input', chargeIteration('next_turn', noIterations, false), false)
    expect([iterationsLeft('next_turn', spent, limits), iterationsLeft('user_input', spent, limits)]).toEqual([1, 1])
  })
})
