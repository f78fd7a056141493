// Tests R-CTX-2a, R-CTX-4, R-CTX-9, R-CTX-10, R-CTX-15, R-CTX-17, R-CTX-18: hooks, limits and sessions around a compaction.
import { describe, expect, test } from 'vitest'
import { contextLayers, type ContextLayersOptions } from '../../src/context/layers.ts'
import {
  resume,
  StopSignal,
  Transcript,
  type HookContext,
  type RunOptions,
  type StartOptions,
} from '../../src/index.ts'
import { textOf } from '../../src/model/messages.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { begin, calls, failures, hook, reader, run, loopMessages, type Run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'
import { engineOf, resultOf } from '../support/engine.ts'
import { isQuestion, windowedModel, type WindowOptions } from '../support/windowed-model.ts'
import type { SdkMessage } from '../../src/index.ts'

const result = 'x'.repeat(4_000)

interface TestOptions {
  readonly layers?: ContextLayersOptions
  readonly window?: Partial<WindowOptions>
  /** Calls before the answer. */
  readonly calls?: number
  readonly options?: Partial<RunOptions>
  readonly start?: StartOptions
  /** The length of each result, in characters. */
  readonly length?: number
}

function world({ layers, window, calls: wanted = 20, options, length }: TestOptions = {}) {
  const model = windowedModel((_request, number) => (number <= wanted ? calls('Look') : 'done'), {
    window: 20_000,
    ...window,
  })
  return {
    model,
    options: {
      model,
      tools: [reader('Look', () => (length === undefined ? result : 'x'.repeat(length)))],
      context: contextLayers({ collapse: false, clearResults: false, ...layers }),
      ...options,
    },
  }
}

async function runIn(overrides: TestOptions = {}) {
  const { model, options } = world(overrides)
  const ran = await run([], { ...options, clock: createFakeClock({ autoAdvance: true }) }, overrides.start)
  expect(model.problems).toEqual([])
  const questions = model.requests.filter(isQuestion)
  return { ...ran, model, questions, asked: model.requests.filter((request) => !isQuestion(request)) }
}

const compacted = ({ events }: Pick<Run, 'events'>): readonly (readonly [string, boolean])[] =>
  events.flatMap((event) => (event.type === 'compact_end' ? [[event.trigger, event.compacted] as const] : []))

const stopSignal = () => new StopSignal({ reason: 'user_requested', message: 'enough', source: 'test' })

