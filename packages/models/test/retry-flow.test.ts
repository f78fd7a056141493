// Tests R-REQ-1 to R-REQ-4, R-REQ-7 and R-WIRE-1 end to end: the loop, an adapter, and a service that fails on a real
// connection.
import { RetriesExhaustedError } from '@halting/core'
import type { AnyTool, ContentBlock, JsonObject, RunEvent, MessageContent } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ServiceOptions } from '../src/service/endpoint.ts'
import type { FaultAnswer } from './support/fault-answers.ts'
import { answeringReply, callingReply } from './support/fault-reply.ts'
import type { FaultProtocol, FaultReply } from './support/fault-reply.ts'
import { faultyService, runTo, noticesOf } from './support/fault-run.ts'
import type { FaultyService } from './support/fault-run.ts'
import type { FaultRequest, PlannedExchange } from './support/fault-server.ts'

const protocols = ['messages', 'chat'] as const

async function service(
  protocol: FaultProtocol,
  plan: readonly PlannedExchange[],
  id = 'model-a',
  options: ServiceOptions = {},
): Promise<FaultyService> {
  const made = await faultyService(protocol, id, plan, options)
  onTestFinished(() => made.server.close())
  return made
}

function times(count: number, answer: FaultAnswer): readonly PlannedExchange[] {
  return Array.from({ length: count }, () => ({ answer }))
}

/** A tool that remembers its inputs. */
function readTool(output: string | readonly ContentBlock[] = 'what it says'): {
  readonly tool: AnyTool
  readonly inputs: unknown[]
} {
  const inputs: unknown[] = []
  const tool: AnyTool = {
    name: 'read',
    description: 'Reads a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    readOnly: true,
    execute(input: unknown) {
      inputs.push(input)
      return { content: output }
    },
  }
  return { tool, inputs }
}

function messagesOf(request: FaultRequest | undefined): readonly JsonObject[] {
  // The body of a request of an adapter.
  return request?.body.messages as readonly JsonObject[]
}

function only<Type extends RunEvent['type']>(events: readonly RunEvent[], type: Type) {
  return events.filter((event): event is Extract<RunEvent, { readonly type: Type }> => event.type === type)
}

