import { encodeEventStreamMessage } from '@copilotkit/aimock'
import type { JsonObject } from '@halting/core'

/** The protocols of services. */
export type Wire = 'messages' | 'chat' | 'groq' | 'mistral' | 'responses' | 'gemini' | 'bedrock'

type ChatWire = 'chat' | 'groq' | 'mistral'

/** The response of a service to one request. */
export interface Reply {
  readonly text?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: JsonObject }[]
  readonly reasoning?: string
  /** The address of a page that the service found with its own search. */
  readonly found?: string
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number }
  readonly error?: { readonly status: number; readonly message: string; readonly type: string }
  /** The data of an image that the model created: a PNG. */
  readonly made?: string
  /** Arrives slowly, so that it can be cut in the middle. */
  readonly isSlow?: true
}

/** The signature of reasoning in the handwritten streams. */
export const signature = 'c2lnbmVkLWJ5LXRoZS1zZXJ2aWNl'

/** A handwritten response in a protocol, for features that aimock does not support. */
export function written(wire: Wire, reply: Reply): { readonly contentType: string; readonly bytes: Uint8Array } {
  if (wire === 'bedrock') {
    return { contentType: 'application/vnd.amazon.eventstream', bytes: Buffer.concat(bedrockFrames(reply)) }
  }
  const isNamed = wire === 'messages' || wire === 'responses'
  const lines = eventsOf(wire, reply).map((event) => {
    const name = isNamed ? `event: ${event.type as string}\n` : ''
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  const end = wire === 'messages' || wire === 'gemini' ? '' : 'data: [DONE]\n\n'
  return { contentType: 'text/event-stream', bytes: Buffer.from(lines.join('') + end) }
}

function eventsOf(wire: Exclude<Wire, 'bedrock'>, reply: Reply): readonly JsonObject[] {
  switch (wire) {
    case 'messages':
      return messagesEvents(reply)
    case 'responses':
      return responsesEvents(reply)
    case 'gemini':
      return geminiChunks(reply)
    case 'chat':
    case 'groq':
    case 'mistral':
      return chatChunks(reply, wire)
  }
}

const usageOf = ({ usage }: Reply) => ({ input: 10, output: 5, cached: 0, ...usage })

function messagesEvents(reply: Reply): readonly JsonObject[] {
  const { input, output, cached } = usageOf(reply)
  const blocks: (readonly [JsonObject, ...JsonObject[]])[] = [
    ...(reply.reasoning === undefined
      ? []
      : [
          [
            { type: 'thinking', thinking: '', signature: '' },
            { type: 'thinking_delta', thinking: reply.reasoning },
            { type: 'signature_delta', signature },
          ] as const,
        ]),
    ...searchBlocks(reply.found).map((block) => [block] as const),
    ...(reply.text === undefined
      ? []
      : [
          [
            { type: 'text', text: '' },
            { type: 'text_delta', text: reply.text },
          ] as const,
        ]),
    ...(reply.calls ?? []).map(
      ({ id, name, input: given }) =>
        [
          { type: 'tool_use', id, name, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(given) },
        ] as const,
    ),
  ]
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(([start, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: reply.calls === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage: {
        output_tokens: output,
        ...(reply.found !== undefined && { server_tool_use: { web_search_requests: 1 } }),
      },
    },
    { type: 'message_stop' },
  ]
}

function searchBlocks(url: string | undefined): readonly JsonObject[] {
  if (url === undefined) return []
  const found = { type: 'web_search_result', url, title: 'Found', encrypted_content: 'e', page_age: null }
  return [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'stones' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] },
  ]
}

/** Each dialect has its own name for reasoning. */
function thoughtIn(dialect: ChatWire, text: string): JsonObject {
  if (dialect === 'chat') return { reasoning_content: text }
  if (dialect === 'groq') return { reasoning: text }
  return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }
}

function chatChunks(reply: Reply, dialect: ChatWire): readonly JsonObject[] {
  const { input, output, cached } = usageOf(reply)
  const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
    id: 'chatcmpl_1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(reply.reasoning === undefined ? [] : [chunk(thoughtIn(dialect, reply.reasoning))]),
    ...(reply.text === undefined ? [] : [chunk({ content: reply.text })]),
    ...(reply.calls ?? []).map(({ id, name, input: given }, index) =>
      chunk({
        tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(given) } }],
      }),
    ),
    {
      ...chunk({}, reply.calls === undefined ? 'stop' : 'tool_calls'),
      usage,
      // Groq reports it here.
      x_groq: { id: 'req_1', usage },
    },
  ]
}

