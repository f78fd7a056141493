// Tests R-SDK-1 to R-SDK-9, R-BUD-8.
import { describe, expect, test } from 'vitest'
import { ConfigurationError, query, QueryEngine, type Model, type Prices, type SdkMessage } from '../../src/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import { ask, engineOf, resultOf } from '../support/engine.ts'
import { calls, dollarATokenPrices, hanging, hook, reader, tick, tool } from '../support/harness.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** Messages without their ids, which another test checks. */
const withoutIds = (messages: readonly SdkMessage[]) =>
  messages.map(({ uuid: _uuid, session_id: _session, ...rest }) => rest)
const usage = (input_tokens: number, output_tokens: number) => ({
  input_tokens,
  output_tokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})

async function all(messages: AsyncIterable<SdkMessage>): Promise<SdkMessage[]> {
  const list: SdkMessage[] = []
  for await (const message of messages) list.push(message)
  return list
}

describe('the messages of a run', () => {
  test('are those of the SDK message format (spec R-SDK-3), complete and in order', async () => {
    const { messages } = await ask(
      [{ text: 'looking', ...calls({ name: 'Look', id: 't1', input: { path: 'a' } }) }, 'the answer'],
      {
        tools: [reader('Look', () => ({ content: 'seen', details: { lines: 1 } }))],
        init: { cwd: '/here', permissionMode: 'plan' },
      },
    )
    const message = (id: string, content: object) => ({
      type: 'assistant',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content: [content],
        stop_reason: null,
        stop_sequence: null,
        // The block is emitted before the service has reported the usage of the reply.
        usage: usage(0, 0),
      },
      parent_tool_use_id: null,
    })
    expect(withoutIds(messages)).toEqual([
      {
        type: 'system',
        subtype: 'init',
        cwd: '/here',
        tools: ['Look'],
        mcp_servers: [],
        model: 'scripted',
        permissionMode: 'plan',
        slash_commands: [],
        output_style: 'default',
        skills: [],
        plugins: [],
        apiKeySource: 'none',
        claude_code_version: '2.1.0',
      },
      message('msg_0_1', { type: 'text', text: 'looking' }),
      message('msg_0_1', { type: 'tool_use', id: 't1', name: 'Look', input: { path: 'a' } }),
      {
        type: 'user',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'seen' }] },
        parent_tool_use_id: null,
        tool_use_result: { lines: 1 },
      },
      message('msg_1_3', { type: 'text', text: 'the answer' }),
      {
        type: 'result',
        subtype: 'success',
        duration_ms: 0,
        duration_api_ms: 0,
        is_error: false,
        num_turns: 2,
        stop_reason: 'end_turn',
        total_cost_usd: 0,
        usage: usage(20, 10),
        modelUsage: {
          scripted: {
            inputTokens: 20,
            outputTokens: 10,
            cacheReadInputTokens: 0,
            cacheCreationInputTokens: 0,
            webSearchRequests: 0,
            costUSD: 0,
            contextWindow: 200_000,
            maxOutputTokens: 64_000,
          },
        },
        permission_denials: [],
        terminal_reason: 'completed',
        stop: {
          reason: 'completed',
          category: 'completed',
          message: 'The model gave its answer',
          context: {},
          source: 'loop',
          forced: false,
        },
        result: 'the answer',
      },
    ])
  })

  test('contain blocks of the Messages API; private fields of an adapter stay in the transcript', async () => {
    const origin = { api: 'chat_completions', field: 'reasoning' }
    const scripted = scriptedModel(['yes'])
    const model: Model = {
      ...scripted,
      async call(request, options) {
        const { message } = await scripted.call(request, options)
        return { message: { ...message, content: [{ type: 'text', text: 'yes', origin }] } }
      },
    }
    const engine = new QueryEngine({ model })
    const assistantMessage = (await all(engine.submit('go'))).find(({ type }) => type === 'assistant')
    expect(assistantMessage).toMatchObject({ message: { content: [{ type: 'text', text: 'yes' }] } })
    expect(JSON.stringify(assistantMessage)).not.toContain('origin')
    expect(engine.transcript.messages().at(-1)?.content).toEqual([{ type: 'text', text: 'yes', origin }])
  })

  test('each have their own uuid and the id of the session', async () => {
    const { messages } = await ask([calls('Look', 'Look'), 'done'], {
      tools: [reader('Look')],
      sessionId: 'the-session',
    })
    expect(new Set(messages.map(({ uuid: id }) => id)).size).toBe(messages.length)
    for (const message of messages)
      expect([message.uuid, message.session_id]).toEqual([expect.stringMatching(uuid), 'the-session'])
  })

  test('report retries, denials and the messages of the loop', async () => {
    const overloaded: ScriptedReply = {
      error: { kind: 'overloaded', message: 'Overloaded', status: 529, retryAfterMs: 700 },
    }
    const { messages, result } = await ask([overloaded, calls({ name: 'Write', id: 't1' }), 'done', 'done'], {
      tools: [tool('Write')],
      permissions: { denies: () => 'Write is denied', decide: () => ({ behavior: 'allow' }) },
      stopHooks: [
        {
          id: 'gate',
          handle: ({ stopHookActive }) => (stopHookActive ? { systemMessage: 'fine now' } : { block: 'once more' }),
        },
      ],
    })
    expect(withoutIds(messages.filter(({ type }) => type === 'system')).slice(1)).toEqual([
      {
        type: 'system',
        subtype: 'api_retry',
        attempt: 1,
        max_retries: 10,
        retry_delay_ms: 700,
        error_status: 529,
        error: 'overloaded',
      },
      {
        type: 'system',
        subtype: 'permission_denied',
        tool_name: 'Write',
        tool_use_id: 't1',
        message: 'Write is denied',
      },
      { type: 'system', subtype: 'informational', message: 'fine now' },
    ])
    expect(withoutIds(messages).filter((message) => 'isSynthetic' in message)).toEqual([
      {
        type: 'user',
        message: { role: 'user', content: 'Stop hook feedback: once more' },
        parent_tool_use_id: null,
        isSynthetic: true,
      },
    ])
    expect(result.permission_denials).toEqual([{ tool_name: 'Write', tool_use_id: 't1', tool_input: {} }])
  })

  test('report a failure as an assistant message with its error', async () => {
    const { messages, result } = await ask([{ error: { kind: 'billing_error', message: 'no credit', status: 402 } }])
    expect(withoutIds(messages)[1]).toMatchObject({
      type: 'assistant',
      error: 'billing_error',
      message: { model: '<synthetic>', content: [{ type: 'text', text: 'no credit' }] },
    })
    expect([result.subtype, result.errors, 'result' in result]).toEqual([
      'error_during_execution',
      ['no credit'],
      false,
    ])
  })

  test('include hook events and partial messages only on request', async () => {
    const runOptions = { hooks: [hook('beforeStep', () => {}, { id: 'h' })] }
    expect((await ask(['x'], runOptions)).messages.map(({ type }) => type)).toEqual(['system', 'assistant', 'result'])
    const { messages } = await ask(['x'], { ...runOptions, includeHookEvents: true })
    expect(withoutIds(messages).slice(1, 3)).toEqual([
      { type: 'system', subtype: 'hook_started', hook_id: 'h', hook_name: 'h', hook_event: 'beforeStep' },
      {
        type: 'system',
        subtype: 'hook_response',
        hook_id: 'h',
        hook_name: 'h',
        hook_event: 'beforeStep',
        stdout: '',
        stderr: '',
        output: '{}',
        outcome: 'success',
      },
    ])
  })

  test('carry the structured output of a success', async () => {
    const output = { check: (answer: string) => ({ fits: true as const, value: JSON.parse(answer) as unknown }) }
    expect((await ask(['{"a":1}'], { output })).result).toMatchObject({
      subtype: 'success',
      result: '{"a":1}',
      structured_output: { a: 1 },
    })
  })
})