describe('hooks around a compaction', () => {
  const withSignal = (context: HookContext): HookContext =>
    context.withState(context.state().withStopSignal(stopSignal()))

  test('beforeCompact may instruct the summary, and afterCompact receives its text', async () => {
    const seen: unknown[] = []
    const hooks = [
      hook('beforeCompact', (context) => {
        seen.push(['before', context.compaction])
        return context.withState(context.state().withUserMessage('Keep the port numbers.'))
      }),
      hook('afterCompact', (context) => void seen.push(['after', context.compaction])),
    ]
    const { questions, terminal, state } = await runIn({ options: { hooks } })
    expect(terminal.reason).toBe('completed')
    expect(seen).toEqual([
      ['before', { trigger: 'auto', instructions: '' }],
      ['after', { trigger: 'auto', instructions: '', summary: 'A summary.' }],
    ])
    expect(textOf(questions[0]?.messages.at(-1)?.content ?? '')).toContain('Keep the port numbers.')
    // Instructions for the summary are not part of the conversation.
    expect(loopMessages({ state })).toEqual([])
  })

  test('beforeCompact may skip each automatic compaction, but not a compaction after a 413', async () => {
    const hooks = [hook('beforeCompact', (context) => context.withBlocked('not now'))]
    const ran = await runIn({ options: { hooks } })
    expect(ran.terminal.reason).toBe('completed')
    expect(compacted(ran).filter(([trigger, done]) => trigger === 'auto' && done)).toEqual([])
    expect(compacted(ran)).toContainEqual(['reactive', true])
    // The skipped compaction made no request.
    expect(ran.questions).toHaveLength(1)
  })

  test('a signal of beforeCompact ends the run before anything is paid', async () => {
    const { terminal, questions } = await runIn({ options: { hooks: [hook('beforeCompact', withSignal)] } })
    expect([terminal.reason, terminal.signal.message, questions.length]).toEqual(['user_requested', 'enough', 0])
  })

  test('a signal of afterCompact ends the run, with the compacted conversation', async () => {
    const { terminal, questions, state } = await runIn({ options: { hooks: [hook('afterCompact', withSignal)] } })
    expect([terminal.reason, terminal.signal.message, questions.length]).toEqual(['user_requested', 'enough', 1])
    expect(state.transcript.at(-1)?.kind).not.toBe('user')
    expect([...state.transcript].some(({ kind }) => kind === 'compact_boundary')).toBe(true)
  })

  test('a transcript replaced by beforeCompact is shown as replaced, since the compaction was of another one', async () => {
    let left = 1
    const hooks = [
      hook('beforeCompact', (context) =>
        left-- > 0
          ? context.withState(context.state().withMessages([{ role: 'user', content: 'All that matters.' }]))
          : context,
      ),
    ]
    const { terminal, questions, asked } = await runIn({ options: { hooks }, calls: 17 })
    expect([terminal.reason, questions.length]).toEqual(['completed', 0])
    expect(asked.find(({ messages }) => messages[0]?.content === 'All that matters.')?.messages).toHaveLength(1)
  })

  test.each(['beforeCompact', 'afterCompact'] as const)('an abort in %s ends the run as aborted', async (trigger) => {
    const { options } = world()
    const going = begin([], {
      ...options,
      graceMs: 0,
      hooks: [hook(trigger, () => (going.loop.abort('user'), new Promise(() => {})))],
    } as never)
    const { terminal } = await going.end()
    expect(terminal.reason).toBe('aborted_streaming')
  })

  test('an abort while the model writes the summary ends the run as aborted, with the conversation unchanged', async () => {
    const { options, model } = world({
      window: { summary: () => ({ text: 'half', before: () => (going.loop.abort('user'), new Promise(() => {})) }) },
    })
    const going = begin([], { ...options, graceMs: 0 } as never)
    const ran = await going.end()
    expect([ran.terminal.reason, model.problems]).toEqual(['aborted_streaming', []])
    expect([...ran.state.transcript].some(({ kind }) => kind === 'compact_boundary')).toBe(false)
    const next = await runIn({ calls: 0, start: { prompt: 'go on', transcript: ran.state.transcript } })
    expect(next.terminal.reason).toBe('completed')
  })

  test('runs failure hooks and no stop hooks after a prompt_too_long failure', async () => {
    const failed: unknown[] = []
    const stopped: string[] = []
    const { terminal, state, events } = await runIn({
      window: { refuses: (number) => number >= 12 },
      options: {
        hooks: [
          hook('onError', ({ error }) => void failed.push(error?.name)),
          hook('onStop', () => void stopped.push('onStop')),
        ],
        stopHooks: [{ id: 'check', handle: () => void stopped.push('stop hook') }],
      },
    })
    expect(terminal.reason).toBe('prompt_too_long')
    expect(failed).toEqual(['prompt_too_long'])
    expect(stopped).toEqual([])
    expect(failures({ state })).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'run_end')).toHaveLength(1)
  })
})

describe('thrash', () => {
  test('ends the run after three compactions in a row with a turn between them, and the next run continues', async () => {
    // The content that each compaction preserves exceeds the threshold again with the next call, whose input alone is larger.
    const huge = { name: 'Look', input: { of: 'y'.repeat(70_000) } }
    const model = windowedModel((_request, number) => (number < 20 ? calls(huge) : 'done'), {
      window: 40_000,
      believed: 20_000,
    })
    const options = { model, tools: [reader('Look', () => 'ok')], context: contextLayers({ collapse: false }) }
    const ran = await run([], { ...options, clock: createFakeClock({ autoAdvance: true }) })
    expect(ran.terminal.reason).toBe('compaction_thrash')
    expect(ran.terminal.signal.message).toContain('3 times in a row')
    expect(compacted(ran).length).toBeLessThanOrEqual(4)
    expect(ran.state.spent.compactions).toBe(3)
    const next = await runIn({ calls: 2, start: { prompt: 'Ask for less.', transcript: ran.state.transcript } })
    expect(next.terminal.reason).toBe('completed')
  })

  test.each([
    ['The system prompt', { options: { system: 'z'.repeat(80_000) } }],
    ['The only tool', { options: { tools: [{ ...reader('Look'), description: 'z'.repeat(80_000) }] } }],
    ['The message', { start: { prompt: 'z'.repeat(80_000) } }],
    ['The message', { start: { prompt: [{ type: 'text', text: 'z'.repeat(80_000) }] } }],
  ] as const)('names a fixed part that does not fit alone: %s', async (part, testOptions) => {
    const { terminal, model } = await runIn(testOptions)
    expect(terminal.reason).toBe('compaction_thrash')
    expect(terminal.signal.message).toMatch(new RegExp(`^${part} alone (?:is|are) too large: `))
    expect(model.requests).toEqual([])
  })

  test('continues in the next run when the oversized message is sent in a shorter form', async () => {
    const { state } = await runIn({ start: { prompt: 'z'.repeat(80_000) } })
    const next = await runIn({ calls: 2, start: { prompt: 'It is in the file a.txt.', transcript: state.transcript } })
    expect(next.terminal.reason).toBe('completed')
    expect(next.asked.length).toBe(3)
  })
})

