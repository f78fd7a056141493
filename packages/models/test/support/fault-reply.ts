import type { Json, JsonObject } from '@halting/core'

/** The protocol of a fault server. */
export type FaultProtocol = 'messages' | 'chat' | 'responses'

/** The moments of a response at which a fault can happen, in their order. */
export const faultPoints = [
  /** The connection was accepted. */
  'accept',
  /** The request was read to its end. */
  'request',
  /** The head of the response was sent. */
  'headers',
  /** The message has started. */
  'begun',
  /** One piece of a text was sent. */
  'in text',
  /** The text is complete. */
  'text',
  /** One piece of a call's input was sent. */
  'in call',
  /** The call is complete. */
  'call',
  /** The stop reason was sent. */
  'stop',
  /** The last event was sent. */
  'end',
] as const
export type FaultPoint = (typeof faultPoints)[number]

/** A piece of a stream: one event, and the point that is reached after it. */
export interface Frame {
  readonly bytes: string
  readonly reaches?: FaultPoint
}

/** The content of a fault server: blocks of the Messages API, converted to the protocol of the server. */
export interface FaultReply {
  readonly blocks: readonly JsonObject[]
  readonly stopReason: 'end_turn' | 'tool_use'
}

/** A text and a call: the reply on which every fault is tested. */
export const callingReply: FaultReply = {
  blocks: [
    { type: 'text', text: 'I will read 日本.md.' },
    { type: 'tool_use', id: 'call_0001', name: 'read', input: { path: '日本.md' } },
  ],
  stopReason: 'tool_use',
}

/** A final answer. */
export const answeringReply: FaultReply = { blocks: [{ type: 'text', text: 'All is well.' }], stopReason: 'end_turn' }

/** The billed usage of every reply of a fault server. */
export const repliedUsage = { input_tokens: 100, output_tokens: 20 } as const

/**
 * The events of a reply. Texts and inputs are sent in two pieces each. Chat completions support only texts and calls,
 * and a text there is complete when the next call starts.
 */
export function framesOf(protocol: FaultProtocol, reply: FaultReply, id = 'msg_1'): readonly Frame[] {
  if (protocol === 'responses') return responsesFrames(reply, id)
  return protocol === 'messages' ? messagesFrames(reply, id) : chatFrames(reply, id)
}

