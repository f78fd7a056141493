// Tests R-HOOK-11 and R-HOOK-12: a hook may replace what the model is shown.
import { describe, expect, test } from 'vitest'
import {
  AgentState,
  ConfigurationError,
  replay,
  resume,
  type HookContext,
  type HookTrigger,
  type ModelMessage,
  type StepRecord,
  type TranscriptEntry,
} from '../../src/index.ts'
import { StepsLimitHook } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  hook,
  json,
  reader,
  resultTexts,
  run,
  loopMessages,
  until,
  type Run,
} from '../support/harness.ts'

const user = (content: string): ModelMessage => ({ role: 'user', content })
const summary = [user('So far: nothing.')]
const tools = [reader('Look')]
const promptsOf = ({ model }: Pick<Run, 'model'>) => model.requests.map(({ messages }) => messages)
const boundaries = ({ state }: Pick<Run, 'state'>) =>
  [...state.transcript].filter((entry) => entry.kind === 'compact_boundary')
const errors = ({ events }: Pick<Run, 'events'>) =>
  events.flatMap((event) =>
    event.type === 'hook_end' && event.outcome.error !== undefined ? [event.outcome.error] : [],
  )

/** Changes the state once, where it is called first. */
const once = (trigger: HookTrigger, change: (state: AgentState) => AgentState) => {
  let left = 1
  return hook(trigger, (context) => (left-- > 0 ? context.withState(change(context.state())) : context))
}

describe('a hook that summarizes and continues', () => {
  const summarizing = () =>
    hook(
      'onStop',
      (context: HookContext) => {
        const state = context.state()
        if (state.execution()?.continuation().stopSignals().highest()?.reason !== 'steps_limit') return context
        return context.withState(state.withMessages(summary).withExecutionContinued())
      },
      { id: 'summarize' },
    )

  test('shows the model the summary, and keeps the whole conversation on record', async () => {
    const options = { tools, stopWhen: new StepsLimitHook(2), hooks: [summarizing()] }
    const result = await run([calls('Look'), calls('Look'), 'answer'], options)
    expect([result.terminal.reason, result.transitions, result.terminal.summary.compacted]).toEqual([
      'completed',
      ['next_turn', 'continuation_requested'],
      true,
    ])
    expect([promptsOf(result)[2], result.messages]).toEqual([
      summary,
      [...summary, { role: 'assistant', content: [{ type: 'text', text: 'answer' }], by: 'scripted' }],
    ])
    expect(resultTexts(result)).toEqual(['read', 'read'])
    expect(boundaries(result)).toEqual([
      {
        kind: 'compact_boundary',
        id: 'run1/compact:5',
        messages: summary,
        trigger: 'hook',
        preTokens: expect.any(Number),
        postTokens: 8,
      },
    ])
    const entries = result.events.flatMap((event) => (event.type === 'message' ? [event.entry] : []))
    expect(entries).toEqual([...result.state.transcript])
  })

  test('has the same result in a resume and in a replay, and is not called again', async () => {
    const options = () => ({ clock: createFakeClock({ autoAdvance: true }), tools, stopWhen: new StepsLimitHook(1) })
    const going = begin([calls('Look'), { hang: true }], { ...options(), hooks: [summarizing()] })
    await until(() => going.model.requests.length === 2)
    const records = json(going.steps.records) as unknown as StepRecord[]
    going.loop.abort()
    const whole = await going.end()
    const never = hook('onStop', () => expect.unreachable(), { id: 'summarize' })
    const model = scriptedModel(['answer'])
    const { state, terminal } = await resume(records, { ...options(), model, hooks: [never] }).loop.ended
    expect([terminal.reason, boundaries({ state }).length, promptsOf({ model })]).toEqual(['completed', 1, [summary]])
    const replayed = await replay(going.steps.records, { ...options(), model: going.model, hooks: [never] })
    expect(json(replayed.terminal)).toEqual(json(whole.terminal))
  })
})