describe('the waits between attempts', () => {
  test.each(protocols)('grow from 200 ms to steps of 2 s, with up to a quarter more (%s)', async (protocol) => {
    const { model, server } = await service(protocol, times(10, '500'))
    const { terminal, events, waits } = await runTo('go', { model })
    const bases = [200, 400, 800, ...Array.from({ length: 7 }, () => 2_000)]
    expect(waits.map((wait, index) => wait >= bases[index]! && wait < bases[index]! * 1.25)).toEqual(
      bases.map(() => true),
    )
    expect(waits.length).toBe(bases.length)
    // Clients that fail together do not retry together.
    expect(new Set(waits.slice(3)).size).toBeGreaterThan(3)
    expect(only(events, 'retry').map(({ delayMs }) => delayMs)).toEqual(waits)
    expect([terminal.reason, server.requests.length]).toEqual(['completed', 11])
  })

  test.each(protocols)("follow the service's request, in seconds or until a date (%s)", async (protocol) => {
    const { model, server } = await service(protocol, [{ answer: '429 with seconds' }, { answer: '429 with a date' }])
    const { terminal, waits } = await runTo('go', { model })
    expect([terminal.reason, server.requests.length, waits.length, waits[0]]).toEqual(['completed', 3, 2, 7_000])
    expect(waits[1]).toBeGreaterThan(7_000)
    expect(waits[1]).toBeLessThanOrEqual(61_000)
  })

  test('end when the run has no retries left, with the last failure', async () => {
    const { model, server } = await service('messages', [...times(2, '500'), ...times(9, '503')])
    const { terminal, events } = await runTo('go', { model, maxRetries: 2 })
    expect(server.requests.length).toBe(3)
    expect([terminal.reason, terminal.signal.reason]).toEqual(['model_error', 'retry_limit'])
    expect(terminal.error).toBeInstanceOf(RetriesExhaustedError)
    expect(terminal.error).toMatchObject({
      attempts: 3,
      last: {
        kind: 'server_error',
        status: 503,
        requestId: 'req_fault',
        retryable: true,
        message: '503 api_error: down for maintenance',
      },
      message: 'The model service failed 3 times. The last time: 503 api_error: down for maintenance',
    })
    expect(noticesOf(events)).toEqual(['500 api_error: Internal server error', '500 api_error: Internal server error'])
  })

  test("end with the run's time, even in the middle", async () => {
    const { model, server } = await service('chat', times(9, '500'))
    const { terminal, waits } = await runTo('go', { model, maxDurationMs: 1_000 })
    // 200 and 400 ms, each plus up to a quarter, fit into a second. Another 800 ms do not.
    expect([terminal.reason, terminal.durationMs, server.requests.length, waits.length]).toEqual([
      'time_limit',
      1_000,
      3,
      3,
    ])
  })

  test('are skipped if waiting does not help', async () => {
    const final: readonly FaultAnswer[] = [
      '429 spending cap',
      '401',
      '402',
      '403',
      '400',
      '404',
      '307',
      '200 HTML',
      '501 HTML',
    ]
    for (const protocol of protocols) {
      for (const answer of final) {
        const { model, server } = await service(protocol, times(5, answer))
        const { terminal, waits } = await runTo('go', { model })
        expect([answer, terminal.reason, server.requests.length, waits]).toEqual([answer, 'model_error', 1, []])
      }
    }
    const { model } = await service('messages', times(5, '429 spending cap'))
    const { terminal } = await runTo('go', { model })
    expect(terminal.signal.message).toBe('429 rate_limit_error: You have reached your spend limit for this month')
    expect(terminal.signal.context).toMatchObject({ kind: 'billing_error', status: 429, attempts: 1 })
  })

  test('are long enough for a service to recover', async () => {
    const { model, server } = await service('messages', [{ fault: 'refused', at: 'accept' }, { reply: answeringReply }])
    const { terminal, events } = await runTo('go', { model }, () => server.comeBack())
    expect([terminal.reason, server.requests.length]).toEqual(['completed', 1])
    expect(noticesOf(events)).toEqual([
      `Nothing listens at ${server.url} (ECONNREFUSED). Is the service running, and is the base URL right?`,
    ])
  })
})

