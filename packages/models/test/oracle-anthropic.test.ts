// The same bytes through Anthropic's own library and through our adapters.
import Anthropic from '@anthropic-ai/sdk'
import type { JsonObject, Usage } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { call, modelAt } from './support/call.ts'
import { readChunks } from './support/chat-read.ts'
import { chatRecordings } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings } from './support/recordings.ts'

/** The parts of a message that both return. */
interface ReadMessage {
  readonly id: string
  readonly model: string
  readonly content: unknown
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly usage: Usage
}

async function serve(events: readonly JsonObject[]): Promise<string> {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(bytesOf(events))
  })
  return server.url
}

async function theirs(url: string): Promise<ReadMessage> {
  const client = new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 })
  const message = await client.messages
    .stream({ model: 'claude-test', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })
    .finalMessage()
  const { id, model, content, stop_reason, stop_sequence, usage } = message
  const [cache_creation, searches] = [usage.cache_creation ?? undefined, usage.server_tool_use?.web_search_requests]
  return {
    id,
    model,
    content: plain(content),
    stop_reason,
    stop_sequence,
    usage: {
      input_tokens: usage.input_tokens,
      output_tokens: usage.output_tokens,
      cache_creation_input_tokens: usage.cache_creation_input_tokens ?? 0,
      cache_read_input_tokens: usage.cache_read_input_tokens ?? 0,
      ...(cache_creation !== undefined && { cache_creation }),
      ...(searches !== undefined && { server_tool_use: { web_search_requests: searches } }),
    },
  }
}

/** The content as JSON, without `origin`: a field of ours that preserves how a block was written. */
function plain(content: unknown): unknown {
  const blocks = JSON.parse(JSON.stringify(content)) as readonly Record<string, unknown>[]
  return blocks.map(({ origin: _, ...block }) => block)
}

/** Their library drops the streamed input of a call to an MCP server, and ours keeps it. */
function withoutMcpInput(content: unknown): unknown {
  const blocks = content as readonly Record<string, unknown>[]
  return blocks.map((block) => (block.type === 'mcp_tool_use' ? { ...block, input: {} } : block))
}

describe('has the same content, stop reason and usage for every recorded message', () => {
  test.each(recordings)('$name', async ({ events }) => {
    const url = await serve(events)
    const { reply } = await call(modelAt(url))
    if (reply === undefined) throw new Error('there was no reply')
    const { id, model, content, stop_reason, stop_sequence = null, usage } = reply.message
    const expected = await theirs(url)
    expect({ id, model, content: withoutMcpInput(plain(content)), stop_reason, stop_sequence, usage }).toEqual(expected)
  })
})

describe('emits a valid Messages API stream for a chat completion', () => {
  test.each(chatRecordings)('$name', async ({ chunks, reply }) => {
    const { updates } = readChunks(chunks)
    const events = updates.flatMap((update) => (update.type === 'api_event' ? [update.event] : []))
    const { content, usage, ...rest } = await theirs(await serve(events.map((event) => withUsage(event))))
    const { id, model, stop_reason } = reply.message
    expect(rest).toEqual({ id, model, stop_reason, stop_sequence: null })
    expect(usage).toEqual(reply.message.usage)
    const whole = content as readonly unknown[]
    // Their library includes a cut call with its input so far, and ours omits it.
    const cut = stop_reason === 'max_tokens' ? [{ type: 'tool_use', id: 'y', name: 'List', input: {} }] : []
    expect(whole).toEqual([...(plain(reply.message.content) as readonly unknown[]), ...cut])
  })
})

/** Their library needs a usage report at the end, which a service may omit. */
function withUsage(event: JsonObject): JsonObject {
  return event.type === 'message_delta' ? { usage: noUsage, ...event } : event
}
