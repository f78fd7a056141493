import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../../src/json-fields.ts'
import { halves } from './billing-wire.ts'
import type { Order, PromptPiece, Reply, ReplyBlock, Wire } from './billing-wire.ts'

/** Chat completions of services that cache their input automatically. */
export const chatWire: Wire = {
  path: '/v1/chat/completions',
  read,
  events,
  errorEvent: (type) => chunkOf(errorOf(type, 'It broke off.')),
  error: errorOf,
  textsOf: (block) => [textOf(block)],
  hasSearches: false,
  hasHourCache: false,
}

function errorOf(type: string, message: string): JsonObject {
  return { error: { message, type, param: null, code: null } }
}

function read(body: JsonObject): Order {
  const tools = objects(body.tools).map(({ function: called }) => (isJsonObject(called) ? called : {}))
  const messages = objects(body.messages)
  return {
    model: stringOf(body.model),
    maxTokens: Number(body.max_tokens ?? body.max_completion_tokens),
    tools: body.tool_choice === 'none' ? [] : tools.map(({ name }) => stringOf(name)),
    pieces: [
      ...tools.map((tool) =>
        block(`${stringOf(tool.name)}${stringOf(tool.description)}${JSON.stringify(tool.parameters)}`),
      ),
      // Only the last message of each request is new. Later requests repeat everything before it.
      ...messages.flatMap((message, index) => piecesOf(message, index < messages.length - 1)),
    ],
  }
}

function piecesOf(message: JsonObject, isCached: boolean): readonly PromptPiece[] {
  const { role, content, reasoning_content: thought, tool_calls: calls, tool_call_id: id } = message
  const words = role === 'tool' ? [`${stringOf(id)}${wordsOf(content)}`] : [stringOf(thought), wordsOf(content)]
  const texts = [...words.filter((text) => text !== ''), ...objects(calls).map(textOfCall)]
  return [{ text: '', frame: 'message', isBreakpoint: isCached }, ...texts.map(block)]
}

function block(text: string): PromptPiece {
  return { text, frame: 'block', isBreakpoint: false }
}

function wordsOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return objects(content)
    .map(({ text }) => stringOf(text))
    .join('')
}

function textOfCall({ function: called }: JsonObject): string {
  return isJsonObject(called) ? `${stringOf(called.name)}${stringOf(called.arguments)}` : ''
}

function textOf(said: ReplyBlock): string {
  if (said.type === 'call') return `${said.name}${JSON.stringify(said.input)}`
  return said.type === 'search' ? '' : said.text
}

const finishReasons = {
  end: 'stop',
  calls: 'tool_calls',
  cut: 'length',
  // This format has no such thing.
  pause: 'stop',
  refusal: 'content_filter',
} as const satisfies Record<Reply['stop'], string>

function events(reply: Reply): readonly string[] {
  const { id, model, usage, tell } = reply
  const calls = reply.blocks.filter(({ type }) => type === 'call')
  const deltas = [
    { role: 'assistant', content: '' },
    ...reply.blocks.flatMap((said) => deltasOf(said, calls.indexOf(said))),
  ]
  const chunk = (choices: readonly JsonObject[], reported: JsonObject | undefined): string =>
    chunkOf({ id, object: 'chat.completion.chunk', model, choices, ...(reported !== undefined && { usage: reported }) })
  const isRunning = usage === 'running' || usage === 'start_only'
  const isReportedLast = usage === 'reported' || usage === 'running' || usage === 'zero' || usage === 'no_prompt'
  return [
    ...deltas.map((delta, index) =>
      chunk(
        [{ index: 0, delta, finish_reason: null }],
        // The tokens so far, without hidden ones.
        isRunning ? usageOf(reply, Math.floor((reply.bill.output * index) / (deltas.length + 1))) : undefined,
      ),
    ),
    chunk(
      [{ index: 0, delta: {}, finish_reason: finishReasons[reply.stop] }],
      tell !== undefined ? tell('start') : usage === 'with_reason' ? usageOf(reply, reply.bill.output) : undefined,
    ),
    ...(isReportedLast ? [chunk([], tell === undefined ? usageOf(reply, reply.bill.output) : tell('end'))] : []),
    'data: [DONE]\n\n',
  ]
}

/** `output`: the tokens of the reply so far. */
function usageOf({ bill, usage, thoughtTokens, thoughtIsApart }: Reply, output: number): JsonObject {
  if (usage === 'zero') return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  if (usage === 'no_prompt') return { prompt_tokens: 0, completion_tokens: output, total_tokens: output }
  const prompt = bill.input + bill.read + bill.write5m
  const thought = Math.min(thoughtTokens, output)
  return {
    prompt_tokens: prompt,
    completion_tokens: thoughtIsApart ? output - thought : output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: bill.read, cache_write_tokens: bill.write5m },
    completion_tokens_details: { reasoning_tokens: thought },
  }
}

function deltasOf(said: ReplyBlock, index: number): readonly JsonObject[] {
  switch (said.type) {
    case 'text':
      return halves(said.text).map((content) => ({ content }))
    case 'thinking':
      return halves(said.text).map((text) => ({ reasoning_content: text }))
    case 'call': {
      const opening = { index, id: said.id, type: 'function', function: { name: said.name, arguments: '' } }
      const pieces = halves(JSON.stringify(said.input)).map((text) => ({ index, function: { arguments: text } }))
      return [opening, ...pieces].map((piece) => ({ tool_calls: [piece] }))
    }
    case 'search':
      return []
  }
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return listOf(value).filter(isJsonObject)
}

function chunkOf(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}