describe('several runs over one session', () => {
  test('share the transcript; usage is per run, cost and modelUsage per session', async () => {
    const script: ScriptedReply[] = [
      { text: 'one', usage: { input_tokens: 100, output_tokens: 10 } },
      { text: 'two', usage: { input_tokens: 200, output_tokens: 20 } },
    ]
    const { engine, model } = engineOf(script, { prices: dollarATokenPrices })
    const first = resultOf(await all(engine.submit('first')))
    const second = resultOf(await all(engine.submit('second')))
    expect(
      [first, second].map(({ usage: own, total_cost_usd, num_turns, result }) => [
        own,
        total_cost_usd,
        num_turns,
        result,
      ]),
    ).toEqual([
      [usage(100, 10), 110, 1, 'one'],
      [usage(200, 20), 330, 1, 'two'],
    ])
    expect(second.modelUsage['scripted']).toMatchObject({ inputTokens: 300, outputTokens: 30, costUSD: 330 })
    expect(
      model.requests[1]?.messages.map(({ content }) => (typeof content === 'string' ? content : 'blocks')),
    ).toEqual(['first', 'blocks', 'second'])
    expect([engine.totalCostUsd, first.uuid === second.uuid]).toEqual([330, false])
  })

  test('share the budget, and nothing else', async () => {
    const script = () => ({ text: 'x', usage: { input_tokens: 1_000, output_tokens: 500 } })
    const { engine } = engineOf(script, {
      model: scriptedModel(script, { maxOutputTokens: 1_500 }),
      prices: dollarATokenPrices,
      maxBudgetUsd: 5_200,
      maxTurns: 1,
      maxTotalTokens: 3_000,
    })
    const reasons = []
    for (let runs = 0; runs < 4; runs++) reasons.push(resultOf(await all(engine.submit('go'))).terminal_reason)
    expect([reasons, engine.totalCostUsd]).toEqual([['completed', 'completed', 'completed', 'budget_exhausted'], 4_500])
  })

  test('of a query are as many as its prompts', async () => {
    async function* prompts() {
      yield 'first'
      yield 'second'
    }
    const model = scriptedModel(['one', 'two'])
    const messages = await all(query({ prompt: prompts(), options: { model, clock: createFakeClock() } }))
    expect(messages.map(({ type }) => type)).toEqual(['system', 'assistant', 'result', 'system', 'assistant', 'result'])
  })
})

