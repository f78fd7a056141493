// Tests sessions that could not continue, paid twice, or lost binding instructions (R-CTX-4, R-CTX-14, R-CTX-14c,
// R-CTX-15, R-CTX-16, R-CTX-17, R-HOOK-11).
import { describe, expect, test } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import {
  resume,
  Transcript,
  type HookContext,
  type RunOptions,
  type ModelMessage,
  type Prices,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, hook, reader, run, type RunTestOptions, type Run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { isQuestion, windowedModel, type WindowedModel, type WindowOptions } from '../support/windowed-model.ts'

const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output }) => (input + output * 5) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens * 5) / 1e6,
}

const result = 'x'.repeat(4_000)

/** A model that makes this many calls, each with a thousand tokens, and then answers. */
const workingModel = (count: number, window: Partial<WindowOptions> = {}) =>
  windowedModel((_request, number) => (number <= count ? calls('look') : 'done'), { window: 20_000, ...window })

const runOptions = (layers: ContextLayersOptions): RunTestOptions & Pick<RunOptions, 'tools'> => ({
  tools: [reader('look', result)],
  context: contextLayers({ clearResults: false, collapse: false, ...layers }),
})

const textShown = (messages: readonly ModelMessage[]): string => JSON.stringify(messages)

describe('a hook that removes words from the conversation', () => {
  /** All messages that the model is shown, without the word. */
  const redact = (context: HookContext): HookContext => {
    const state = context.state()
    const without = JSON.stringify(state.messages()).replaceAll('hunter2', 'REDACTED')
    // The same messages with another word in them.
    return context.withState(state.withMessages(JSON.parse(without) as readonly ModelMessage[]))
  }

  test('right before a compaction: the compaction does not restore them', async () => {
    const model = workingModel(20)
    const hooks = [hook('beforeCompact', redact)]
    const ran = await run([], { ...runOptions({}), model, hooks }, { prompt: 'the password is hunter2' })
    expect(ran.terminal.reason).toBe('completed')
    const asked = model.requests.findIndex(isQuestion)
    expect(asked).toBeGreaterThan(0)
    for (const request of model.requests.slice(asked)) expect(textShown(request.messages)).not.toContain('hunter2')
    expect(textShown(ran.messages)).toContain('the password is REDACTED')
  })

  test('and frees enough room itself: the run continues after a refusal, and no failure is reported to the person', async () => {
    const shorten = hook('beforeCompact', (context) =>
      context.withState(context.state().withMessages([{ role: 'user', content: 'made short by a hook' }])),
    )
    const model = workingModel(20, { refuses: (request) => request === 5 })
    const ran = await run([], { ...runOptions({}), model, hooks: [shorten] })
    expect(ran.terminal.reason).toBe('completed')
    expect(ran.transitions).toContain('reactive_compact_retry')
    const { transcript } = ran.state
    const by = await run(
      [],
      { ...runOptions({}), model, hooks: [shorten] },
      { compact: { instructions: '' }, transcript, runId: 'run2' },
    )
    expect(by.terminal.reason).toBe('completed')
    expect(by.messages.map(({ content }) => content)).toEqual(['made short by a hook'])
  })

  test('before every turn: summaries of earlier compactions do not become user text', async () => {
    let number = 0
    const model = workingModel(80, { summary: () => `summary ${++number} ${'and so on '.repeat(100)}` })
    const hooks = [hook('beforeStep', redact)]
    const carryOver = () => [{ title: 'a.ts', text: `state ${number}` }]
    const prompt = 'the password is hunter2'
    const ran = await run([], { ...runOptions({ carryOver }), model, hooks }, { prompt })
    expect(ran.terminal.reason).toBe('completed')
    expect(number).toBeGreaterThan(4)
    const all = textShown(ran.messages)
    expect(all.match(/summary \d+ /g)).toEqual([`summary ${number} `])
    expect(all.match(/state \d+/g)).toEqual([`state ${number}`])
    expect(all.split('the password is REDACTED')).toHaveLength(2)
  })
})

