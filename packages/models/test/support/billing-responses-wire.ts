import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../../src/json-fields.ts'
import type { Bill } from './billing-meter.ts'
import { halves } from './billing-wire.ts'
import type { Order, PromptPiece, Reply, ReplyBlock, Wire } from './billing-wire.ts'

/** The Responses API, which caches its input automatically and has its own search. */
export const responsesWire: Wire = {
  path: '/v1/responses',
  read,
  events,
  errorEvent: (code) => eventOf({ type: 'error', code, message: 'It broke off.', param: null }),
  error: (type, message) => ({ error: { message, type, param: null, code: null } }),
  textsOf: (block) => [textOf(itemOf(block))],
  hasSearches: true,
  hasHourCache: false,
}

function read(body: JsonObject): Order {
  const tools = objects(body.tools).filter(({ type }) => type === 'function')
  const items = objects(body.input)
  return {
    model: stringOf(body.model),
    maxTokens: Number(body.max_output_tokens),
    tools: body.tool_choice === 'none' ? [] : tools.map(({ name }) => stringOf(name)),
    pieces: [
      ...tools.map((tool) =>
        block(`${stringOf(tool.name)}${stringOf(tool.description)}${JSON.stringify(tool.parameters)}`),
      ),
      block(stringOf(body.instructions)),
      ...items.flatMap((item, index) => {
        // Everything that the model wrote in one reply is one message, as it was generated.
        const begins = index === 0 || isReply(item) !== isReply(items[index - 1] ?? {})
        const frame = { text: '', frame: 'message', isBreakpoint: index < items.length - 1 } as const
        return [...(begins ? [frame] : []), block(textOf(item))]
      }),
    ],
  }
}

function block(text: string): PromptPiece {
  return { text, frame: 'block', isBreakpoint: false }
}

function isReply({ type, role }: JsonObject): boolean {
  return role !== 'user' && type !== 'function_call_output'
}

/** The text that a model reads from an item. */
function textOf(item: JsonObject): string {
  switch (item.type) {
    case 'reasoning':
      return wordsIn(item.summary)
    case 'function_call':
      return `${stringOf(item.name)}${stringOf(item.arguments)}`
    case 'function_call_output':
      return `${stringOf(item.call_id)}${wordsIn(item.output)}`
    case 'web_search_call':
      return JSON.stringify(item.action)
    default:
      return wordsIn(item.content)
  }
}

function wordsIn(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return objects(content)
    .map(({ text }) => stringOf(text))
    .join('')
}

function itemOf(said: ReplyBlock): JsonObject {
  switch (said.type) {
    case 'text':
      return {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: said.text, annotations: [] }],
      }
    case 'thinking':
      return { type: 'reasoning', summary: [{ type: 'summary_text', text: said.text }], encrypted_content: 'gAAA' }
    case 'call':
      return { type: 'function_call', call_id: said.id, name: said.name, arguments: JSON.stringify(said.input) }
    case 'search': {
      const sources = [{ type: 'url', url: `https://example.org/${said.found}` }]
      return { type: 'web_search_call', status: 'completed', action: { type: 'search', query: said.query, sources } }
    }
  }
}

const cutReasons: { readonly [stop in Reply['stop']]?: string } = {
  cut: 'max_output_tokens',
  refusal: 'content_filter',
}

function events(reply: Reply): readonly string[] {
  const { id, model, bill, usage, tell } = reply
  const items = reply.blocks.map((said, index) => ({ id: `item_${index}`, ...itemOf(said) }))
  const begun = { id, object: 'response', model, status: 'in_progress', output: [], usage: null }
  const reason = cutReasons[reply.stop]
  const status = reason === undefined ? 'completed' : 'incomplete'
  const isCounted = bill.searches % 2 === 1
  const ended = {
    ...begun,
    status,
    output: items,
    incomplete_details: reason === undefined ? null : { reason },
    usage: tell !== undefined ? tell('end') : usage === 'start_only' || usage === 'absent' ? null : usageOf(reply),
    // Not all services count them. The items show them as well.
    ...(isCounted && { tool_usage: { web_search: { num_requests: bill.searches } } }),
  }
  const early =
    tell !== undefined ? tell('start') : usage === 'start_only' || usage === 'running' ? usageOf(reply) : null
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: { ...begun, usage: early } },
    ...items.flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${status}`, response: ended },
  ].map((event, sequence_number) => eventOf({ ...event, sequence_number }))
}

function itemEvents(item: JsonObject, output_index: number): readonly JsonObject[] {
  const deltas = (type: string, text: string, place: JsonObject): readonly JsonObject[] =>
    halves(text).map((delta) => ({ type: `response.${type}.delta`, output_index, ...place, delta }))
  const pieces = (): readonly JsonObject[] => {
    switch (item.type) {
      case 'message':
        return deltas('output_text', textOf(item), { content_index: 0 })
      case 'reasoning':
        return deltas('reasoning_summary_text', textOf(item), { summary_index: 0 })
      case 'function_call':
        return deltas('function_call_arguments', stringOf(item.arguments), {})
      default:
        return []
    }
  }
  const { content: _, summary: __, arguments: ___, action: ____, ...opening } = item
  return [
    { type: 'response.output_item.added', output_index, item: opening },
    ...pieces(),
    { type: 'response.output_item.done', output_index, item },
  ]
}

function usageOf({ bill, usage, thoughtTokens }: Reply): JsonObject {
  if (usage === 'zero') return { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  const input = usage === 'no_prompt' ? 0 : promptOf(bill)
  return {
    input_tokens: input,
    output_tokens: bill.output,
    total_tokens: input + bill.output,
    input_tokens_details: { cached_tokens: bill.read, cache_write_tokens: bill.write5m },
    output_tokens_details: { reasoning_tokens: Math.min(thoughtTokens, bill.output) },
  }
}

function promptOf({ input, read: fromCache, write5m }: Bill): number {
  return input + fromCache + write5m
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return listOf(value).filter(isJsonObject)
}

function eventOf(event: JsonObject): string {
  return `event: ${stringOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
}
