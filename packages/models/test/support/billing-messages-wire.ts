import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../../src/json-fields.ts'
import type { Bill } from './billing-meter.ts'
import { halves } from './billing-wire.ts'
import type { Order, PromptPiece, Reply, ReplyBlock, Wire } from './billing-wire.ts'

/** The Messages API. */
export const messagesWire: Wire = {
  path: '/v1/messages',
  read,
  events,
  errorEvent: (type) => eventOf({ type: 'error', error: { type, message: 'It broke off.' } }),
  error: (type, message) => ({ type: 'error', error: { type, message }, request_id: null }),
  textsOf: (block) => wireBlocks(block).map(textOf),
  hasSearches: true,
  hasHourCache: true,
}

function read(body: JsonObject): Order {
  const tools = list(body.tools)
  const mayCall = !(isJsonObject(body.tool_choice) && body.tool_choice.type === 'none')
  const pieces: PromptPiece[] = [...tools, ...list(body.system)].map(pieceOf)
  for (const message of list(body.messages)) {
    pieces.push({ text: '', frame: 'message', isBreakpoint: false }, ...list(message.content).map(pieceOf))
  }
  return {
    model: stringOf(body.model),
    maxTokens: Number(body.max_tokens),
    tools: mayCall ? tools.map(({ name }) => stringOf(name)) : [],
    pieces,
  }
}

function list(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function pieceOf(block: JsonObject): PromptPiece {
  return { text: textOf(block), frame: 'block', isBreakpoint: block.cache_control !== undefined }
}

/** The text that a model reads from a block: its words, and structured data as JSON, without signatures. */
function textOf(block: JsonObject): string {
  switch (block.type) {
    case 'text':
      return stringOf(block.text)
    case 'thinking':
      return stringOf(block.thinking)
    case 'tool_use':
      return `${stringOf(block.name)}${JSON.stringify(block.input)}`
    case 'tool_result': {
      const { content } = block
      return `${stringOf(block.tool_use_id)}${typeof content === 'string' ? content : list(content).map(textOf).join('')}`
    }
    case 'server_tool_use':
    case 'web_search_tool_result':
      return JSON.stringify(block.input ?? block.content)
    default:
      // A tool.
      return `${stringOf(block.name)}${stringOf(block.description)}${JSON.stringify(block.input_schema)}`
  }
}

function wireBlocks(block: ReplyBlock): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text }]
    case 'thinking':
      return [{ type: 'thinking', thinking: block.text, signature: 'c2lnbmVk' }]
    case 'call':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: block.input }]
    case 'search': {
      const result = {
        type: 'web_search_result',
        url: 'https://example.org',
        title: '',
        encrypted_content: block.found,
      }
      return [
        { type: 'server_tool_use', id: block.id, name: 'web_search', input: { query: block.query } },
        { type: 'web_search_tool_result', tool_use_id: block.id, content: [result] },
      ]
    }
  }
}

const stopReasons = {
  end: 'end_turn',
  calls: 'tool_use',
  cut: 'max_tokens',
  pause: 'pause_turn',
  refusal: 'refusal',
} as const satisfies Record<Reply['stop'], string>

function events(reply: Reply): readonly string[] {
  const { id, model, bill } = reply
  const start = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...usageField(reply, { ...bill, output: Math.min(1, bill.output) }, 'start'),
  }
  const blocks = reply.blocks.flatMap(wireBlocks)
  const delta = { stop_reason: stopReasons[reply.stop], stop_sequence: null }
  return [
    eventOf({ type: 'message_start', message: start }),
    ...blocks.flatMap((block, index) => blockEvents(block, index)),
    eventOf({ type: 'message_delta', delta, ...usageField(reply, bill, 'end') }),
    eventOf({ type: 'message_stop' }),
  ]
}

function usageField({ usage, tell }: Reply, bill: Bill, place: 'start' | 'end'): JsonObject {
  if (tell !== undefined) return { usage: tell(place) }
  if (usage === 'absent' || (usage === 'start_only' && place === 'end')) return {}
  const reported = (tokens: number): number => (usage === 'zero' ? 0 : tokens)
  const prompt = (tokens: number): number => (usage === 'no_prompt' ? 0 : reported(tokens))
  return {
    usage: {
      input_tokens: prompt(bill.input),
      output_tokens: reported(bill.output),
      cache_read_input_tokens: prompt(bill.read),
      cache_creation_input_tokens: prompt(bill.write5m + bill.write1h),
      cache_creation: {
        ephemeral_5m_input_tokens: prompt(bill.write5m),
        ephemeral_1h_input_tokens: prompt(bill.write1h),
      },
      server_tool_use: { web_search_requests: reported(bill.searches) },
    },
  }
}

function blockEvents(block: JsonObject, index: number): readonly string[] {
  const { open, deltas } = openingOf(block)
  return [
    eventOf({ type: 'content_block_start', index, content_block: open }),
    ...deltas.map((delta) => eventOf({ type: 'content_block_delta', index, delta })),
    eventOf({ type: 'content_block_stop', index }),
  ]
}

function openingOf(block: JsonObject): { readonly open: JsonObject; readonly deltas: readonly JsonObject[] } {
  switch (block.type) {
    case 'text':
      return {
        open: { type: 'text', text: '' },
        deltas: halves(stringOf(block.text)).map((text) => ({ type: 'text_delta', text })),
      }
    case 'thinking':
      return {
        open: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: stringOf(block.thinking) },
          { type: 'signature_delta', signature: stringOf(block.signature) },
        ],
      }
    case 'tool_use':
    case 'server_tool_use':
      return {
        open: { ...block, input: {} },
        deltas: halves(JSON.stringify(block.input)).map((json) => ({ type: 'input_json_delta', partial_json: json })),
      }
    default:
      return { open: block, deltas: [] }
  }
}

function eventOf(event: JsonObject): string {
  return `event: ${stringOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
}
