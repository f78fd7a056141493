// Tests R-LAP-1, R-LAP-3, R-REQ-4 to R-REQ-9, R-CTX-4.
import { describe, expect, test } from 'vitest'
import { plainContext, type Compaction } from '../../src/entries/adapters.ts'
import type { ContextManager, IterationReason } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { tinyImage } from '../support/images.ts'
import { calls, failures, reader, run, loopMessages, tool } from '../support/harness.ts'

const tools = [reader('Look')]
const times = (count: number, transition: IterationReason): IterationReason[] =>
  Array.from({ length: count }, () => transition)
const cut: ScriptedReply = { text: 'part', stopReason: 'max_tokens' }
const tooLong: ScriptedReply = { error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }

describe('transition: structured_output_retry', () => {
  const output = {
    check: (answer: string) =>
      answer === '{}' ? { fits: true as const, value: {} } : { fits: false as const, message: 'no' },
  }

  test('is taken 5 times, then structured_output_retry_exhausted', async () => {
    const { transitions, terminal } = await run(() => 'x', { output })
    expect([transitions, terminal.reason]).toEqual([
      times(5, 'structured_output_retry'),
      'structured_output_retry_exhausted',
    ])
  })

  test('ends when the answer fits', async () => {
    const { transitions, terminal } = await run(['x', '{}'], { output })
    expect([transitions, terminal.reason]).toEqual([['structured_output_retry'], 'completed'])
  })

  test('is refilled by a spent turn', async () => {
    const { transitions } = await run((_request, index) => (index === 5 ? calls('Look') : 'x'), { output, tools })
    expect(transitions).toEqual([
      ...times(5, 'structured_output_retry'),
      'next_turn',
      ...times(5, 'structured_output_retry'),
    ])
  })
})

describe('transition: pause_turn', () => {
  const paused: ScriptedReply = { text: 'searching', stopReason: 'pause_turn' }

  test('sends the reply back as it is 8 times, then model_error', async () => {
    const { transitions, terminal, model, state } = await run(() => paused)
    expect([transitions, terminal.reason, model.requests.length]).toEqual([times(8, 'pause_turn'), 'model_error', 9])
    expect(loopMessages({ state })).toEqual([])
    expect(model.requests[1]?.messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'text', text: 'searching' }], by: 'scripted' },
    ])
    expect(terminal.summary.turns).toBe(1)
  })

  test('is refilled by a spent turn', async () => {
    const { transitions } = await run((_request, index) => (index === 8 ? calls('Look') : paused), { tools })
    expect(transitions).toEqual([...times(8, 'pause_turn'), 'next_turn', ...times(8, 'pause_turn')])
  })
})

describe('transition: max_output_tokens_escalate', () => {
  test('repeats the request once a run at the highest cap, and withholds the cut reply', async () => {
    const model = scriptedModel([cut, 'whole'], { maxOutputTokens: 100, defaultOutputTokens: 50 })
    const { transitions, terminal, messages } = await run([], { model })
    expect([transitions, terminal.reason]).toEqual([['max_output_tokens_escalate'], 'completed'])
    expect(model.requests.map(({ maxOutputTokens, messages: { length } }) => [maxOutputTokens, length])).toEqual([
      [50, 1],
      [100, 1],
    ])
    expect(messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'text', text: 'whole' }], by: 'scripted' },
    ])
  })

  test('is used up by one, then recovery; a spent turn does not refill it', async () => {
    const model = scriptedModel((_request, index) => (index === 2 ? calls('Look') : index < 4 ? cut : 'end'), {
      maxOutputTokens: 100,
      defaultOutputTokens: 50,
    })
    const { transitions, terminal } = await run([], { model, tools })
    expect([transitions, terminal.reason]).toEqual([
      ['max_output_tokens_escalate', 'max_output_tokens_recovery', 'next_turn', 'max_output_tokens_recovery'],
      'completed',
    ])
    expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([50, 100, 100, 100, 100])
  })
})

