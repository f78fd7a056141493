// Requests to the Responses API (spec R-RESP-1 to R-RESP-9): every kind of block as items, and one complete body.
import { deepFreeze } from '@halting/core/adapters'
import type { ContentBlock, Json, JsonObject, ModelMessage, ModelRequest } from '@halting/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createReadableReasoning } from '../src/responses/readable-reasoning.ts'
import { createResponsesBody } from '../src/responses/responses-body.ts'
import type { RefusedFields, ResponsesBodyOptions } from '../src/responses/responses-body.ts'
import { requestOf } from './support/call.ts'
import { assistant, callOf, result, text, user } from './support/messages.ts'

const nothingRefused: RefusedFields = {
  store: false,
  include: false,
  carriedReasoning: 0,
  summary: false,
  efforts: new Set(),
}

const options: ResponsesBodyOptions = {
  model: 'gpt-5.2',
  id: 'asked',
  freeform: {},
  serverTools: [],
  effort: undefined,
  thinking: undefined,
  summary: undefined,
  extraBody: {},
  refused: nothingRefused,
  readableReasoning: createReadableReasoning(),
}

function bodyOf(parts: Partial<ModelRequest>, more: Partial<ResponsesBodyOptions> = {}): JsonObject {
  return JSON.parse(
    Buffer.from(createResponsesBody({ ...options, ...more })(requestOf(parts))).toString(),
  ) as JsonObject
}

function inputOf(messages: readonly ModelMessage[], more: Partial<ResponsesBodyOptions> = {}): Json | undefined {
  return bodyOf({ messages: deepFreeze(messages) }, more).input
}

const said = (words: string, more: JsonObject = {}): ContentBlock => ({
  type: 'text',
  text: words,
  origin: { api: 'responses', ...more },
})
const thought = (item: JsonObject): ContentBlock => ({
  type: 'thinking',
  thinking: 'hm',
  signature: '',
  origin: { api: 'responses', item },
})
const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const imagePart = { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' }
const pdf: ContentBlock = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
  title: 'a.pdf',
}
const pdfPart = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' }
const userItem = (...content: readonly JsonObject[]): JsonObject => ({ type: 'message', role: 'user', content })
const inputText = (words: string): JsonObject => ({ type: 'input_text', text: words })
const answer = (words: string, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
  ...more,
})
const item = { type: 'reasoning', id: 'rs_1', status: 'completed', summary: [], encrypted_content: 'gAAA' }
const sentItem = { type: 'reasoning', encrypted_content: 'gAAA', summary: [] }
const sentCall = { type: 'function_call', call_id: 'c1', name: 'Read', arguments: '{}' }