describe('the cost check', () => {
  test('ends the run after every yielded message, also between tools', async () => {
    const underestimating: Prices = { ...dollarATokenPrices, worstCase: () => 1 }
    const { result } = await ask([calls('Look'), 'never'], {
      tools: [reader('Look')],
      prices: underestimating,
      maxBudgetUsd: 15,
    })
    expect([result.subtype, result.terminal_reason, result.errors, result.total_cost_usd]).toEqual([
      'error_max_budget_usd',
      'budget_exhausted',
      ['Reached maximum budget ($15)'],
      15,
    ])
  })

  test('rejects a budget without a price before anything runs', () => {
    expect(() => new QueryEngine({ model: scriptedModel([]), maxBudgetUsd: 1 })).toThrow(ConfigurationError)
    expect(() => query({ prompt: 'x', options: { model: scriptedModel([]), maxTurns: 0 } })).toThrow(ConfigurationError)
  })
})

describe('the last answer of a run that did not end well (spec R-SDK-6a)', () => {
  const look = calls('Look')
  const options = { tools: [reader('Look')], maxTurns: 1 }

  test('is in the result, as that of a wrap-up', async () => {
    const { result } = await ask([look, 'So far: nothing.'], { ...options, wrapUp: true })
    expect(result).toMatchObject({ terminal_reason: 'max_turns', last_answer: 'So far: nothing.' })
    expect(result).not.toHaveProperty('result')
  })

  test('is absent when the last reply called a tool', async () => {
    const { result } = await ask([{ text: 'I look.', ...look }], options)
    expect(result).toMatchObject({ terminal_reason: 'max_turns' })
    expect(result).not.toHaveProperty('last_answer')
  })

  test('is not a field of a success', async () => {
    const { result } = await ask(['Done.'])
    expect([result.result, 'last_answer' in result]).toEqual(['Done.', false])
  })
})