describe('a fallback model', () => {
  const thinking = { type: 'thinking', thinking: 'Let me see: 日本.', signature: 'c2lnbmVk' }
  const redacted = { type: 'redacted_thinking', data: 'aGlkZGVu' }
  const [text, toolUse] = callingReply.blocks as readonly [JsonObject, JsonObject]

  /** A turn with a call succeeds. Then the service is overloaded permanently. */
  const overloadedAfter = (reply: FaultReply): readonly PlannedExchange[] => [{ reply }, ...times(9, '529')]

  test('takes over after three overloads in a row, is named, and stays', async () => {
    const first = await service('messages', times(9, '529'), 'model-a')
    const second = await service('messages', [{ reply: callingReply }], 'model-b')
    const { terminal, events } = await runTo('go', {
      model: first.model,
      fallbackModel: second.model,
      tools: [readTool().tool],
    })
    expect([terminal.reason, first.server.requests.length, second.server.requests.length]).toEqual(['completed', 3, 2])
    expect(only(events, 'model_start').map(({ model }) => model)).toEqual([
      'model-a',
      'model-a',
      'model-a',
      'model-b',
      'model-b',
    ])
    expect(only(events, 'lap').map(({ transition }) => transition)).toEqual(['model_fallback', 'next_turn'])
    expect(noticesOf(events)).toEqual([
      '529 overloaded_error: Overloaded',
      '529 overloaded_error: Overloaded',
      'The model is overloaded; switching to the fallback model.',
    ])
  })

  test('does not take over when the three are not in a row', async () => {
    const plan = [...times(2, '529'), ...times(1, '500'), ...times(2, '529')]
    const first = await service('messages', plan, 'model-a')
    const second = await service('messages', [], 'model-b')
    const { terminal } = await runTo('go', { model: first.model, fallbackModel: second.model })
    expect([terminal.reason, first.server.requests.length, second.server.requests.length]).toEqual(['completed', 6, 0])
  })

  test('receives everything byte for byte, except what was signed for the first model', async () => {
    const reply: FaultReply = { blocks: [thinking, redacted, text, toolUse], stopReason: 'tool_use' }
    const first = await service('messages', overloadedAfter(reply), 'model-a')
    const second = await service('messages', [], 'model-b')
    const { tool } = readTool()
    const { terminal } = await runTo('go', { model: first.model, fallbackModel: second.model, tools: [tool] })
    expect(terminal.reason).toBe('completed')

    const [, own] = first.server.requests
    const [others] = second.server.requests
    const said = (blocks: readonly JsonObject[]): string =>
      `{"role":"assistant","content":[${blocks.map((block) => JSON.stringify(block)).join(',')}]}`
    expect(own?.text).toContain(said([thinking, redacted, text, toolUse]))
    expect(others?.text).toContain(said([text, toolUse]))
    expect(others?.text).not.toMatch(/thinking|c2lnbmVk|aGlkZGVu/)
    // Apart from the model and signed content, the request is the same.
    const rest = (request: FaultRequest | undefined) => ({ ...request?.body, model: '', messages: messagesOf(request).toSpliced(1, 1) }) // prettier-ignore
    expect(rest(others)).toEqual(rest(own))
  })

  test('of the other protocol handles server tools and images', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } }
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
    const reply: FaultReply = { blocks: [thinking, search, found, text, toolUse], stopReason: 'tool_use' }
    const first = await service('messages', overloadedAfter(reply), 'model-a')
    const second = await service('chat', [], 'model-b')
    const dot = 'R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs='
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: dot } } as const
    const { tool } = readTool([{ type: 'text', text: 'a picture' }, image])
    const prompt: MessageContent = [{ type: 'text', text: 'Look.' }, image]
    const { terminal } = await runTo(prompt, { model: first.model, fallbackModel: second.model, tools: [tool] })
    expect(terminal.reason).toBe('completed')
    const picture = { type: 'image_url', image_url: { url: `data:image/gif;base64,${dot}` } }
    expect(messagesOf(second.server.requests[0])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Look.' }, picture] },
      {
        role: 'assistant',
        content: text.text,
        tool_calls: [
          {
            id: 'call_0001',
            type: 'function',
            function: { name: 'read', arguments: JSON.stringify(toolUse.input) },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_0001', content: 'a picture\n[The image follows below.]' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Images in the result of call call_0001:' }, picture],
      },
    ])
  })

  test('of the Messages API takes over from chat completions', async () => {
    const first = await service('chat', overloadedAfter(callingReply), 'model-a')
    const second = await service('messages', [], 'model-b')
    const { tool } = readTool()
    const { terminal } = await runTo('go', { model: first.model, fallbackModel: second.model, tools: [tool] })
    expect(terminal.reason).toBe('completed')
    expect(messagesOf(second.server.requests[0])).toMatchObject([
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      { role: 'assistant', content: callingReply.blocks },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0001', content: 'what it says' }] },
    ])
    expect(second.server.requests[0]?.text).not.toContain('"origin"')
  })
})