describe('a body', () => {
  const tool = { name: 'Read', description: 'Reads.', input_schema: { type: 'object' } } as const
  const listed = {
    type: 'function',
    name: 'Read',
    description: 'Reads.',
    parameters: { type: 'object' },
    strict: false,
  }

  test('contains what was requested, is not stored, and requests reasoning', () => {
    expect(bodyOf({ system: 'Be brief.', tools: [tool] })).toEqual({
      model: 'gpt-5.2',
      store: false,
      stream: true,
      instructions: 'Be brief.',
      tools: [listed],
      input: [userItem(inputText('hi'))],
      max_output_tokens: 100,
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto' },
    })
  })

  test('omits reasoning for other models, and empty instructions and tools', () => {
    expect(bodyOf({ system: ' \n', toolChoice: 'none' }, { model: 'gpt-4.1' })).toEqual({
      model: 'gpt-4.1',
      store: false,
      stream: true,
      input: [userItem(inputText('hi'))],
      max_output_tokens: 100,
    })
  })

  test("carries reasoning of other providers' models, without a summary", () => {
    const body = bodyOf({}, { model: 'grok-4' })
    expect(body.include).toEqual(['reasoning.encrypted_content'])
    expect(body).not.toHaveProperty('reasoning')
  })

  test('lists the tools and forbids their use with toolChoice none', () => {
    expect(bodyOf({ tools: [tool], toolChoice: 'none' })).toMatchObject({ tools: [listed], tool_choice: 'none' })
    expect(bodyOf({ tools: [tool] })).not.toHaveProperty('tool_choice')
  })

  test('lists freeform tools as custom, with their format, and server tools unchanged', () => {
    const format = { type: 'grammar', syntax: 'regex', definition: '.*' }
    const serverTools = [{ type: 'code_interpreter', container: { type: 'auto' } }]
    const other = { ...tool, name: 'Patch' }
    const body = bodyOf({ tools: [tool, other] }, { freeform: { Patch: { field: 'patch', format } }, serverTools })
    expect(body.tools).toEqual([
      listed,
      { type: 'custom', name: 'Patch', description: 'Reads.', format },
      ...serverTools,
    ])
  })

  test("takes a tool name literally, even one of an object's own properties", () => {
    const odd = { ...tool, name: 'constructor' }
    expect(bodyOf({ tools: [odd] }).tools).toEqual([{ ...listed, name: 'constructor' }])
  })

  test('has additional fields, overridden by our own', () => {
    const extraBody = { temperature: 0, model: 'other', store: true, previous_response_id: 'resp_1', input: 'x' }
    expect(bodyOf({}, { extraBody })).toEqual({ ...bodyOf({}), temperature: 0 })
  })

  test('requests effort and summary of its options, then those of extraBody', () => {
    const reasoning = { effort: 'low', summary: 'concise', context: 'all_turns' }
    expect(bodyOf({}, { extraBody: { reasoning } }).reasoning).toEqual(reasoning)
    expect(bodyOf({}, { extraBody: { reasoning }, effort: 'xhigh', summary: 'none' }).reasoning).toEqual({
      effort: 'xhigh',
      context: 'all_turns',
    })
  })

  test('requests the lowest effort that was not refused when thinking is off', () => {
    const thinking = { type: 'disabled' } as const
    const effortOf = (...refused: readonly string[]): unknown =>
      (
        bodyOf({ thinking }, { effort: 'high', refused: { ...nothingRefused, efforts: new Set(refused) } })
          .reasoning as JsonObject | undefined
      )?.effort
    expect(effortOf()).toBe('none')
    expect(effortOf('none')).toBe('minimal')
    expect(effortOf('none', 'minimal')).toBe('low')
    expect(bodyOf({ thinking }, { model: 'gpt-4.1' })).not.toHaveProperty('reasoning')
    expect(bodyOf({}, { thinking }).reasoning).toEqual({ effort: 'none', summary: 'auto' })
    expect(bodyOf({ thinking: { type: 'adaptive' } }, { thinking }).reasoning).toEqual({ summary: 'auto' })
  })

  test('lowers a refused effort, and omits it if all were refused', () => {
    const reasoningOf = (...refused: readonly string[]): unknown =>
      bodyOf({}, { effort: 'max', refused: { ...nothingRefused, efforts: new Set(refused) } }).reasoning
    expect(reasoningOf('max')).toEqual({ effort: 'xhigh', summary: 'auto' })
    expect(reasoningOf('max', 'xhigh')).toEqual({ effort: 'high', summary: 'auto' })
    expect(reasoningOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')).toEqual({ summary: 'auto' })
  })

  test('omits what was refused, but nothing that a person requested', () => {
    const refused = { ...nothingRefused, store: true, include: true, summary: true }
    const extraBody = { include: ['message.output_text.logprobs'] }
    const body = bodyOf({}, { refused, extraBody })
    expect(body).not.toHaveProperty('store')
    expect(body).not.toHaveProperty('reasoning')
    expect(body.include).toEqual(['message.output_text.logprobs'])
    expect(bodyOf({}, { extraBody }).include).toEqual(['reasoning.encrypted_content', 'message.output_text.logprobs'])
  })

  test('allows as many searches as are paid for, with their domains', () => {
    const webSearch = { maxUses: 3, allowedDomains: ['example.com'] }
    expect(bodyOf({ webSearch, toolChoice: 'none' })).toMatchObject({
      tools: [{ type: 'web_search', filters: { allowed_domains: ['example.com'] } }],
      tool_choice: 'none',
      max_tool_calls: 3,
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    })
    expect(bodyOf({ webSearch: { maxUses: 1, blockedDomains: ['a.com'] } }).tools).toEqual([
      { type: 'web_search', filters: { blocked_domains: ['a.com'] } },
    ])
    expect(bodyOf({ webSearch: { maxUses: 1 } }).tools).toEqual([{ type: 'web_search' }])
    const serverTools = [{ type: 'web_search', search_context_size: 'low' }, { type: 'file_search' }]
    expect(bodyOf({ webSearch: { maxUses: 1 } }, { serverTools }).tools).toEqual([
      serverTools[1],
      { type: 'web_search' },
    ])
    expect(bodyOf({}, { serverTools })).toMatchObject({
      tools: serverTools,
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    })
  })

  test('limits server tools by max_tool_calls, also next to searches, and not by default', () => {
    const serverTools = [{ type: 'code_interpreter' }]
    const maxOf = (extraBody: JsonObject, parts: Partial<ModelRequest> = {}): unknown =>
      bodyOf(parts, { serverTools, extraBody }).max_tool_calls
    expect(maxOf({ max_tool_calls: 2 })).toBe(2)
    expect(maxOf({ max_tool_calls: 0 })).toBe(0)
    expect(maxOf({ max_tool_calls: 2 }, { webSearch: { maxUses: 3 } })).toBe(5)
    expect(maxOf({}, { webSearch: { maxUses: 3 } })).toBeUndefined()
    expect(bodyOf({}, { extraBody: { max_tool_calls: 2 } })).not.toHaveProperty('max_tool_calls')
  })

  test('of later requests equals a new one', () => {
    const make = createResponsesBody(options)
    const messages: ModelMessage[] = [user(text('go'))]
    for (let turn = 0; turn < 20; turn++) {
      const custom = turn % 3 === 0 ? { origin: { api: 'responses', custom: true } } : {}
      const call = { ...callOf(`${turn}`, { input: 'x' }), ...custom } as ContentBlock
      messages.push(assistant([thought(item), call]), user(result(`${turn}`, 'fine — ünïcode 東京 🌍 \ud800')))
      const system = ['', 'one', 'two'][turn % 3] ?? ''
      const webSearch = turn % 5 === 0 ? { webSearch: { maxUses: 1 } } : {}
      const request = requestOf({ system, messages, maxOutputTokens: 100 + turn, ...webSearch })
      const once = Buffer.from(createResponsesBody(options)(request)).toString()
      expect(Buffer.from(make(request)).toString()).toBe(once)
    }
  })
})

describe('a user message', () => {
  test('is a message with a part per block, without blank ones', () => {
    const url: ContentBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const plain: ContentBlock = { type: 'document', source: { type: 'text', data: 'Words.' }, title: 'Notes' }
    const link: ContentBlock = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
    expect(inputOf([user(text('See'), image, url, pdf, plain, link)])).toEqual([
      userItem(
        inputText('See'),
        imagePart,
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
        pdfPart,
        inputText('Notes\n\nWords.'),
        { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      ),
    ])
    expect(inputOf([{ role: 'user', content: ' \n' }])).toEqual([])
  })

  test('has results before its text', () => {
    expect(inputOf([user(text('And now?'), result('c1', 'fine'))])).toEqual([
      { type: 'function_call_output', call_id: 'c1', output: 'fine' },
      userItem(inputText('And now?')),
    ])
  })

  test('has images and PDFs inside their results', () => {
    expect(inputOf([user(result('c1', [text('Look:'), image, pdf]), result('c2', [text('a'), text('b')]))])).toEqual([
      { type: 'function_call_output', call_id: 'c1', output: [inputText('Look:'), imagePart, pdfPart] },
      { type: 'function_call_output', call_id: 'c2', output: 'a\nb' },
    ])
  })

  test('marks a failed call once', () => {
    const outputs = inputOf([
      user(
        result('c1', 'no such file', true),
        result('c2', 'Error: no', true),
        result('c3', [image], true),
        result('c4', [text('odd'), image], true),
      ),
    ])
    expect((outputs as readonly JsonObject[]).map(({ output }) => output)).toEqual([
      'Error: no such file',
      'Error: no',
      [inputText('Error:'), imagePart],
      [inputText('Error: odd'), imagePart],
    ])
  })
})

describe('a model message', () => {
  test('has reasoning, text and calls as items, without ids', () => {
    expect(inputOf([assistant([thought(item), said('I look.'), callOf('c1')], 'asked')])).toEqual([
      sentItem,
      answer('I look.'),
      sentCall,
    ])
  })

  test('of another model has no reasoning, no phase and no service items', () => {
    const search: ContentBlock = {
      type: 'server_tool_use',
      id: 'ws_1',
      name: 'web_search',
      origin: { api: 'responses', item: { type: 'web_search_call', id: 'ws_1', status: 'completed' } },
    }
    const content = [thought(item), search, said('Found.', { phase: 'final_answer' })]
    expect(inputOf([assistant(content, 'other')])).toEqual([answer('Found.')])
    expect(inputOf([assistant(content, 'asked')])).toEqual([
      sentItem,
      { type: 'web_search_call', status: 'completed' },
      answer('Found.', { phase: 'final_answer' }),
    ])
  })

  test('has no trailing reasoning, and none that the service cannot read', () => {
    expect(inputOf([assistant([said('Hm.'), thought(item)])])).toEqual([answer('Hm.')])
    expect(inputOf([assistant([thought(item), said(' ')])])).toEqual([])
    const bare = { type: 'reasoning', summary: [], encrypted_content: null }
    const shown = { ...bare, content: [{ type: 'reasoning_text', text: 'hm' }] }
    expect(inputOf([assistant([thought(bare), thought(shown), said('Yes.')])])).toEqual([shown, answer('Yes.')])
  })

  test('has no reasoning that the service refused, but newer one', () => {
    const readableReasoning = createReadableReasoning()
    const own = { ...item, encrypted_content: `${'x'.repeat(100)}own` }
    const old = { ...item, encrypted_content: `${'y'.repeat(100)}own` }
    readableReasoning.note({ type: 'block', index: 0, messageId: 'm', block: thought(own) }, 1)
    const more = { readableReasoning, refused: { ...nothingRefused, carriedReasoning: 1 } }
    expect(inputOf([assistant([thought(item), thought(old), thought(own), said('Yes.')])], more)).toEqual([
      { ...sentItem, encrypted_content: own.encrypted_content },
      answer('Yes.'),
    ])
  })

  test('preserves a refusal', () => {
    expect(inputOf([assistant([said('No.', { refusal: true })])])).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ])
  })

  test('of other protocols is reduced to text and calls', () => {
    const other: readonly ContentBlock[] = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'redacted_thinking', data: 'd' },
      text('One '),
      text('text.'),
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
      { ...callOf('c1', { a: 1 }), origin: { api: 'chat_completions', arguments: '{ "a": 1 }' } } as ContentBlock,
    ]
    expect(inputOf([assistant(other)])).toEqual([answer('One text.'), { ...sentCall, arguments: '{"a":1}' }])
  })

  test('has the arguments as the model wrote them, and the namespace', () => {
    const call: ContentBlock = {
      type: 'tool_use',
      id: 'c1',
      name: 'Read',
      input: { a: 1 },
      origin: { api: 'responses', arguments: '{ "a": 1.0 }', namespace: 'files' },
    }
    expect(inputOf([assistant([call], 'asked')])).toEqual([
      { ...sentCall, arguments: '{ "a": 1.0 }', namespace: 'files' },
    ])
    expect(inputOf([assistant([call], 'other')])).toEqual([{ ...sentCall, arguments: '{ "a": 1.0 }' }])
  })

  test('has freeform calls and their results as custom ones', () => {
    const call = (id: string, name: string, input: JsonObject): ContentBlock => ({
      type: 'tool_use',
      id,
      name,
      input,
      origin: { api: 'responses', custom: true },
    })
    const messages = [
      assistant([call('c1', 'Patch', { patch: '*** Begin' }), call('c2', 'SQL', { input: 'SELECT 1' }), callOf('c3')]),
      user(result('c1', 'fine'), result('c2', [image]), result('c3', 'read')),
    ]
    expect(inputOf(messages, { freeform: { Patch: { field: 'patch' } } })).toEqual([
      { type: 'custom_tool_call', call_id: 'c1', name: 'Patch', input: '*** Begin' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'SQL', input: 'SELECT 1' },
      { ...sentCall, call_id: 'c3' },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'fine' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [imagePart] },
      { type: 'function_call_output', call_id: 'c3', output: 'read' },
    ])
  })

  test('has valid call ids, the same for the call and its result', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: 'grapheme' }), (id) => {
        const input = inputOf([assistant([callOf(id)]), user(result(id, 'fine'))]) as readonly JsonObject[]
        const [call, output] = input.map(({ call_id }) => call_id as string)
        expect(call).toBe(output)
        expect(call?.length).toBeGreaterThan(0)
        expect(call?.length).toBeLessThanOrEqual(64)
        const isTaken = id !== '' && id.length <= 64
        expect(call === id).toBe(isTaken)
      }),
    )
  })
})