describe('a service that refuses without reporting how much fits', () => {
  test('has a far smaller window than we assume, and the run continues', async () => {
    const model = workingModel(30, { window: 8_000, believed: 200_000, refusalDetail: 'nothing' })
    const ran = await run([], { ...runOptions({}), model }, { prompt: 'never touch vendor/' })
    expect(ran.terminal.reason).toBe('completed')
    expect(model.refused.length).toBeGreaterThan(0)
    expect(textShown(ran.messages).split('never touch vendor/')).toHaveLength(2)
  })

  test('and whose window is too small for the user text alone: the run continues with less of it', async () => {
    const model = workingModel(6, { window: 8_000, believed: 200_000, refusalDetail: 'nothing' })
    const userTexts = Array.from({ length: 40 }, (_, index) => `Binding ${index}: ${'never do that '.repeat(60)}`)
    const transcript = Transcript.of(
      userTexts.map((content, index) => ({
        kind: 'user',
        id: `p${index}`,
        origin: 'prompt',
        message: { role: 'user', content },
      })),
    )
    const ran = await run([], { ...runOptions({}), model }, { prompt: 'go on', transcript })
    expect(ran.terminal.reason).toBe('completed')
    expect(textShown(ran.messages)).toContain('Binding 0: never')
  })
})

describe('a summary model that returns no summary', () => {
  test.each([
    ['refuses', { text: 'no', stopReason: 'refusal' }],
    ['says nothing', ''],
    ['is overloaded', { error: { kind: 'overloaded', message: 'busy', status: 529, retryable: true } }],
  ] as const)('%s: the model of the run is asked', async (_name, reply) => {
    const compactModel = windowedModel(() => 'x', { window: 20_000, id: 'small', summary: () => reply })
    const model = workingModel(20, { summary: () => 'SUMMARY OF THE RUN MODEL' })
    const ran = await run([], { ...runOptions({ compactModel }), model })
    expect(ran.terminal.reason).toBe('completed')
    expect(compactModel.requests.length).toBeGreaterThan(0)
    expect(model.requests.filter(isQuestion)).toHaveLength(1)
    expect(textShown(ran.messages)).toContain('SUMMARY OF THE RUN MODEL')
  })
})