describe('controls of a running query', () => {
  test('interrupt ends it with a result', async () => {
    const engine: QueryEngine = new QueryEngine({
      model: scriptedModel([calls('Hang')]),
      tools: [hanging('Hang')],
      onEvent({ type }) {
        if (type === 'tool_start') engine.interrupt()
      },
    })
    const messages = await all(engine.submit('go'))
    const result = resultOf(messages)
    expect([result.subtype, result.terminal_reason, result.errors]).toEqual([
      'error_during_execution',
      'aborted_tools',
      ['Interrupted by the user'],
    ])
    expect(withoutIds(messages).at(-2)).toEqual({
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user for tool use]' }] },
      parent_tool_use_id: null,
    })
  })

  test('stop ends it at the next cancellation point', async () => {
    const engineParts: ReturnType<typeof engineOf> = engineOf([calls('Look'), 'never'], {
      tools: [tool('Look', () => (engineParts.engine.stop('enough'), 'x'))],
    })
    const { engine } = engineParts
    expect(resultOf(await all(engine.submit('go')))).toMatchObject({
      terminal_reason: 'user_requested',
      errors: ['enough'],
    })
  })

  test('steer is taken at the next cancellation point, followUp when the run would end', async () => {
    const look = tool('Look', () => (engine.followUp('after'), engine.steer('now'), 'x'))
    const { engine, model } = engineOf([calls('Look'), 'one', 'two'], { tools: [look] })
    const messages = await all(engine.submit('go'))
    const texts = model.requests.map(({ messages: sent }) => sent.at(-1)?.content)
    expect(texts).toEqual(['go', 'now', 'after'])
    expect(resultOf(messages)).toMatchObject({ result: 'two', num_turns: 3 })
  })

  test('keep a message for the next run when nothing is running', async () => {
    const { engine, model } = engineOf(['one'])
    engine.steer('waiting')
    resultOf(await all(engine.submit('go')))
    expect(model.requests[0]?.messages.map(({ content }) => content)).toEqual(['go', 'waiting'])
  })

  test.each(['read to its end', 'not consumed'])(
    'abort the run with the cause interrupt on a submit, and lose nothing: the first one %s',
    async (how) => {
      const { engine, model } = engineOf([calls('Hang'), 'the answer'], { tools: [hanging('Hang')] })
      const first = engine.submit('first')
      const seen: SdkMessage[] = []
      for (;;) {
        const step = await first.next()
        if (step.done === true) break
        seen.push(step.value)
        if (step.value.type === 'assistant') break
      }
      await tick()
      const reading = how === 'not consumed' ? undefined : all(first)
      const second = resultOf(await all(engine.submit('second')))
      const rest = reading === undefined ? await all(first) : await reading
      expect(resultOf([...seen, ...rest])).toMatchObject({
        terminal_reason: 'aborted_tools',
        errors: ['Interrupted by a new message'],
      })
      expect(second).toMatchObject({ terminal_reason: 'completed', result: 'the answer' })
      expect(
        model.requests[1]?.messages.map(({ content }) => (typeof content === 'string' ? content : content[0]?.type)),
      ).toEqual(['first', 'tool_use', 'tool_result', 'second'])
      const kinds = [...engine.transcript].map(({ kind }) => kind)
      expect([kinds, transcriptProblems(engine.transcript.messages())]).toEqual([
        ['user', 'assistant', 'user', 'user', 'assistant'],
        [],
      ])
    },
  )

  test('abort the run and settle the session when the consumer leaves early', async () => {
    const { engine } = engineOf([calls('Hang'), 'second answer'], { tools: [hanging('Hang')] })
    for await (const message of engine.submit('go')) if (message.type === 'assistant') break
    expect([engine.lastTerminal?.reason, transcriptProblems(engine.transcript.messages())]).toEqual(['abandoned', []])
    expect(resultOf(await all(engine.submit('again'))).result).toBe('second answer')
  })
})

test('emits exactly one result per run, on every path', async () => {
  const scripts: ScriptedReply[][] = [
    ['x'],
    [calls('Look'), 'x'],
    [],
    [{ text: 'x', stopReason: 'refusal' }],
    [{ text: 'x', stopReason: 'pause_turn' }],
    [{ error: { kind: 'image', message: 'm', status: 400 } }],
  ]
  for (const script of scripts) {
    for (const engineOptions of [
      {},
      { maxTurns: 1 },
      { signal: AbortSignal.abort() },
      {
        stopWhen: {
          name: 'broken',
          evaluate: () => {
            throw new Error('bug')
          },
        },
      },
    ]) {
      // prettier-ignore
      const { messages } = await ask(script, { tools: [reader('Look')], ...engineOptions })
      expect(messages.filter(({ type }) => type === 'result')).toHaveLength(1)
      expect(
        messages.filter(({ type, ...rest }) => type === 'system' && 'subtype' in rest && rest.subtype === 'init'),
      ).toHaveLength(1)
    }
  }
})