describe('a replaced transcript takes effect', () => {
  const textOf = (list: readonly ModelMessage[] | undefined) =>
    list?.map(({ content }) => (typeof content === 'string' ? content : content.map(({ type }) => type).join()))

  test.each<[string, (state: AgentState) => AgentState, readonly string[]]>([
    ['new messages', (state) => state.withMessages([user('x')]), ['x']],
    ['new messages, and one more', (state) => state.withMessages([user('x')]).withUserMessage('y'), ['x', 'y']],
    ['a boundary', (state) => state.withEntry({ kind: 'compact_boundary', id: 'c', messages: [user('x')], trigger: 'manual', preTokens: 0, postTokens: 0 }), ['x']], // prettier-ignore
    ['a shorter transcript', (state) => withTranscript(state, state.transcript.since(0).slice(0, 1)), ['go']],
    ['a transcript of its own', (state) => withTranscript(state, [{ kind: 'user', id: 'mine', message: { role: 'user', content: 'x' }, origin: 'prompt' }]), ['x']], // prettier-ignore
    ['a changed entry', (state) => withTranscript(state, state.transcript.since(0).map((entry, index) => (index === 0 ? { kind: 'user', id: entry.id, message: { role: 'user', content: 'redacted' }, origin: 'prompt' } : entry))), ['redacted', 'tool_use', 'tool_result']], // prettier-ignore
    ['removed media', (state) => state.withUserMessage([{ type: 'image', source: { type: 'url', url: 'u' } }]).withEntry({ kind: 'media_removed', id: 'm', note: 'gone' }), ['go', 'tool_use', 'tool_result', 'text']], // prettier-ignore
    ['a message of the model', (state) => state.withEntry({ kind: 'assistant', id: 'a', message: { role: 'assistant', id: 'a', model: 'm', content: [{ type: 'text', text: 'hm' }], stop_reason: null, usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } } }).withUserMessage('x'), ['go', 'tool_use', 'tool_result', 'text', 'x']], // prettier-ignore
  ])('%s, in the next request', async (_what, change, next) => {
    const result = await run([calls('Look'), 'answer'], { tools, hooks: [once('afterStep', change)] })
    expect([result.terminal.reason, textOf(promptsOf(result)[1]), errors(result)]).toEqual(['completed', next, []])
  })

  test('unless it is the same state, read back from JSON', async () => {
    const result = await run([calls('Look'), 'answer'], {
      tools,
      stopWhen: new StepsLimitHook(1),
      hooks: [once('afterStep', (state) => AgentState.fromJSON(json(state)).withUserMessage('more'))],
    })
    expect([boundaries(result), loopMessages(result)]).toEqual([[], [['hook', 'more']]])
    expect(result.terminal.signals.toString()).toBe('steps_limit: Step limit reached: 1/1')
  })

  test('in the order of the hooks: the next one sees it, and earlier messages are not lost', async () => {
    const seen: unknown[] = []
    const result = await run(['answer'], {
      hooks: [
        hook('beforeStep', (context) => context.withState(context.state().withUserMessage('first'))),
        hook('beforeStep', (context) => context.withState(context.state().withMessages(summary))),
        hook('beforeStep', (context) => void seen.push([...context.state().messages()])),
      ],
    })
    expect([seen, promptsOf(result)]).toEqual([[summary], [[...summary, user('first')]]])
  })

  test('after the run, for the next one', async () => {
    const result = await run(['answer'], { hooks: [once('afterExecution', (state) => state.withMessages(summary))] })
    expect([result.terminal.reason, result.messages]).toEqual(['completed', summary])
  })

  test('except notes for people, which are emitted and not shown to the model', async () => {
    const note = { type: 'informational', message: 'tidied' } as const
    const attach = (state: AgentState) => state.withEntry({ kind: 'attachment', id: 'n', attachment: note })
    const result = await run([calls('Look'), 'answer'], {
      tools,
      hooks: [once('beforeToolUse', attach), once('afterStep', (state) => attach(state).withMessages(summary))],
    })
    const attached = result.events.flatMap((event) =>
      event.type === 'message' && event.entry.kind === 'attachment' ? [event.entry.attachment] : [],
    )
    expect([attached, promptsOf(result)[1], errors(result)]).toEqual([[note, note], summary, []])
  })

  test('and is reserved in full when it is longer', async () => {
    const long = user('x'.repeat(50_000))
    const result = await run([calls('Look'), 'answer'], {
      tools,
      maxTotalTokens: 500_000,
      hooks: [once('afterStep', (state) => state.withMessages([long, long, long]))],
    })
    const reserved = result.steps.records.flatMap((record) =>
      record.type === 'intent' && record.key.startsWith('run1/model:') ? [record.intent as { tokens: number }] : [],
    )
    expect(reserved[1]!.tokens).toBeGreaterThan(150_000)
  })
})