describe('for any record', () => {
  const json = fc.jsonValue({ maxDepth: 2 })
  const origin = fc.record(
    {
      api: fc.constantFrom('responses', 'chat_completions', 'messages'),
      item: fc.oneof(
        json,
        fc.record({
          type: fc.constantFrom('reasoning', 'web_search_call', '', 'mcp_call'),
          id: fc.constant('x_1'),
          encrypted_content: fc.oneof(json, fc.string()),
          content: json,
          summary: json,
        }),
      ),
      phase: json,
      refusal: json,
      arguments: json,
      namespace: json,
      custom: json,
    },
    { requiredKeys: [] },
  )
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string() }),
    fc.record({ type: fc.constant('text'), text: fc.string(), origin }),
    fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string(), origin }),
    fc.record({ type: fc.constant('tool_use'), id: fc.string(), name: fc.string(), input: json, origin }),
    fc.record({ type: fc.constantFrom('server_tool_use', 'responses_item', 'web_search_tool_result'), origin }),
  )
  const part = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string() }),
    fc.record({ type: fc.constant('document'), source: json, title: json }),
    fc.record({ type: fc.constant('search_result'), content: json }),
  )
  const userPart = fc.oneof(
    part,
    fc.record({
      type: fc.constant('tool_result'),
      tool_use_id: fc.string(),
      content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 })),
      is_error: fc.boolean(),
    }),
  )
  const message = fc.oneof(
    fc.record({ role: fc.constant('user'), content: fc.oneof(fc.string(), fc.array(userPart, { maxLength: 4 })) }),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.array(block, { maxLength: 5 }),
      by: fc.constantFrom('asked', 'other'),
    }),
  )

  test('sends items without ids, and only readable reasoning of its own that something follows', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (given) => {
        // The checks of stored transcripts are weaker.
        for (const one of given as readonly ModelMessage[]) {
          const items = inputOf([one]) as readonly JsonObject[]
          for (const [at, sent] of items.entries()) {
            expect(typeof sent.type).toBe('string')
            expect(sent).not.toHaveProperty('id')
            expect(sent.type === 'reasoning' && at === items.length - 1).toBe(false)
            const isRead = sent.type !== 'reasoning' || Boolean(sent.encrypted_content) || Array.isArray(sent.content)
            expect(isRead).toBe(true)
            expect(sent.type === 'reasoning' && one.role === 'assistant' && one.by === 'other').toBe(false)
          }
        }
      }),
    )
  })
})
