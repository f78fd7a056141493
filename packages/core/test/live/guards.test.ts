// Tests R-GUARD-10.
import { expect, test } from 'vitest'
import {
  all,
  costLimit,
  noProgress,
  replay,
  stepLimit,
  tokenLimit,
  type Guard,
  type RunEvent,
} from '../../src/index.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, json, reader, run } from '../support/harness.ts'

const guardFigures = (events: readonly RunEvent[]): readonly unknown[] =>
  events.flatMap((event) => (event.type === 'guards' ? [event.remaining] : []))

const tools = [reader('Look')]
const turns = (_request: unknown, index: number): ScriptedReply => (index < 2 ? calls('Look') : 'done')

test('guards report before every turn how close they are to firing', async () => {
  const runOptions = {
    tools,
    prices: dollarATokenPrices,
    stopWhen: [stepLimit(5), all(tokenLimit(1_000_000), costLimit(1_000_000)), noProgress()],
  }
  const { events, steps } = await run(turns, runOptions)
  const at = (turn: number) => [
    { guard: 'StepsLimitHook', used: turn, limit: 5, unit: 'turns' },
    { guard: 'TokenUsageLimitHook', used: 15 * turn, limit: 1_000_000, unit: 'tokens' },
    { guard: 'noProgress', used: turn, limit: 5, unit: 'repeats' },
  ]
  expect(guardFigures(events)).toEqual([at(0), at(1), at(2)])
  const order = events.map(({ type }) => type)
  expect(order.indexOf('guards')).toBe(order.indexOf('turn_start') + 1)
  // They are pure, so a replay evaluates them again.
  const replayed = await replay(steps.records, { ...runOptions, model: { ...(await run([])).model } })
  expect(json(guardFigures(replayed.events))).toEqual(json(guardFigures(events)))
})

test('a guard that fails, reports nothing or an invalid figure is omitted, and stops nothing', async () => {
  const guard = (name: string, remaining?: () => unknown): Guard => ({
    name,
    evaluate: () => undefined,
    // Values that plain JavaScript code can return.
    ...(remaining !== undefined && { remaining: remaining as NonNullable<Guard['remaining']> }),
  })
  const throws = (): never => {
    throw new Error('it cannot say')
  }
  const { events, terminal } = await run(turns, {
    tools,
    stopWhen: [
      guard('silent'),
      guard('nothing', () => undefined),
      guard('throws', throws),
      guard('promise', () => Promise.reject(new Error('later'))),
      guard('no figures', () => ({ guard: 'no figures', used: 1, limit: Infinity, unit: 'turns' })),
      guard('a word', () => 'soon'),
    ],
  })
  expect([terminal.reason, guardFigures(events)]).toEqual(['completed', []])
})
