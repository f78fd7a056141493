// Tests R-REQ-14, R-CTX-10b, R-CTX-10c, R-CTX-17: a service that counts the cap on the reply against its window.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import type { RunOptions, StartOptions } from '../../src/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { engineOf } from '../support/engine.ts'
import { calls, reader, run } from '../support/harness.ts'
import { isQuestion, windowedModel, type WindowOptions } from '../support/windowed-model.ts'

interface TestOptions {
  readonly window?: Partial<WindowOptions>
  readonly layers?: ContextLayersOptions
  /** Calls before the answer. */
  readonly calls?: number
  /** The length of each result, in characters. */
  readonly length?: number
  readonly options?: Partial<RunOptions>
  readonly start?: StartOptions
}

function world({ window, layers, calls: wanted = 0, length = 4_000, options }: TestOptions) {
  const model = windowedModel((_request, number) => (number <= wanted ? calls('Look') : 'done'), {
    window: 16_384,
    believed: 128_000,
    maxOutputTokens: 16_384,
    countsOutput: true,
    ...window,
  })
  const context = contextLayers({ collapse: false, clearResults: false, ...layers })
  return { model, options: { model, tools: [reader('Look', () => 'x'.repeat(length))], context, ...options } }
}

async function runIn(overrides: TestOptions = {}) {
  const { model, options } = world(overrides)
  const ran = await run([], { ...options, clock: createFakeClock({ autoAdvance: true }) }, overrides.start)
  expect(model.problems).toEqual([])
  const asked = model.requests.filter((request) => !isQuestion(request))
  return { ...ran, model, asked, caps: asked.map(({ maxOutputTokens }) => maxOutputTokens) }
}

describe('an output cap that does not fit next to the prompt', () => {
  test('is lowered to what the refusal reports as left, in the same turn', async () => {
    const { terminal, state, caps, model, events } = await runIn()
    expect([terminal.reason, state.spent.turns, model.refused.length]).toEqual(['completed', 1, 1])
    const used = model.refused[0] ?? 0
    expect(caps[0]).toBe(16_384)
    expect(caps[1]).toBeGreaterThan(16_384 - used - 50)
    expect(caps[1]).toBeLessThanOrEqual(16_384 - used)
    expect(events.filter(({ type }) => type === 'retry')).toMatchObject([{ attempt: 1, delayMs: 0 }])
    expect(state.spent.windows).toEqual({ scripted: 16_384 })
    expect(state.spent.sharedWindows).toEqual({ scripted: 16_384 })
  })

  test('is lowered by the estimate when the refusal does not count the prompt', async () => {
    const { terminal, model } = await runIn({ window: { refusalDetail: 'limit' } })
    expect([terminal.reason, model.refused.length]).toEqual(['completed', 1])
  })

  test.each([0.4, 0.7, 1.5, 2])('also when the service counts %d times our estimate', async (factor) => {
    const start = { prompt: 'x'.repeat(20_000) }
    const { terminal, model } = await runIn({ window: { refusalDetail: 'limit', factor }, start })
    expect(terminal.reason).toBe('completed')
    expect(model.refused.length).toBeLessThanOrEqual(4)
  })

  test('is refused once in a run that fills its window repeatedly, which compacts only when it is full', async () => {
    const { terminal, model, state } = await runIn({ window: { window: 20_000 }, calls: 40 })
    expect([terminal.reason, model.refused.length]).toEqual(['completed', 1])
    // A result has 1,000 tokens: about ten fit between two compactions.
    expect(state.spent.compactions).toBeLessThan(6)
  })

  test('is not requested again in the next run of an engine', async () => {
    const { model, options } = world({ calls: 2 })
    const { engine } = engineOf([], options)
    for (const prompt of ['first', 'second', 'third']) for await (const _ of engine.submit(prompt));
    expect(model.refused).toHaveLength(1)
  })

  test('leaves the conversation as it is: nothing is compacted', async () => {
    const { events, terminal } = await runIn({ start: { prompt: 'x'.repeat(40_000) } })
    expect(terminal.reason).toBe('completed')
    expect(events.filter(({ type }) => type === 'compact_start')).toEqual([])
  })

  test('is not lowered without retries, and the next run knows the window', async () => {
    const { terminal, state } = await runIn({ options: { maxRetries: 0 } })
    expect(terminal.reason).toBe('prompt_too_long')
    expect(state.spent.sharedWindows).toEqual({ scripted: 16_384 })
  })

  test('treats a prompt that leaves less than a useful reply as too long', async () => {
    const { terminal, caps } = await runIn({ start: { prompt: 'x'.repeat(4 * 15_900) }, layers: { reactive: false } })
    expect([terminal.reason, caps]).toEqual(['prompt_too_long', [16_384]])
  })
})