describe('what the loop learns from a refusal', () => {
  test('uses M as the window and the ratio of the count from then on: the same run is refused once', async () => {
    const { terminal, model, state } = await runIn({
      window: { believed: 200_000, window: 20_000, factor: 1.4 },
      calls: 60,
    })
    expect(terminal.reason).toBe('completed')
    expect(model.refused).toHaveLength(1)
    expect(state.spent.windows).toEqual({ scripted: 20_000 })
    expect(state.spent.tokenRatio).toBeGreaterThan(1.2)
  })

  test('also in the next run of an engine', async () => {
    const { model, options } = world({ window: { believed: 200_000, window: 20_000, factor: 1.4 }, calls: 20 })
    const { engine } = engineOf([], options)
    const prompt = async (text: string): Promise<string> => {
      const messages: SdkMessage[] = []
      for await (const message of engine.submit(text)) messages.push(message)
      return resultOf(messages).subtype
    }
    expect(await prompt('first')).toBe('success')
    expect(model.refused).toHaveLength(1)
    expect(await prompt('second')).toBe('success')
    expect(await prompt('third')).toBe('success')
    expect(model.refused).toHaveLength(1)
    expect(model.problems).toEqual([])
  })

  test('is refused again by a service that reports nothing, and each time makes room', async () => {
    const { terminal, model } = await runIn({
      window: { believed: 200_000, window: 20_000, factor: 1.4, refusalDetail: 'nothing' },
      calls: 60,
    })
    expect(terminal.reason).toBe('completed')
    expect(model.refused.length).toBeGreaterThan(1)
  })
})