describe('transition: max_output_tokens_recovery', () => {
  test('resumes 3 times at the escalated cap, then max_output_tokens', async () => {
    const { transitions, terminal, messages } = await run(() => cut)
    expect([transitions, terminal.reason]).toEqual([times(3, 'max_output_tokens_recovery'), 'max_output_tokens'])
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  test('is refilled by a spent turn', async () => {
    const { transitions } = await run((_request, index) => (index === 3 ? calls('Look') : cut), { tools })
    expect(transitions).toEqual([
      ...times(3, 'max_output_tokens_recovery'),
      'next_turn',
      ...times(3, 'max_output_tokens_recovery'),
    ])
  })

  test('does not happen when the truncated reply contains a complete call: the call runs', async () => {
    const { transitions } = await run([{ ...calls('Look'), stopReason: 'max_tokens' }, 'end'], { tools })
    expect(transitions).toEqual(['next_turn'])
  })
})

describe('transition: model_fallback', () => {
  const overloaded: ScriptedReply = { error: { kind: 'overloaded', message: 'Overloaded', status: 529 } }

  test('is taken once a run, after three overloads in a row; then the fallback model answers', async () => {
    const fallbackModel = scriptedModel([calls('Look'), 'answer'], { id: 'fallback' })
    const { transitions, terminal, model } = await run(() => overloaded, { fallbackModel, tools })
    expect([transitions, terminal.reason, model.requests.length, fallbackModel.requests.length]).toEqual([
      ['model_fallback', 'next_turn'],
      'completed',
      3,
      2,
    ])
  })

  test('ignores the count of the first model: another one counts in its own tokens', async () => {
    const estimates: unknown[] = []
    const context: ContextManager = {
      ...plainContext,
      beforeRequest: ({ model, estimatedTokens }) => void estimates.push([model.id, estimatedTokens]),
    }
    const tokens = { estimate: () => 7 }
    const counted: ScriptedReply = { ...calls('Look'), usage: { input_tokens: 50_000, output_tokens: 20 } }
    const model = scriptedModel((_request, index) => (index === 0 ? counted : overloaded))
    const fallbackModel = scriptedModel(['answer'], { id: 'fallback' })
    await run([], { model, fallbackModel, tools, context, tokens })
    // 7 for each text, 4 around a message and 8 around a result.
    const [fixed, prompt, call, result] = [7 + 7, 4 + 7, 4 + 7, 4 + 8 + 7]
    expect(estimates).toEqual([
      ['scripted', fixed + prompt],
      ['scripted', 50_000 + 20 + result],
      ['fallback', fixed + prompt + call + result],
    ])
  })

  test('is used up by one, then model_error', async () => {
    const fallbackModel = scriptedModel(() => overloaded, { id: 'fallback' })
    const { transitions, terminal, model } = await run(() => overloaded, { fallbackModel, maxRetries: 4 })
    expect([transitions, terminal.reason, terminal.signal.reason]).toEqual([
      ['model_fallback'],
      'model_error',
      'retry_limit',
    ])
    expect([model.requests.length, fallbackModel.requests.length]).toEqual([3, 5])
  })

  test('is not taken when the overloads are not in a row, or without a fallback model', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index === 2 ? { error: { kind: 'server_error', message: 'x', status: 500 } } : index < 5 ? overloaded : 'answer'
    const fallbackModel = scriptedModel([], { id: 'fallback' })
    expect((await run(script, { fallbackModel })).transitions).toEqual([])
    expect((await run((_request, index) => (index < 4 ? overloaded : 'answer'))).transitions).toEqual([])
  })
})

describe('transition: media_recovery', () => {
  const refused: ScriptedReply = { error: { kind: 'image', message: 'too large', status: 400 } }
  const image = tinyImage
  const prompt = [image, { type: 'text', text: 'what is this?' } as const]
  const note = { type: 'text', text: '[An image was removed here: the service rejected it (too large).]' }

  test('puts a note in the place of the image, once, then image_error', async () => {
    const { transitions, terminal, model } = await run(() => refused, {}, { prompt })
    expect([transitions, terminal.reason, model.requests.length]).toEqual([['media_recovery'], 'image_error', 2])
    expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: [note, prompt[1]] }])
  })

  test('is refilled by a spent turn', async () => {
    const camera = tool('Look', () => ({ content: [image] }), { readOnly: true })
    const script = (_request: unknown, index: number): ScriptedReply =>
      index === 1 ? calls('Look') : index === 3 ? 'a wall' : refused
    const { transitions, terminal, messages } = await run(script, { tools: [camera] }, { prompt })
    expect([transitions, terminal.reason]).toEqual([['media_recovery', 'next_turn', 'media_recovery'], 'completed'])
    expect(messages[2]).toEqual({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'call_1_0', content: [note] }],
    })
  })

  test('is not taken when no image is left to remove: the ending reports the refusal, and no removal', async () => {
    const ended = await run(() => refused)
    const { transitions, terminal, events, state } = ended
    expect([transitions, terminal.reason, terminal.signal.message]).toEqual([[], 'image_error', 'too large'])
    expect(events.flatMap((event) => (event.type === 'message' ? [event.entry] : []))).toEqual([...state.transcript])
    expect([...state.transcript].map(({ kind }) => kind)).toEqual(['user', 'assistant'])
    expect(failures(ended)).toEqual([['invalid_request', 'too large']])
  })

  test('reports no removal when none is made: the events match the transcript', async () => {
    const { events, state } = await run(() => refused)
    const entries = events.flatMap((event) => (event.type === 'message' ? [event.entry] : []))
    expect(entries).toEqual(state.transcript.toJSON())
    expect(entries.map(({ kind }) => kind)).toEqual(['user', 'assistant'])
  })
})

