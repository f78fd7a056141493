import { readdirSync, readFileSync } from 'node:fs'
import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** One recorded message, as its events. */
export interface Recording {
  readonly name: string
  readonly events: readonly JsonObject[]
}

const folder = new URL('../fixtures/', import.meta.url)

export const recordings: readonly Recording[] = readdirSync(folder)
  .filter((file) => file.startsWith('anthropic-') && file.endsWith('.chunks.txt'))
  .flatMap((file) => {
    const messages: JsonObject[][] = []
    for (const line of readFileSync(new URL(file, folder), 'utf8').split('\n')) {
      if (line.trim() === '') continue
      const event = JSON.parse(line) as JsonObject
      if (event.type === 'message_start') messages.push([])
      messages.at(-1)?.push(event)
    }
    return messages.map((events, index) => ({ name: `${file.replace('.chunks.txt', '')} #${index + 1}`, events }))
  })

/** The bytes of a stream as a server sends it. */
export function bytesOf(events: readonly JsonObject[], lineEnd: '\n' | '\r\n' = '\n'): Buffer {
  const frames = events.map(
    (event) => `event: ${text(event.type)}${lineEnd}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`,
  )
  return Buffer.from(frames.join(''))
}

type Fields = Record<string, Json>

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The reply that a model returns for these events. A message without a delta is a call by code of the service, without
 * a model (spec R-PTC-6).
 */
export function replyOf(events: readonly JsonObject[]): JsonObject {
  const isOfCode = events.every(({ type }) => type === 'message_start' || type === 'message_stop')
  return { message: messageOf(events), ...(isOfCode && { billed: 'nothing' }) }
}

/** The message of these events, read in a straightforward way. The product is compared with this reading. */
export function messageOf(events: readonly JsonObject[]): JsonObject {
  let message: Fields = {}
  let usage: Fields = {}
  const content: Fields[] = []
  const inputs = new Map<number, string>()
  for (const event of events as readonly Fields[]) {
    const index = Number(event.index)
    const delta = event.delta as Fields
    if (event.type === 'message_start') {
      message = event.message as Fields
      usage = message.usage as Fields
      content.push(...(message.content as Fields[]))
    }
    if (event.type === 'content_block_start') content[index] = { ...(event.content_block as Fields) }
    if (event.type === 'message_delta') {
      message = { ...message, ...delta }
      usage = { ...usage, ...(event.usage as Fields) }
    }
    if (event.type !== 'content_block_delta') continue
    const block = content[index]!
    if (delta.type === 'text_delta') block.text = `${text(block.text)}${text(delta.text)}`
    if (delta.type === 'thinking_delta') block.thinking = `${text(block.thinking)}${text(delta.thinking)}`
    if (delta.type === 'signature_delta') block.signature = delta.signature!
    if (delta.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + text(delta.partial_json))
  }
  for (const [index, json] of inputs) if (json !== '') content[index]!.input = JSON.parse(json) as Json
  const { id, model, stop_reason, stop_sequence, stop_details, container } = message
  return {
    role: 'assistant',
    id,
    model,
    content,
    stop_reason,
    stop_sequence,
    ...(isJsonObject(stop_details) && { stop_details }),
    ...(isJsonObject(container) && { container }),
    usage: {
      ...noUsage,
      ...(usage.cache_creation !== undefined && { cache_creation: usage.cache_creation }),
      ...pick(usage, 'input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'),
      ...(usage.server_tool_use !== undefined && {
        server_tool_use: pick(usage.server_tool_use as Fields, 'web_search_requests'),
      }),
    },
  }
}

function pick(from: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (name in from ? [[name, from[name]!]] : [])))
}