/** One event of the Messages API. */
export function messagesEvent(event: JsonObject): string {
  return `event: ${textOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
}

/** One chunk of chat completions. */
export function chatEvent(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

export function messageStart(id: string): string {
  const usage = { ...repliedUsage, output_tokens: 1 }
  const message = { id, type: 'message', role: 'assistant', model: 'served', content: [], stop_reason: null, usage }
  return messagesEvent({ type: 'message_start', message })
}

function messagesFrames({ blocks, stopReason }: FaultReply, id: string): readonly Frame[] {
  const end = { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage: repliedUsage }
  return [
    { bytes: messageStart(id), reaches: 'begun' },
    ...blocks.flatMap(messagesBlock),
    { bytes: messagesEvent(end), reaches: 'stop' },
    { bytes: messagesEvent({ type: 'message_stop' }), reaches: 'end' },
  ]
}

function messagesBlock(block: JsonObject, index: number): readonly Frame[] {
  const begin = (empty: JsonObject): Frame => ({
    bytes: messagesEvent({ type: 'content_block_start', index, content_block: { ...block, ...empty } }),
  })
  const delta = (fields: JsonObject, reaches?: FaultPoint): Frame => ({
    bytes: messagesEvent({ type: 'content_block_delta', index, delta: fields }),
    ...(reaches !== undefined && { reaches }),
  })
  const stop = { bytes: messagesEvent({ type: 'content_block_stop', index }) }
  switch (block.type) {
    case 'text': {
      const [first, second] = halves(textOf(block.text))
      const pieces = [
        delta({ type: 'text_delta', text: first }, 'in text'),
        delta({ type: 'text_delta', text: second }),
      ]
      return [begin({ text: '' }), ...pieces, { ...stop, reaches: 'text' }]
    }
    case 'tool_use': {
      const [first, second] = halves(JSON.stringify(block.input))
      const pieces = [
        delta({ type: 'input_json_delta', partial_json: first }, 'in call'),
        delta({ type: 'input_json_delta', partial_json: second }),
      ]
      return [begin({ input: {} }), ...pieces, { ...stop, reaches: 'call' }]
    }
    case 'thinking': {
      const { thinking, signature } = block
      const pieces = [delta({ type: 'thinking_delta', thinking }), delta({ type: 'signature_delta', signature })]
      return [begin({ thinking: '', signature: '' }), ...pieces, stop]
    }
    default:
      return [begin({}), stop]
  }
}

/** A chunk with a piece of a reply. */
export function chatChunk(id: string, delta: JsonObject, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  return chatEvent({ id, object: 'chat.completion.chunk', model: 'served', choices })
}

function chatFrames({ blocks, stopReason }: FaultReply, id: string): readonly Frame[] {
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = repliedUsage
  const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
  return [
    { bytes: chatChunk(id, { role: 'assistant', content: '' }), reaches: 'begun' },
    ...blocks.flatMap((block, index) => chatBlock(block, blocks[index - 1], id, callsBefore(blocks, index))),
    { bytes: chatChunk(id, {}, stopReason === 'tool_use' ? 'tool_calls' : 'stop'), reaches: 'stop' },
    { bytes: chatEvent({ id, object: 'chat.completion.chunk', model: 'served', choices: [], usage }) },
    { bytes: 'data: [DONE]\n\n', reaches: 'end' },
  ]
}

function chatBlock(block: JsonObject, before: JsonObject | undefined, id: string, place: number): readonly Frame[] {
  if (block.type === 'text') {
    const [first, second] = halves(textOf(block.text))
    return [
      { bytes: chatChunk(id, { content: first }), reaches: 'in text' },
      { bytes: chatChunk(id, { content: second }) },
    ]
  }
  if (block.type !== 'tool_use') throw new Error(`Chat completions have no ${textOf(block.type)}.`)
  const [first, second] = halves(JSON.stringify(block.input))
  const piece = (fields: JsonObject): string => chatChunk(id, { tool_calls: [{ index: place, ...fields }] })
  const head = piece({ id: block.id, type: 'function', function: { name: block.name, arguments: '' } })
  return [
    { bytes: head, ...(before?.type === 'text' && { reaches: 'text' }) },
    { bytes: piece({ function: { arguments: first } }), reaches: 'in call' },
    { bytes: piece({ function: { arguments: second } }), reaches: 'call' },
  ]
}

/** One event of the Responses API. */
export function responsesEvent(event: JsonObject): string {
  return messagesEvent(event)
}

/** The first event of a response. */
export function responseCreated(id: string, sequence_number = 0): JsonObject {
  const response = { id, object: 'response', model: 'served', status: 'in_progress', output: [], usage: null }
  return { type: 'response.created', sequence_number, response }
}

/** The last event of a response, with all of it, followed by a `[DONE]` as some services send it. */
function responsesFrames(reply: FaultReply, id: string): readonly Frame[] {
  const begun = { ...responseCreated(id), type: 'response.in_progress' }
  const events: readonly (readonly [event: JsonObject, reaches?: FaultPoint])[] = [
    [responseCreated(id)],
    [begun, 'begun'],
    ...reply.blocks.flatMap((block, index) => responsesItem(block, index)),
    [{ type: 'response.completed', response: wholeResponse(reply, id) }, 'stop'],
  ]
  return [
    ...events.map(([event, reaches], sequence_number) => ({
      bytes: responsesEvent({ ...event, sequence_number }),
      ...(reaches !== undefined && { reaches }),
    })),
    { bytes: 'data: [DONE]\n\n', reaches: 'end' },
  ]
}

/** A complete response. */
export function wholeResponse({ blocks }: FaultReply, id = 'msg_1'): JsonObject {
  const { input_tokens, output_tokens } = repliedUsage
  const usage = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens }
  const output = blocks.map((block) => itemOf(block))
  return { id, object: 'response', model: 'served', status: 'completed', error: null, output, usage }
}

function itemOf(block: JsonObject): JsonObject {
  switch (block.type) {
    case 'text': {
      const content = [{ type: 'output_text', text: block.text, annotations: [] }]
      return { type: 'message', id: 'item_1', status: 'completed', role: 'assistant', content }
    }
    case 'tool_use': {
      const { id: call_id, name, input } = block
      return {
        type: 'function_call',
        id: 'item_1',
        status: 'completed',
        call_id,
        name,
        arguments: JSON.stringify(input),
      }
    }
    default:
      throw new Error(`Of a response a fault server makes no ${textOf(block.type)}.`)
  }
}

function responsesItem(
  block: JsonObject,
  output_index: number,
): readonly (readonly [event: JsonObject, reaches?: FaultPoint])[] {
  const item = itemOf(block)
  const end = { type: 'response.output_item.done', output_index, item }
  const begin = (fields: JsonObject): JsonObject => ({
    type: 'response.output_item.added',
    output_index,
    item: { ...item, status: 'in_progress', ...fields },
  })
  if (block.type === 'text') {
    const [first, second] = halves(textOf(block.text))
    const delta = { type: 'response.output_text.delta', output_index, content_index: 0 }
    return [
      [begin({ content: [] })],
      [{ ...delta, delta: first }, 'in text'],
      [{ ...delta, delta: second }],
      [{ ...delta, type: 'response.output_text.done', text: block.text }],
      [end, 'text'],
    ]
  }
  const [first, second] = halves(textOf(item.arguments))
  const delta = { type: 'response.function_call_arguments.delta', output_index }
  return [
    [begin({ arguments: '' })],
    [{ ...delta, delta: first }, 'in call'],
    [{ ...delta, delta: second }],
    [{ ...delta, type: 'response.function_call_arguments.done', arguments: item.arguments }],
    [end, 'call'],
  ]
}

function callsBefore(blocks: readonly JsonObject[], index: number): number {
  return blocks.slice(0, index).filter(({ type }) => type === 'tool_use').length
}

function halves(text: string): readonly [string, string] {
  const middle = Math.floor(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
