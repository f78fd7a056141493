import { ConfigurationError } from '@halting/core'
import type { AssistantMessage, ContentBlock, ModelMessage } from '@halting/core'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { parseScript, parseScriptText, readScript, scriptedModel, startScriptedServer } from '../src/scripted/index.ts'
import type { Script, ScriptedFault, ScriptedModelOptions } from '../src/scripted/index.ts'
import { call, recordOf, requestOf } from './support/call.ts'
import { drawn } from './support/deep.ts'

const open: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

async function play(script: unknown, options?: ScriptedModelOptions) {
  const scripted = await scriptedModel(script, options)
  open.push(scripted)
  return scripted
}

function textOf(message: AssistantMessage | string): string {
  const [block] = typeof message === 'string' ? [] : message.content
  return block?.type === 'text' ? block.text : ''
}

const results = (text: string): ModelMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'text', text }] }],
})

describe('plays a script over real HTTP, reply after reply', () => {
  test('with texts, thinking, calls and other blocks as written', async () => {
    const blocks = [
      { type: 'thinking', thinking: 'I should look at the file before I say anything about it.', signature: 'sig' },
      { type: 'text', text: 'I will look at it — 日本 😀 — and then tell.' },
      {
        type: 'tool_use',
        id: 'toolu_own',
        name: 'Read',
        input: { file_path: 'a/long/path/to/a/file.txt', deep: [{ n: 1.5 }] },
      },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    ] satisfies readonly ContentBlock[]
    const { model, server } = await play({
      model: 'claude-sonnet-5-5',
      replies: [{ content: blocks, usage: { input_tokens: 7, output_tokens: 9 } }, { content: 'Done.' }],
    })
    const first = await call(model)
    expect(model.id).toBe('claude-sonnet-5-5')
    expect(first.reply).toEqual({
      message: {
        role: 'assistant',
        id: 'msg_scripted_1',
        model: 'claude-sonnet-5-5',
        content: blocks,
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    })
    const types = first.updates.map((update) => (update.type === 'api_event' ? update.event.type : update.type))
    expect(types.filter((type) => type === 'text_delta').length).toBeGreaterThan(1)
    expect(types).toContain('ping')
    const second = await call(model)
    expect(second.reply?.message).toMatchObject({ content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' })
    expect(server.remaining()).toBe(0)
    expect(server.requests.map(({ body }) => body.model)).toEqual(['claude-sonnet-5-5', 'claude-sonnet-5-5'])
  })

  test('with generated ids that differ from call to call', async () => {
    const { model } = await play({ replies: [{ content: [{ type: 'tool_use', name: 'Read' }], repeat: 3 }] })
    const ids: unknown[] = []
    for (let count = 0; count < 3; count++) ids.push((await call(model)).reply?.message.content[0])
    expect(ids).toEqual(
      [1, 2, 3].map((n) => ({ type: 'tool_use', id: `toolu_scripted_${n}_0`, name: 'Read', input: {} })),
    )
  })

  test('and reports an exhausted script', async () => {
    const { model } = await play({ replies: [{ content: 'one' }] })
    await call(model)
    expect(recordOf((await call(model)).error)).toMatchObject({
      kind: 'invalid_request',
      retryable: false,
      message: '400 invalid_request_error: The script has 1 replies and this is request 2: it is exhausted.',
    })
  })

  test('and compares an expectation with the last user message, including tool results', async () => {
    const script = { replies: [{ expect: 'line 42', content: 'Yes.', repeat: 2 }] }
    const { model } = await play(script)
    const found = await call(model, { request: requestOf({ messages: [results('the bug is on line 42')] }) })
    expect(found.reply?.message.content).toEqual([{ type: 'text', text: 'Yes.' }])
    const missed = await call(model, { request: requestOf({ messages: [results('no such file')] }) })
    expect(recordOf(missed.error).message).toBe(
      '400 invalid_request_error: Reply 2 of the script expects "line 42" in the last user message, which is: "no such file"',
    )
  })

  test('and reserves a reply with `when` for its request, without changing the order of others', async () => {
    const { model, server } = await play({
      replies: [
        { content: 'first' },
        { when: 'write a summary', content: 'a summary', repeat: 2 },
        { when: 'summary', content: 'another', expect: 'summary' },
        { content: 'second' },
      ],
    })
    const replies: string[] = []
    for (const text of ['hi', 'write a summary', 'please write a summary now', 'go on', 'write a summary'])
      replies.push(
        textOf(
          (await call(model, { request: requestOf({ messages: [{ role: 'user', content: text }] }) })).reply?.message ??
            '',
        ),
      )
    expect(replies).toEqual(['first', 'a summary', 'a summary', 'second', 'another'])
    expect(server.remaining()).toBe(0)
    expect((await call(model)).error).toMatchObject({
      message: expect.stringContaining('has 5 replies and this is request 6'),
    })
  })

  test('and replaces variables', async () => {
    const { model } = await play(
      {
        replies: [
          { content: [{ type: 'tool_use', name: 'Read', input: { file_path: '{{cwd}}/a', other: '{{unknown}}' } }] },
        ],
      },
      { variables: { cwd: 'C:\\my "files"' } },
    )
    expect((await call(model)).reply?.message.content[0]).toMatchObject({
      input: { file_path: 'C:\\my "files"/a', other: '{{unknown}}' },
    })
  })
})

describe('a script with a small window and its own token count', () => {
  const long = (length: number) => requestOf({ messages: [{ role: 'user', content: 'x'.repeat(length) }] })
  const refused = (used: number, limit: number) => ({
    kind: 'prompt_too_long',
    status: 400,
    retryable: false,
    billed: 'nothing',
    message: `400 invalid_request_error: prompt is too long: ${used} tokens > ${limit} maximum`,
    contextLimit: { used, limit },
  })

  test('rejects a larger request with both figures, and uses up no reply', async () => {
    const { model, server } = await play({ contextWindow: 1_000, replies: [{ content: 'one' }, { content: 'two' }] })
    const texts: unknown[] = []
    for (const length of [10, 8_000, 8_000, 10]) {
      const { reply, error } = await call(model, { request: long(length) })
      texts.push(reply === undefined ? recordOf(error) : textOf(reply.message))
    }
    const used = Math.ceil((server.requests[1]?.text.length ?? 0) / 4)
    expect(texts).toEqual(['one', expect.objectContaining(refused(used, 1_000)), expect.anything(), 'two'])
    expect([server.requests.length, server.remaining()]).toEqual([4, 0])
    expect(used).toBeGreaterThan(2_000)
  })

  test('accepts a request that fills the window to the last token, and not one character more', async () => {
    const first = await play({ replies: [{ content: 'measured' }] })
    await call(first.model, { request: long(4_000) })
    const size = first.server.requests[0]?.text.length ?? 0
    const whole = 4_000 - (size % 4)
    const { model } = await play({ contextWindow: (size - (size % 4)) / 4, replies: [{ content: 'fits', repeat: 2 }] })
    expect((await call(model, { request: long(whole) })).reply).toBeDefined()
    expect(recordOf((await call(model, { request: long(whole + 1) })).error).kind).toBe('prompt_too_long')
  })

  test('applies its factor to rejections, usage and token counting', async () => {
    const { model, server } = await play({ tokenFactor: 1.4, contextWindow: 1_000, replies: [{ content: 'one' }] })
    const { reply } = await call(model, { request: long(1_000) })
    const size = server.requests[0]?.text.length ?? 0
    const content = JSON.stringify(reply?.message.content).length
    const tokens = (length: number) => Math.ceil((length / 4) * 1.4)
    expect(reply?.message.usage).toMatchObject({ input_tokens: tokens(size), output_tokens: tokens(content) })
    // Only the count of the service is over the limit.
    const { error } = await call(model, { request: long(3_000) })
    const longer = server.requests[1]?.text.length ?? 0
    expect(longer / 4).toBeLessThan(1_000)
    expect(recordOf(error)).toMatchObject(refused(tokens(longer), 1_000))
    const counted = await fetch(`${server.url}/v1/messages/count_tokens`, { method: 'POST', body: 'x'.repeat(40) })
    expect(await counted.json()).toEqual({ input_tokens: 14 })
  })

  test('allows no token shorter than a byte', async () => {
    const { model, server } = await play({ tokenFactor: 4, replies: [{ content: 'one' }] })
    const { reply } = await call(model, { request: long(1_001) })
    expect(reply?.message.usage.input_tokens).toBe(server.requests[0]?.text.length)
  })

  test('reads the window from the message of a scripted 413', async () => {
    const error = { status: 413, message: 'prompt is too long: 210000 tokens > 200000 maximum' }
    const { model } = await play({ replies: [{ error }, { error: { status: 413 } }] })
    expect(recordOf((await call(model)).error)).toMatchObject({
      kind: 'prompt_too_long',
      status: 413,
      contextLimit: { used: 210_000, limit: 200_000 },
    })
    expect(recordOf((await call(model)).error).contextLimit).toBeUndefined()
  })

  test.each([
    [{ contextWindow: 0 }, 'contextWindow must be a whole number above 0, not 0.'],
    [{ contextWindow: '8k' }, 'contextWindow must be a whole number above 0, not "8k".'],
    [{ tokenFactor: 0 }, 'tokenFactor must be a number above 0, 4 at most, not 0.'],
    [{ tokenFactor: 4.1 }, 'tokenFactor must be a number above 0, 4 at most, not 4.1.'],
  ])('rejects %j', (fields, message) => {
    expect(() => parseScript({ ...fields, replies: [] })).toThrow(new ConfigurationError(`script: ${message}`))
  })
})

describe("applies the request's max_tokens to a reply, like the service", () => {
  const long = '日本 "quoted" 😀\n'.repeat(1_000)
  const ask = async (reply: unknown, maxTokens = 100) => {
    const { model } = await play({ replies: [reply] })
    const { reply: got, error } = await call(model, { request: requestOf({ maxOutputTokens: maxTokens }) })
    return got?.message ?? recordOf(error).message
  }
  const cut = { stop_reason: 'max_tokens', stop_sequence: null, usage: { output_tokens: 100 } }

  test('by cutting a text at its tokens, between two characters', async () => {
    const message = await ask({ content: long })
    expect(message).toMatchObject({ ...cut, content: [{ type: 'text' }] })
    const text = textOf(message)
    expect(long.startsWith(text)).toBe(true)
    expect(Buffer.from(text).toString()).toBe(text)
    expect(JSON.stringify([{ type: 'text', text }]).length).toBeGreaterThan(390)
    expect(JSON.stringify([{ type: 'text', text }]).length).toBeLessThanOrEqual(400)
  })

  test('by cutting proportionally to the declared tokens', async () => {
    const usage = { input_tokens: 5, output_tokens: 200 }
    const message = await ask({ content: 'x'.repeat(1_000), stop_sequence: 'x', usage })
    expect(message).toMatchObject({ ...cut, usage: { input_tokens: 5, output_tokens: 100 } })
    expect(textOf(message).length).toBeGreaterThan(450)
    expect(textOf(message).length).toBeLessThan(500)
  })

  test('but accepts a declared output that fits, however long the text', async () => {
    expect(await ask({ content: long, usage: { output_tokens: 100 } })).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: long }],
      usage: { output_tokens: 100 },
    })
  })

  test('by omitting a call that does not fit, and what follows it', async () => {
    const write = { type: 'tool_use', name: 'Write', input: { content: long } }
    expect(await ask({ content: ['First.', write, 'Last.'] })).toMatchObject({
      ...cut,
      content: [{ type: 'text', text: 'First.' }],
    })
  })

  test('by cutting a call inside its input on the wire, and omitting it without streaming', async () => {
    const write = { type: 'tool_use', name: 'Write', input: { content: long } }
    const server = await startScriptedServer({ replies: [{ content: [write], repeat: 2 }] })
    open.push(server)
    const post = (stream: boolean) =>
      fetch(`${server.url}/v1/messages`, { method: 'POST', body: JSON.stringify({ max_tokens: 50, stream }) })
    const events = await (await post(true)).text()
    const data = Array.from(events.matchAll(/^data: (.*)$/gm), ([, line = '']) => JSON.parse(line))
    const json = data.map(({ delta }) => delta?.partial_json ?? '').join('')
    expect(json.length).toBeGreaterThan(50)
    expect(JSON.stringify(write.input).startsWith(json)).toBe(true)
    expect(JSON.stringify(write.input)).not.toBe(json)
    expect(events).toContain('"stop_reason":"max_tokens"')
    expect(await (await post(false)).json()).toMatchObject({ content: [], stop_reason: 'max_tokens' })
  })

  test('and rejects a declared input that the request cannot have', async () => {
    const declared = { input_tokens: 90_000, cache_read_input_tokens: 10_000 }
    expect(await ask({ content: 'x', usage: declared })).toMatch(
      /^400 invalid_request_error: Reply 1 of the script declares 100000 input tokens, but the request has \d+ bytes, and no token is shorter than a byte\. Declare less, or nothing\.$/,
    )
  })

  test('and never exceeds the cap or invents text, for any script and cap', async () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.record({
        type: fc.constant('tool_use'),
        name: fc.constant('T'),
        input: fc.dictionary(fc.string(), fc.string()),
      }),
    )
    const output = fc.option(fc.integer({ min: 0, max: 2_000 }), { nil: undefined })
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        output,
        fc.integer({ min: 1, max: 300 }),
        async (content, declared, maxTokens) => {
          const usage = declared === undefined ? {} : { usage: { output_tokens: declared } }
          const message = await ask({ content, ...usage }, maxTokens)
          if (typeof message === 'string') throw new Error(message)
          const whole = content.map((one) => (typeof one === 'string' ? one : JSON.stringify(one.input)))
          expect(message.usage.output_tokens).toBeLessThanOrEqual(maxTokens)
          message.content.forEach((block, index) => {
            const said = block.type === 'text' ? block.text : JSON.stringify(block.type === 'tool_use' && block.input)
            expect(whole[index]?.startsWith(said)).toBe(true)
          })
          const isWhole = message.content.length === content.length
          expect(isWhole || message.stop_reason === 'max_tokens').toBe(true)
        },
      ),
      { numRuns: drawn(60) },
    )
  })
})