function responsesEvents(reply: Reply): readonly JsonObject[] {
  const { input, output, cached } = usageOf(reply)
  const items: readonly JsonObject[] = [
    ...(reply.reasoning === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: reply.reasoning }],
            encrypted_content: signature,
            status: 'completed',
          },
        ]),
    ...(reply.found === undefined
      ? []
      : [
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'stones', sources: [{ type: 'url', url: reply.found }] },
          },
        ]),
    ...(reply.text === undefined
      ? []
      : [
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: reply.text, annotations: annotationsOf(reply) }],
          },
        ]),
    ...(reply.calls ?? []).map(({ id, name, input: given }, index) => ({
      type: 'function_call',
      id: `fc_${index}`,
      call_id: id,
      name,
      arguments: JSON.stringify(given),
      status: 'completed',
    })),
  ]
  const response = (more: JsonObject): JsonObject => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'gpt',
    status: 'in_progress',
    output: [],
    ...more,
  })
  const events: readonly JsonObject[] = [
    { type: 'response.created', response: response({}) },
    ...items.flatMap((item, output_index) => itemEvents(item, output_index)),
    {
      type: 'response.completed',
      response: response({
        status: 'completed',
        output: items,
        usage: {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: input + output,
        },
      }),
    },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function annotationsOf({ found, text = '' }: Reply): JsonObject[] {
  if (found === undefined) return []
  return [{ type: 'url_citation', url: found, title: 'Found', start_index: 0, end_index: text.length }]
}

function itemEvents(item: JsonObject, output_index: number): readonly JsonObject[] {
  const item_id = item.id!
  const added = (more: JsonObject): JsonObject => ({
    type: 'response.output_item.added',
    output_index,
    item: { ...item, ...more, ...(item.type !== 'reasoning' && { status: 'in_progress' }) },
  })
  const done: JsonObject = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'function_call') {
    const delta = item.arguments!
    return [
      added({ arguments: '' }),
      { type: 'response.function_call_arguments.delta', item_id, output_index, delta },
      { type: 'response.function_call_arguments.done', item_id, output_index, arguments: delta },
      done,
    ]
  }
  if (item.type === 'web_search_call') return [added({}), done]
  const isText = item.type === 'message'
  const parts = (isText ? item.content : item.summary) as readonly [{ readonly text: string; readonly type: string }]
  const { text, type } = parts[0]
  const place: JsonObject = { item_id, output_index, [isText ? 'content_index' : 'summary_index']: 0 }
  const of = isText ? 'response.output_text' : 'response.reasoning_summary_text'
  const part = isText ? 'response.content_part' : 'response.reasoning_summary_part'
  const made = (words: string): JsonObject => ({ type, text: words, ...(isText && { annotations: [] }) })
  return [
    added(isText ? { content: [] } : { summary: [] }),
    { type: `${part}.added`, ...place, part: made('') },
    { type: `${of}.delta`, ...place, delta: text },
    { type: `${of}.done`, ...place, text },
    { type: `${part}.done`, ...place, part: made(text) },
    done,
  ]
}

function geminiChunks(reply: Reply): readonly JsonObject[] {
  const { input, output, cached } = usageOf(reply)
  const parts: readonly JsonObject[] = [
    ...(reply.reasoning === undefined ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(reply.text === undefined ? [] : [{ text: reply.text }]),
    ...(reply.made === undefined
      ? []
      : [{ inlineData: { mimeType: 'image/png', data: reply.made }, thoughtSignature: signature }]),
    ...(reply.calls ?? []).map(({ name, input: args }, index) => ({
      functionCall: { name, args },
      ...(index === 0 && reply.reasoning !== undefined && { thoughtSignature: signature }),
    })),
  ]
  return [
    {
      candidates: [
        {
          content: { role: 'model', parts },
          finishReason: 'STOP',
          index: 0,
          ...(reply.found !== undefined && {
            groundingMetadata: {
              webSearchQueries: ['stones'],
              groundingChunks: [{ web: { uri: reply.found, title: 'Found' } }],
            },
          }),
        },
      ],
      usageMetadata: {
        promptTokenCount: input,
        candidatesTokenCount: output,
        totalTokenCount: input + output,
        cachedContentTokenCount: cached,
      },
      modelVersion: 'gemini',
      responseId: 'r_1',
    },
  ]
}

function bedrockFrames(reply: Reply): readonly Buffer[] {
  const { input, output, cached } = usageOf(reply)
  const blocks: (readonly [JsonObject | undefined, ...JsonObject[]])[] = [
    ...(reply.reasoning === undefined
      ? []
      : [[undefined, { reasoningContent: { text: reply.reasoning } }, { reasoningContent: { signature } }] as const]),
    ...(reply.text === undefined ? [] : [[undefined, { text: reply.text }] as const]),
    ...(reply.calls ?? []).map(
      ({ id, name, input: given }) =>
        [{ toolUse: { toolUseId: id, name } }, { toolUse: { input: JSON.stringify(given) } }] as const,
    ),
  ]
  return [
    encodeEventStreamMessage('messageStart', { role: 'assistant' }),
    ...blocks.flatMap(([start, ...deltas], contentBlockIndex) => [
      ...(start === undefined ? [] : [encodeEventStreamMessage('contentBlockStart', { contentBlockIndex, start })]),
      ...deltas.map((delta) => encodeEventStreamMessage('contentBlockDelta', { contentBlockIndex, delta })),
      encodeEventStreamMessage('contentBlockStop', { contentBlockIndex }),
    ]),
    encodeEventStreamMessage('messageStop', { stopReason: reply.calls === undefined ? 'end_turn' : 'tool_use' }),
    encodeEventStreamMessage('metadata', {
      usage: {
        inputTokens: input - cached,
        outputTokens: output,
        totalTokens: input + output,
        cacheReadInputTokens: cached,
        cacheWriteInputTokens: 0,
      },
      metrics: { latencyMs: 1 },
    }),
  ]
}