describe('the output cap with the layers in place', () => {
  test('is raised once, then the model is asked to continue three times, and the text so far stays', async () => {
    const { model, options } = world({ window: { defaultOutputTokens: 500 } })
    const cut = windowedModel((_request, number) => ({ text: `part ${number}`, stopReason: 'max_tokens' }), {
      window: 20_000,
      defaultOutputTokens: 500,
    })
    const ran = await run([], { ...options, model: cut, clock: createFakeClock({ autoAdvance: true }) })
    expect(model.requests).toEqual([])
    expect(ran.terminal.reason).toBe('max_output_tokens')
    expect(ran.transitions).toEqual([
      'max_output_tokens_escalate',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
    ])
    expect(cut.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([500, 2_000, 2_000, 2_000, 2_000])
    const replies = ran.messages.filter(({ role }) => role === 'assistant').map(({ content }) => textOf(content))
    expect(replies).toEqual(['part 2', 'part 3', 'part 4', 'part 5'])
  })
})

describe('a compaction that a person requests', () => {
  const all = async (messages: AsyncIterable<SdkMessage>): Promise<SdkMessage[]> => {
    const list: SdkMessage[] = []
    for await (const message of messages) list.push(message)
    return list
  }

  test.each(['engine.compact', '/compact'] as const)(
    '%s: uses the instructions, has a result, and the session continues',
    async (way) => {
      const { model, options } = world({ calls: 5 })
      const { engine } = engineOf([], options)
      await all(engine.submit('first'))
      const before = engine.transcript.messages().length
      const messages = await all(
        way === '/compact' ? engine.submit('/compact keep the ports') : engine.compact(' keep the ports '),
      )
      expect(resultOf(messages)).toMatchObject({ subtype: 'success', is_error: false, num_turns: 0 })
      const question = model.requests.find(isQuestion)
      expect(textOf(question?.messages.at(-1)?.content ?? '')).toMatch(
        /Additional instructions from the user:\nkeep the ports$/,
      )
      expect(engine.transcript.messages().length).toBeLessThan(before)
      expect(messages.some((message) => message.type === 'system' && message.subtype === 'compact_boundary')).toBe(true)
      expect(resultOf(await all(engine.submit('second'))).subtype).toBe('success')
      expect(model.problems).toEqual([])
    },
  )

  test('with nothing to compact says so, asks no model, and the session continues', async () => {
    const { model, options } = world({ calls: 0 })
    const { engine } = engineOf([], options)
    await all(engine.submit('first'))
    const requestCount = model.requests.length
    const messages = await all(engine.compact())
    expect(resultOf(messages)).toMatchObject({ subtype: 'success', is_error: false, num_turns: 0 })
    expect(messages).toContainEqual(
      expect.objectContaining({ subtype: 'informational', message: 'There is nothing to compact yet.' }),
    )
    expect(model.requests.length).toBe(requestCount)
    expect(resultOf(await all(engine.submit('second'))).subtype).toBe('success')
  })

  test('before any message is rejected', async () => {
    const { engine } = engineOf([], world().options)
    await expect(all(engine.compact())).rejects.toThrow(/no conversation to compact/)
  })

  test('with pending calls is rejected, and they stay pending', async () => {
    const { options } = world({ calls: 1 })
    const { engine } = engineOf([], {
      ...options,
      tools: [{ ...reader('Look', () => result), readOnly: false }],
      permissions: { decide: () => ({ behavior: 'ask', message: 'May I?' }), denies: () => undefined },
    } as never)
    const first = await all(engine.submit('first'))
    expect(engine.lastTerminal?.reason).toBe('needs_approval')
    expect(resultOf(first).subtype).not.toBe('success')
    await expect(all(engine.compact())).rejects.toThrow(/wait/)
    expect(resultOf(await all(engine.approve({ call_0_0: { behavior: 'allow' } }))).subtype).toBe('success')
  })
})

describe('a requested compaction that is killed after each record', () => {
  test('is resumed to the same end, and paid once', async () => {
    const { state } = await runIn({ calls: 8 })
    const before = state.transcript
    const start = { transcript: before, compact: { instructions: 'the ports' } }
    const { options: wholeOptions } = world()
    const completeRun = await run([], { ...wholeOptions, clock: createFakeClock({ autoAdvance: true }) }, start)
    expect([completeRun.terminal.reason, completeRun.state.spent.compactions]).toEqual(['completed', 1])
    const { records } = completeRun.steps
    expect(records.length).toBeGreaterThan(3)
    for (let length = 1; length < records.length; length++) {
      const { model, options } = world()
      const left = await killedAfter(length, { ...options, clock: createFakeClock({ autoAdvance: true }) }, start)
      const wasAnswered = left.some((record) => record.type === 'result' && record.key.includes('compact:'))
      const requestCount = model.requests.length
      const ended = await resume(left, { ...options, clock: createFakeClock({ autoAdvance: true }) }, before).loop.ended
      expect([length, ended.terminal.reason, ended.state.spent.compactions]).toEqual([length, 'completed', 1])
      expect(model.requests.length - requestCount).toBe(wasAnswered ? 0 : 1)
      expect(JSON.stringify(ended.state.transcript.messages())).toBe(JSON.stringify(completeRun.messages))
    }
  })
})

describe('a session that was compacted', () => {
  test('read from a file is the same for the next run', async () => {
    const { state } = await runIn()
    const read = Transcript.fromJSON(JSON.parse(JSON.stringify(state.transcript)) as unknown)
    const [one, other] = [
      await runIn({ start: { prompt: 'on', transcript: state.transcript }, calls: 20 }),
      await runIn({ start: { prompt: 'on', transcript: read }, calls: 20 }),
    ]
    expect(JSON.stringify(other.model.requests)).toBe(JSON.stringify(one.model.requests))
  })
})