test('resumes a reply that was cut at the end of the window, without a higher cap', async () => {
  const { model, options } = world({ window: { defaultOutputTokens: 12_000 } })
  let cuts = 0
  const cutting = {
    ...model,
    async call(...[request, more]: Parameters<typeof model.call>) {
      const reply = await model.call(request, more)
      return cuts++ === 0 ? { ...reply, message: { ...reply.message, stop_reason: 'max_tokens' as const } } : reply
    },
  }
  const clock = createFakeClock({ autoAdvance: true })
  const ran = await run([], { ...options, model: cutting, clock }, { prompt: 'x'.repeat(30_000) })
  expect(ran.terminal.reason).toBe('completed')
  expect(ran.transitions).toEqual(['max_output_tokens_recovery'])
})

describe('summaries', () => {
  test('may use the room that the window leaves, and not only their share of it', async () => {
    const { model, terminal } = await runIn({ window: { window: 20_000 }, calls: 30 })
    expect(terminal.reason).toBe('completed')
    const questions = model.requests.filter(isQuestion)
    expect(questions.length).toBeGreaterThan(0)
    for (const { maxOutputTokens } of questions) expect(maxOutputTokens).toBeGreaterThan(2_000)
  })

  test('are requested in a shorter form of the same conversation when the service has no room for a long one', async () => {
    const { model, terminal } = await runIn({
      window: { window: 20_000, maxOutputTokens: 16_384 },
      layers: { compactAt: 6_000 },
      calls: 14,
    })
    expect(terminal.reason).toBe('completed')
    const questions = model.requests.filter(isQuestion)
    expect(questions.length).toBeGreaterThan(0)
    expect(model.refused.length).toBeLessThanOrEqual(1)
  })
})

describe('a conversation that is full again right after each compaction', () => {
  test.each([
    [1, 'compaction_thrash'],
    [2, 'compaction_thrash'],
    [3, 'completed'],
  ] as const)(
    'ends the run when the service refuses %d replies after each of three compactions',
    async (replies, reason) => {
      // By our estimate there is room: only the refusals contradict it.
      const refuses = (request: number): boolean => request % (replies + 1) === 0
      const { model, terminal, state } = await runIn({
        window: { refuses, refusalDetail: 'nothing', window: 1e6 },
        calls: 40,
      })
      expect(terminal.reason).toBe(reason)
      if (reason === 'completed') return
      expect(state.spent.compactions).toBe(3)
      expect(terminal.signal.message).toContain('within 3 turns of being compacted')
      expect(model.requests.length).toBeLessThan(20)
    },
  )
})

test('a run is rarely refused, and no prompt that fits counts as too long, whatever the window and the count', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        window: fc.integer({ min: 4_000, max: 60_000 }),
        maxOutputTokens: fc.integer({ min: 1_100, max: 64_000 }),
        factor: fc.constantFrom(0.5, 0.8, 1, 1.4, 2.2),
        refusalDetail: fc.constantFrom('both' as const, 'limit' as const),
      }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 6_000 }),
      fc.integer({ min: 0, max: 40_000 }),
      async (window, wanted, length, words) => {
        const start = { prompt: 'x'.repeat(words) }
        const { terminal, model, events } = await runIn({ window, calls: wanted, length, start })
        expect(['completed', 'compaction_thrash', 'prompt_too_long']).toContain(terminal.reason)
        const used = window.factor * ((words + length * wanted) / 4 + 60 * (wanted + 1))
        // All of it fits next to a useful reply, also by an estimate without any count.
        const isEasy = used + 1_100 < window.window * 0.6 && used / window.factor < window.window * 0.6
        // Each turn may be refused once, when its result is longer than estimated. The service then reports the count.
        const maxRefused = window.refusalDetail === 'limit' ? 4 * (wanted + 1) : isEasy ? 2 : 4 + wanted
        expect(model.refused.length).toBeLessThanOrEqual(maxRefused)
        const isCompacted = events.some(({ type }) => type === 'compact_start')
        expect(isEasy && (isCompacted || terminal.reason !== 'completed')).toBe(false)
      },
    ),
    { numRuns: drawn(150) },
  )
})