describe.each(protocols)('a dropped connection (%s)', (protocol) => {
  const brokeOff = /^The reply broke off and may be incomplete: 127\.0\.0\.1:\d+ closed the connection/

  test('causes another attempt before anything is complete, and preserves nothing of the first', async () => {
    const { model, server } = await service(protocol, [{ fault: 'closed', at: 'in text' }])
    const { terminal, events } = await runTo('go', { model })
    expect([terminal.reason, terminal.summary.turns, server.requests.length]).toEqual(['completed', 1, 2])
    expect(server.requests[1]?.body.messages).toEqual(server.requests[0]?.body.messages)
    expect(noticesOf(events)).toEqual([expect.stringMatching(/closed the connection/)])
  })

  test('runs a completed call once, and continues', async () => {
    const { model, server } = await service(protocol, [{ fault: 'reset', at: 'call' }])
    const { tool, inputs } = readTool()
    const { terminal, events, waits } = await runTo('go', { model, tools: [tool] })
    expect([terminal.reason, terminal.summary.turns, server.requests.length, waits]).toEqual(['completed', 2, 2, []])
    expect(inputs).toEqual([{ path: '日本.md' }])
    expect(noticesOf(events)).toEqual([expect.stringMatching(brokeOff)])
    const [, , results] = messagesOf(server.requests[1]).map((message) => JSON.stringify(message))
    expect(results).toContain('what it says')
  })

  test('preserves text inside a call, runs nothing, and asks the model to continue', async () => {
    const { model, server } = await service(protocol, [{ fault: 'closed', at: 'in call' }])
    const { tool, inputs } = readTool()
    const { terminal, events, waits } = await runTo('go', { model, tools: [tool] })
    expect([terminal.reason, server.requests.length, inputs, waits]).toEqual(['completed', 2, [], []])
    expect(noticesOf(events)).toEqual([expect.stringMatching(brokeOff)])
    const messages = messagesOf(server.requests[1]).map((message) => JSON.stringify(message))
    expect(messages.length).toBe(3)
    expect(messages[1]).toContain('I will read 日本.md.')
    expect(messages[2]).toContain(
      'The connection was lost during your reply. Continue exactly where your reply stopped.',
    )
  })

  test('resumes once after text, then ends the run and preserves both', async () => {
    const plan = [
      { fault: 'closed', at: 'text' },
      { fault: 'closed', at: 'text' },
    ] as const
    const { model, server } = await service(protocol, plan)
    const { terminal, events, messages } = await runTo('go', { model })
    expect([terminal.reason, terminal.error?.code, server.requests.length]).toEqual(['model_error', 'model', 2])
    expect(noticesOf(events)).toEqual([expect.stringMatching(brokeOff), expect.stringMatching(brokeOff)])
    const texts = messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []))
    expect(texts).toEqual([[callingReply.blocks[0]], [callingReply.blocks[0]]])
  })
})

describe('reports every failure in a sentence before the run continues', () => {
  const faults = [
    'reset',
    'closed',
    'ended',
    'silent',
    'pings',
    'no HTTP',
    'no JSON',
    'overloaded',
    'rate limit',
  ] as const
  const cases = protocols.flatMap((protocol) => faults.map((fault) => ({ protocol, fault })))
  test.each(cases)('$protocol: $fault', async ({ protocol, fault }) => {
    const isSilence = fault === 'silent' || fault === 'pings'
    const limits = isSilence ? { idleTimeoutMs: 200, requestTimeoutMs: 250 } : {}
    const { model } = await service(protocol, [{ fault, at: 'in text' }, { fault, at: 'call' }], 'model-a', limits) // prettier-ignore
    const { terminal, events } = await runTo('go', { model, tools: [readTool().tool] })
    expect(terminal.reason).toBe('completed')
    const notices = noticesOf(events)
    expect(notices).toEqual([
      expect.stringMatching(/^[A-Z0-9][^[\]{}]+[.?]$/),
      expect.stringMatching(/^The reply broke off and may be incomplete: [A-Z0-9][^[\]{}]+[.?]$/),
    ])
  })
})