describe('reproduces scripted faults on the wire', () => {
  const failing = async (fault: ScriptedFault) => {
    // Only a hanging request should time out, however busy the machine is.
    const timeoutMs = fault.kind === 'hang' ? 300 : 20_000
    const { model } = await play(
      { replies: [{ content: ['one', 'two'], fault }] },
      { adapter: { idleTimeoutMs: timeoutMs, requestTimeoutMs: timeoutMs } },
    )
    const { reply, error } = await call(model)
    const failure = recordOf(error ?? reply?.streamError ?? error)
    return [failure.kind, reply === undefined ? 'rejected' : reply.message.content.length]
  }

  test.each([
    [{ kind: 'drop', at: 'request' }, 'connection', 'rejected'],
    [{ kind: 'drop', at: 'start' }, 'connection', 'rejected'],
    [{ kind: 'drop', at: 'within' }, 'connection', 'rejected'],
    [{ kind: 'drop', at: 'after' }, 'connection', 1],
    [{ kind: 'drop', at: 'within', block: 1 }, 'connection', 1],
    [{ kind: 'drop', at: 'after', block: 1 }, 'connection', 2],
    [{ kind: 'hang', at: 'request' }, 'timeout', 'rejected'],
    [{ kind: 'hang', at: 'within' }, 'timeout', 'rejected'],
    [{ kind: 'hang', at: 'after' }, 'timeout', 1],
    [{ kind: 'error', at: 'start' }, 'overloaded', 'rejected'],
    [{ kind: 'error', at: 'after', type: 'api_error', message: 'boom' }, 'server_error', 1],
  ] as const)('%j', async (fault, kind, left) => {
    expect(await failing(fault)).toEqual([kind, left])
  })

  test('losing nothing with a drop after everything but message_stop', async () => {
    const { model } = await play({ replies: [{ content: 'all', fault: { kind: 'drop', at: 'end' } }] })
    expect((await call(model)).reply).toMatchObject({ message: { stop_reason: 'end_turn' } })
  })

  test('including an HTTP error with its headers', async () => {
    const { model } = await play({ replies: [{ error: { status: 429, headers: { 'retry-after': '3' } } }] })
    expect(recordOf((await call(model)).error)).toMatchObject({ kind: 'rate_limit', retryAfterMs: 3000 })
  })

  test('and ends hanging and waiting requests when the server closes', async () => {
    const hanging = { content: 'x', fault: { kind: 'hang', at: 'start' } }
    const scripted = await play({ replies: [hanging, { content: 'x', delay_ms: 60_000 }] })
    const both = [call(scripted.model), call(scripted.model)]
    while (scripted.server.requests.length < 2) await new Promise((resolve) => void setImmediate(resolve))
    await scripted.close()
    for (const { error } of await Promise.all(both)) expect(recordOf(error).kind).toBe('connection')
  })
})