describe('transition: collapse_drain_retry and reactive_compact_retry', () => {
  const compaction = (trigger: Compaction['trigger'], text: string): Compaction => ({
    trigger,
    run: () =>
      Promise.resolve({
        kind: 'compacted',
        messages: [{ role: 'user', content: text }],
        preTokens: 100,
        postTokens: 10,
      }),
  })
  const defence = (layers: Partial<ContextManager>): ContextManager => ({
    ...plainContext,
    blockingLimit: () => Infinity,
    ...layers,
  })
  const drain = () => compaction('collapse', 'drained')
  const compact = () => compaction('reactive', 'compacted')

  test('drains first, then compacts, each once, then prompt_too_long', async () => {
    const { transitions, terminal, model } = await run(() => tooLong, { context: defence({ drain, compact }) })
    expect([transitions, terminal.reason]).toEqual([
      ['collapse_drain_retry', 'reactive_compact_retry'],
      'prompt_too_long',
    ])
    expect(model.requests.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['go'],
      ['drained'],
      ['compacted'],
    ])
    expect(terminal.summary.compacted).toBe(true)
  })

  test('compacts at once when there is nothing to drain', async () => {
    const { transitions } = await run(() => tooLong, { context: defence({ compact }) })
    expect(transitions).toEqual(['reactive_compact_retry'])
  })

  test('does not continue after a compaction that gives up', async () => {
    const gaveUp: Compaction = {
      trigger: 'reactive',
      run: () => Promise.resolve({ kind: 'gave_up', message: 'nothing to drop' }),
    }
    const { transitions, terminal, events } = await run(() => tooLong, { context: defence({ compact: () => gaveUp }) })
    expect([transitions, terminal.reason]).toEqual([[], 'prompt_too_long'])
    expect(events.filter(({ type }) => type === 'compact_end')).toEqual([
      { type: 'compact_end', trigger: 'reactive', compacted: false, message: 'nothing to drop' },
    ])
  })

  test('includes the time of compactions that gave up in durationMs', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const gaveUp = (trigger: Compaction['trigger'], ms: number): Compaction => ({
      trigger,
      run: () =>
        new Promise((resolve) => {
          clock.after(ms, () => resolve({ kind: 'gave_up', message: 'nothing to drop' }))
        }),
    })
    const layers = { drain: () => gaveUp('collapse', 700), compact: () => gaveUp('reactive', 30) }
    const { terminal, transitions } = await run(() => tooLong, { clock, context: defence(layers) })
    expect([transitions, terminal.reason, terminal.durationMs]).toEqual([[], 'prompt_too_long', 730])
  })

  test('are refilled by a spent turn', async () => {
    const { transitions } = await run((_request, index) => (index === 2 ? calls('Look') : tooLong), {
      tools,
      context: defence({ drain, compact }),
    })
    expect(transitions).toEqual([
      'collapse_drain_retry',
      'reactive_compact_retry',
      'next_turn',
      'collapse_drain_retry',
      'reactive_compact_retry',
    ])
  })

  test('handles a window that filled while the model wrote in the same way', async () => {
    const { transitions, terminal } = await run(
      (_request, index) => (index === 0 ? { text: 'half', stopReason: 'model_context_window_exceeded' } : 'answer'),
      {
        context: defence({ compact }),
      },
    )
    expect([transitions, terminal.reason]).toEqual([['reactive_compact_retry'], 'completed'])
  })
})