describe('summaries made in parallel with turns', () => {
  /** The requests at which a parallel summary was requested. */
  const stagedAt = (model: WindowedModel): readonly string[] => [
    ...new Set(model.requests.flatMap(({ idempotencyKey }) => [...(/stage:\d+/.exec(idempotencyKey) ?? [])])),
  ]

  test('that are unusable are paid for once, and not on every turn', async () => {
    const model = windowedModel(
      (_request, number) => (number < 15 ? calls('look') : number < 25 ? calls('peek') : 'done'),
      {
        window: 20_000,
        summary: () => '',
      },
    )
    const tools = [reader('look', result), reader('peek', 'y')]
    const ran = await run([], { ...runOptions({ collapse: true }), tools, model })
    expect(ran.terminal.reason).toBe('completed')
    expect(stagedAt(model)).toHaveLength(1)
  })

  test('do not wait for a service that is unavailable (R-SERV-9)', async () => {
    const model = windowedModel(
      (_request, number) => (number < 15 ? calls('look') : number < 25 ? calls('peek') : 'done'),
      {
        window: 20_000,
        summary: () => ({ error: { kind: 'rate_limit', message: 'busy', status: 429, retryAfterMs: 60_000 } }),
      },
    )
    const tools = [reader('look', result), reader('peek', 'y')]
    const waiting = { waitForLimitsMs: 3_600_000, maxRetries: 0, clock: createFakeClock({ autoAdvance: true }) }
    const ran = await run([], { ...runOptions({ collapse: true }), tools, model, ...waiting })
    expect([ran.terminal.reason, stagedAt(model).length]).toEqual(['completed', 1])
    expect(ran.events.filter(({ type }) => type.startsWith('service_wait'))).toEqual([])
  })

  test('are neither lost nor paid twice, whenever the process dies', { timeout: 120_000 }, async () => {
    const world = () => {
      const model = workingModel(17)
      const options: RunOptions = { ...runOptions({ collapse: true }), prices, maxBudgetUsd: 5, model }
      return { model, options: { ...options, clock: createFakeClock({ autoAdvance: true }) } }
    }
    const stagedIn = ({ state }: Pick<Run, 'state'>): number =>
      [...state.transcript].filter(({ kind }) => kind === 'collapse_staged').length
    const whole = world()
    const ran = await run([], whole.options)
    expect(stagedIn(ran)).toBe(1)
    const { records } = ran.steps
    for (let length = 1; length < records.length; length++) {
      const { model, options } = world()
      const left = await killedAfter(length, options)
      const resumed = resume(left, options)
      const settled: number[] = []
      for await (const event of resumed.loop) if (event.type === 'figures') settled.push(event.settledUsd)
      const { terminal, state } = await resumed.loop.ended
      expect({
        length,
        reason: terminal.reason,
        staged: stagedIn({ state }),
        // The figures of the run include everything on the ledger. The last request may be on record already.
        isAllOnLedger: Math.abs((settled.at(-1) ?? terminal.committedUsd) - terminal.committedUsd) < 1e-9,
        // Only requests in flight are made again: that of the turn, and that of the parallel summary.
        isPaidOnce: model.requests.length <= whole.model.requests.length + 2,
      }).toEqual({ length, reason: 'completed', staged: 1, isAllOnLedger: true, isPaidOnce: true })
    }
  })

  test.each([
    ['are before the beginning', -3, 4],
    ['are after the end', 3, 4_000],
    ['are reversed', 19, 3],
    ['separate a call from its result', 2, 19],
    ['remove the prompt', 0, 19],
  ])('that were read from a file and %s are left out', async (_name, from, to) => {
    const model = workingModel(12)
    const first = await run([], { ...runOptions({ autoCompact: false }), model }, { prompt: 'never touch vendor/' })
    const staged = { kind: 'collapse_staged', id: 's', from, to, summary: 'wrong', freedTokens: 1 } as const
    const stored: unknown = JSON.parse(JSON.stringify(first.state.transcript.append(staged)))
    const again = workingModel(9)
    const transcript = Transcript.fromJSON(stored)
    const ran = await run(
      [],
      { ...runOptions({ collapse: true }), model: again },
      { prompt: 'go on', transcript, runId: 'run2' },
    )
    expect(ran.terminal.reason).toBe('completed')
    expect(textShown(ran.messages)).not.toContain('wrong')
    expect(textShown(ran.messages).split('never touch vendor/')).toHaveLength(2)
    // It made room before a request, and not after a refusal.
    expect(again.refused).toEqual([])
  })
})

describe('a request for a summary', () => {
  test("has the prefix of the run's requests, so that the cache hits; a model that calls a tool instead is asked once more without tools", async () => {
    const model = scriptedModel(
      ({ messages, toolChoice }) => {
        const isSummary = JSON.stringify(messages.at(-1)?.content).includes('about to be replaced by a summary')
        if (isSummary) return toolChoice === 'none' ? 'a summary' : { toolCalls: [{ name: 'Look' }] }
        return messages.length > 1 ? 'done' : { toolCalls: [{ name: 'Look' }] }
      },
      { contextWindow: 8_000, maxOutputTokens: 1_000 },
    )
    const ran = await run(
      [],
      {
        model,
        tools: [reader('Look', 'x'.repeat(40_000))],
        context: contextLayers({ collapse: false, clearResults: false }),
      },
      { prompt: `go ${'on '.repeat(800)}` },
    )
    const asked = model.requests.filter(isQuestion)
    expect([ran.terminal.reason, ran.state.spent.compactions]).toEqual(['completed', 1])
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual([undefined, 'none'])
    expect(JSON.stringify(ran.state.transcript.toJSON())).toContain('a summary')
  })
})