describe('serves other clients like the Messages API', () => {
  const post = (url: string, body: unknown) => fetch(url, { method: 'POST', body: JSON.stringify(body) })

  test('with a reply without streaming, a token count, and an error for anything else', async () => {
    const server = await startScriptedServer({ replies: [{ content: 'hello' }] })
    open.push(server)
    const counted = await post(`${server.url}/v1/messages/count_tokens`, { messages: [] })
    expect(await counted.json()).toEqual({ input_tokens: 4 })
    const whole = await post(`${server.url}/v1/messages?beta=true`, { model: 'claude-x', messages: [] })
    expect(await whole.json()).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: 'hello' }],
      model: 'claude-x',
    })
    const other = await fetch(`${server.url}/v1/models`)
    expect([other.status, await other.json()]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ])
  })
})

describe('rejects an invalid script with the place and the valid values', () => {
  test.each([
    ['a list', [], 'script must be an object, not [].'],
    ['no replies', {}, 'script: replies must be a list, not left out.'],
    [
      'a stranger',
      { replies: [], reply: 1 },
      'script: reply is not a known field. Fields: model, contextWindow, tokenFactor, webSearch, replies.',
    ],
    [
      'no content',
      { replies: [{}] },
      'script: replies[0].content must be a text, or a list of texts and blocks, not left out.',
    ],
    [
      'a misspelled field',
      { replies: [{ content: 'a', stop: 'x' }] },
      'script: replies[0].stop is not a known field. Fields: content, stop_reason, stop_sequence, usage, pace_ms, fault, when, expect, repeat, delay_ms.',
    ],
    [
      'a block without type',
      { replies: [{ content: [{}] }] },
      'script: replies[0].content[0].type must be a text, not left out.',
    ],
    [
      'a number',
      { replies: [{ content: [1] }] },
      'script: replies[0].content[0] must be a text or a block with a type, not 1.',
    ],
    [
      'a call without name',
      { replies: [{ content: [{ type: 'tool_use', input: {} }] }] },
      'script: replies[0].content[0].name must be a text, not left out.',
    ],
    [
      'an input that is not an object',
      { replies: [{ content: [{ type: 'tool_use', name: 'R', input: 'x' }] }] },
      'script: replies[0].content[0].input must be an object, not "x".',
    ],
    [
      'tokens that are not a number',
      { replies: [{ content: 'a', usage: { output_tokens: 'many' } }] },
      'script: replies[0].usage.output_tokens must be a number, 0 or more, not "many".',
    ],
    [
      'a condition that every request meets',
      { replies: [{ content: 'a', when: '' }] },
      'script: replies[0].when must be a text that is not empty, not "".',
    ],
    [
      'a repeat of 0',
      { replies: [{ content: 'a', repeat: 0 }] },
      'script: replies[0].repeat must be a whole number above 0, not 0.',
    ],
    [
      'a status',
      { replies: [{ error: { status: 200 } }] },
      'script: replies[0].error.status must be an HTTP status from 400 to 599, not 200.',
    ],
    [
      'a fault',
      { replies: [{ content: 'a', fault: { kind: 'drop', at: 'later' } }] },
      'script: replies[0].fault.at must be request, start, within, after, end, not "later".',
    ],
  ])('%s', (_, script, message) => {
    expect(() => parseScript(script)).toThrow(new ConfigurationError(message))
  })

  test('and reports invalid JSON with its line', () => {
    expect(() => parseScriptText('{\n  "replies": [1 2]\n}', 'demo.json')).toThrow(
      /^demo\.json is not valid JSON: .*\(line 2,? column 17\)\.$/,
    )
  })

  test('and reports a missing file', async () => {
    await expect(readScript('/no/such/script.json')).rejects.toThrow(/^The script cannot be read: .*no such file/)
  })

  test('and returns a valid script unchanged', () => {
    const script: Script = {
      replies: [{ content: [{ type: 'tool_use', name: 'Bash', input: { command: 'ls' } }], repeat: 2 }],
    }
    expect(parseScript(script)).toBe(script)
  })
})