describe('is rejected with an error when it could not be sent', () => {
  const refusedAt = async (trigger: HookTrigger, change: (state: AgentState) => AgentState) => {
    const messages: string[] = []
    const onError = hook('onError', ({ error }) => void messages.push(error?.message ?? ''))
    const result = await run([calls('Look'), 'answer'], { tools, hooks: [once(trigger, change), onError] })
    // The run continues as if the hook had not been there.
    expect([result.terminal.reason, result.messages.length, boundaries(result), messages]).toEqual([
      'completed',
      4,
      [],
      errors(result),
    ])
    return messages
  }
  const open =
    'The transcript cannot be replaced: calls of its last message have no result yet. Replace it before or after a step, or when the run stops.'

  test.each<HookTrigger>(['afterInference', 'beforeToolUse', 'afterToolUse'])(
    'while calls have no result: %s',
    async (trigger) => {
      expect(await refusedAt(trigger, (state) => state.withMessages(summary))).toEqual([open])
      const cut = (state: AgentState) => withTranscript(state, state.transcript.since(0).slice(0, 1))
      expect(await refusedAt(trigger, cut)).toEqual([open])
    },
  )

  test.each<[string, readonly ModelMessage[], string]>([
    ['nothing', [], 'the list is empty'],
    ['no question', [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }], 'the first message is not from the user'], // prettier-ignore
    ['a call without a result', [user('x'), { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'T', input: {} }] }], 'the last message leaves t without a result'], // prettier-ignore
    ['a result without a call', [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] }], 'message 0 (user) answers t, but there is no such call'], // prettier-ignore
    ['no user message at the end', [user('x'), { role: 'assistant', content: [{ type: 'text', text: 'x' }] }], 'its last message must be from the user, as it is now'], // prettier-ignore
  ])('with %s', async (_what, messages, problem) => {
    const errors = await refusedAt('afterStep', (state) => state.withMessages(messages))
    expect(errors).toEqual([`The transcript cannot be replaced: ${problem}.`])
  })

  test('with an attachment that only the loop writes', async () => {
    const attachment = { type: 'max_turns_reached', maxTurns: 1, turnCount: 1 } as const
    const errors = await refusedAt('afterStep', (state) => state.withEntry({ kind: 'attachment', id: 'x', attachment }))
    expect(errors).toEqual(['A hook may attach notes of type informational, not max_turns_reached.'])
  })

  test('is also possible outside a run, under the same rules', () => {
    expect(() => AgentState.empty().withMessages([])).toThrow(
      new ConfigurationError('The transcript cannot be replaced: the list is empty.'),
    )
    const state = AgentState.empty().withUserMessage('go').withMessages(summary)
    expect([state.messages(), state.transcript.length]).toEqual([summary, 2])
  })
})

/** As one that was stored, cut and read back. */
function withTranscript(state: AgentState, transcript: readonly TranscriptEntry[]): AgentState {
  return AgentState.fromJSON({ ...(json(state) as object), transcript })
}
