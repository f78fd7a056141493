import { noUsage } from '@halting/core/adapters'
import type { JsonObject, Usage } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { capReply } from './cap-reply.ts'
import type { CappedReply } from './cap-reply.ts'
import { estimatedTokens } from './estimated-tokens.ts'
import type { ScriptedBlock, ScriptedFault, ScriptedMessage } from './script.ts'

/** One step of a response: an event, or the fault that ends it. */
export type StreamStep =
  | { readonly kind: 'event'; readonly event: JsonObject }
  | { readonly kind: 'fault'; readonly fault: ScriptedFault }

export interface ReplyContext {
  /** Number of the request, from 1; ids are derived from it. */
  readonly request: number
  /** The requested model. */
  readonly model: string
  /** The body of the request. */
  readonly requestText: string
  /** The request's `max_tokens`; Infinity when it has none. */
  readonly maxTokens: number
  /** Number of tokens counted per four characters. */
  readonly tokenFactor: number
}

/** Returns the message as the API sends it without streaming. */
export function replyMessage(reply: ScriptedMessage, context: ReplyContext): JsonObject {
  return messageOf(reply, cappedOf(reply, context), context)
}

function messageOf(reply: ScriptedMessage, capped: CappedReply, context: ReplyContext): JsonObject {
  const { blocks: content, isCut } = capped
  const ownReason = reply.stop_reason ?? (content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn')
  return {
    id: `msg_scripted_${context.request}`,
    type: 'message',
    role: 'assistant',
    model: context.model,
    content,
    stop_reason: isCut ? 'max_tokens' : ownReason,
    stop_sequence: isCut ? null : (reply.stop_sequence ?? null),
    usage: { ...usageOf(reply, capped, context) },
  }
}

/** Returns the message as events, with its fault in place. */
export function replySteps(reply: ScriptedMessage, context: ReplyContext): readonly StreamStep[] {
  const capped = cappedOf(reply, context)
  const message = messageOf(reply, capped, context)
  const { stop_reason, stop_sequence } = message
  const usage = message.usage as JsonObject
  const fault = (at: ScriptedFault['at'], block?: number): readonly StreamStep[] =>
    reply.fault?.at === at && (block === undefined || block === (reply.fault.block ?? 0))
      ? [{ kind: 'fault', fault: reply.fault }]
      : []
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  }
  const steps: StreamStep[] = [event({ type: 'message_start', message: start }), ...fault('start')]
  partsOf(capped).forEach(([open, deltas], index) => {
    const middle = Math.ceil(deltas.length / 2)
    const delta = (part: JsonObject): StreamStep => event({ type: 'content_block_delta', index, delta: part })
    steps.push(event({ type: 'content_block_start', index, content_block: open }))
    if (index === 0) steps.push(event({ type: 'ping' }))
    steps.push(...deltas.slice(0, middle).map(delta), ...fault('within', index), ...deltas.slice(middle).map(delta))
    steps.push(event({ type: 'content_block_stop', index }), ...fault('after', index))
  })
  steps.push(event({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }), ...fault('end'))
  steps.push(event({ type: 'message_stop' }))
  return steps
}

function event(event: JsonObject): StreamStep {
  return { kind: 'event', event }
}

function cappedOf(reply: ScriptedMessage, context: ReplyContext): CappedReply {
  return capReply(blocksOf(reply, context), reply.usage?.output_tokens, context)
}

function blocksOf({ content }: ScriptedMessage, { request }: ReplyContext): readonly JsonObject[] {
  const parts = typeof content === 'string' ? [content] : content
  return parts.map((part, index) =>
    typeof part === 'string' ? { type: 'text', text: part } : complete(part, request, index),
  )
}

function complete(block: ScriptedBlock, request: number, index: number): JsonObject {
  // Scripts are JSON.
  const fields = block as unknown as JsonObject
  if (block.type === 'tool_use') return { id: `toolu_scripted_${request}_${index}`, input: {}, ...fields }
  if (block.type === 'thinking') return { signature: `scripted-${request}-${index}`, ...fields }
  return fields
}

/** The block in `content_block_start`, and the deltas that follow. */
type BlockParts = readonly [JsonObject, readonly JsonObject[]]

function partsOf({ blocks, broken }: CappedReply): readonly BlockParts[] {
  const parts = blocks.map(blockParts)
  return broken === undefined ? parts : [...parts, callParts(broken.call, broken.json)]
}

function blockParts(block: JsonObject): BlockParts {
  switch (stringOf(block.type)) {
    case 'text':
      return [{ ...block, text: '' }, pieces(stringOf(block.text)).map((text) => ({ type: 'text_delta', text }))]
    case 'thinking':
      return [
        { ...block, thinking: '', signature: '' },
        [
          ...pieces(stringOf(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: stringOf(block.signature) },
        ],
      ]
    case 'tool_use':
      return callParts(block, JSON.stringify(block.input))
    default:
      return [block, []]
  }
}

function callParts(call: JsonObject, json: string): BlockParts {
  const deltas = ['', ...pieces(json)].map((partial) => ({ type: 'input_json_delta', partial_json: partial }))
  return [{ ...call, input: {} }, deltas]
}

/** Splits a text into chunks of about 24 characters, longer ones for long texts; never inside a character. */
function pieces(text: string): readonly string[] {
  const characters = Array.from(text)
  const length = Math.max(24, Math.ceil(characters.length / 200))
  const all: string[] = []
  for (let start = 0; start < characters.length; start += length) {
    all.push(characters.slice(start, start + length).join(''))
  }
  return all
}

function usageOf(reply: ScriptedMessage, { outputTokens }: CappedReply, context: ReplyContext): Usage {
  const { requestText, tokenFactor } = context
  return {
    ...noUsage,
    input_tokens: estimatedTokens(requestText, tokenFactor),
    ...reply.usage,
    output_tokens: outputTokens,
  }
}
