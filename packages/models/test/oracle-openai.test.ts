// The same bytes through OpenAI's own library and through our adapter.
import type { AssistantMessage, JsonObject } from '@halting/core'
import { isToolUse, textOf } from '@halting/core/adapters'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { openaiCompatible, openaiResponses } from '../src/openai/openai.ts'
import { call } from './support/call.ts'
import { chatBytes, chatRecordings, recordedChats } from './support/chat-recordings.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { responsesBytes } from './support/responses-expected.ts'
import { responsesRecordings } from './support/responses-recordings.ts'

/** The parts of a reply that both return. */
interface ReadReply {
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  readonly finish: string | null
  readonly usage: { readonly prompt: number; readonly cached: number; readonly completion: number } | null
}

const question = { model: 'asked', messages: [{ role: 'user' as const, content: 'hi' }] }

async function serve(chunks: readonly JsonObject[]): Promise<string> {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(chatBytes(chunks))
  })
  return server.url
}

const clientAt = (baseURL: string): OpenAI => new OpenAI({ baseURL, apiKey: 'key', maxRetries: 0 })

async function ours(baseUrl: string): Promise<ReadReply> {
  const { reply } = await call(openaiCompatible({ model: 'asked', baseUrl, apiKey: 'key' }))
  if (reply === undefined) throw new Error('there was no reply')
  const { message, billed } = reply
  return {
    text: textOf(message.content),
    calls: message.content.filter(isToolUse).map(({ id, name, input }) => ({ id, name, input })),
    finish: finishOf(message),
    usage: billed === 'unknown' ? null : usageOf(message),
  }
}

function finishOf({ stop_reason }: AssistantMessage): string {
  return { end_turn: 'stop', tool_use: 'tool_calls', max_tokens: 'length' }[String(stop_reason)] ?? String(stop_reason)
}

function usageOf({ usage }: AssistantMessage): ReadReply['usage'] {
  const cached = usage.cache_read_input_tokens
  const prompt = usage.input_tokens + cached + usage.cache_creation_input_tokens
  return { prompt, cached, completion: usage.output_tokens }
}

function theirUsage(usage: OpenAI.CompletionUsage | null = null): ReadReply['usage'] {
  if (usage === null) return null
  const { prompt_tokens: prompt, completion_tokens, total_tokens, prompt_tokens_details: details } = usage
  // Their library passes xAI's count on, which omits reasoning. The total includes it.
  return { prompt, cached: details?.cached_tokens ?? 0, completion: Math.max(completion_tokens, total_tokens - prompt) }
}

/** Their own reading of a stream. */
async function theirStream(url: string): Promise<ReadReply> {
  const { choices, usage } = await clientAt(url).chat.completions.stream(question).finalChatCompletion()
  const [choice] = choices
  return {
    text: choice?.message.content ?? '',
    calls: (choice?.message.tool_calls ?? []).map((called) => {
      if (called.type !== 'function') throw new Error('no function')
      return { id: called.id, name: called.function.name, input: JSON.parse(called.function.arguments) as unknown }
    }),
    finish: choice?.finish_reason ?? null,
    usage: theirUsage(usage),
  }
}

/** Their chunks, joined as their documentation describes: for streams that their own reading rejects. */
async function theirChunks(url: string): Promise<ReadReply> {
  const calls: { id: string; name: string; json: string }[] = []
  let text = ''
  let finish: string | null = null
  let usage: OpenAI.CompletionUsage | null = null
  for await (const chunk of await clientAt(url).chat.completions.create({ ...question, stream: true })) {
    usage = chunk.usage ?? usage
    const [choice] = chunk.choices
    text += choice?.delta.content ?? ''
    finish = choice?.finish_reason ?? finish
    for (const { index, id = '', function: called } of choice?.delta.tool_calls ?? []) {
      const one = (calls[index] ??= { id, name: '', json: '' })
      one.name += called?.name ?? ''
      one.json += called?.arguments ?? ''
    }
    const legacy = choice?.delta.function_call
    if (legacy === undefined) continue
    const one = (calls[0] ??= { id: '', name: '', json: '' })
    one.name += legacy.name ?? ''
    one.json += legacy.arguments ?? ''
  }
  return {
    text,
    calls: calls.map(({ id, name, json }) => ({ id, name, input: JSON.parse(json) as unknown })),
    finish,
    usage: theirUsage(usage),
  }
}

const chunksOf = (name: string): readonly JsonObject[] => {
  const found = chatRecordings.find((recording) => recording.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found.chunks
}

describe('has the same text, calls, finish reason and usage', () => {
  // Their library drops reasoning, whatever its field. Ours keeps it, and another test compares it.
  test.each(recordedChats)('$name', async ({ chunks }) => {
    const url = await serve(chunks)
    const reply = await ours(url)
    expect(await theirStream(url)).toEqual(reply)
    expect(await theirChunks(url)).toEqual(reply)
  })

  test.each(['chat-interleaved', 'chat-router'])('%s, chunk by chunk', async (name) => {
    const url = await serve(chunksOf(name))
    expect(await theirChunks(url)).toEqual(await ours(url))
  })

  test('in chat-legacy-function, except for the id, which the service does not send', async () => {
    const url = await serve(chunksOf('chat-legacy-function'))
    const [reply, { calls, ...rest }] = [await ours(url), await theirChunks(url)]
    // Their library passes on the old name of the finish reason.
    expect({ ...rest, finish: 'tool_calls' }).toEqual({ text: reply.text, finish: reply.finish, usage: reply.usage })
    expect(calls).toEqual(reply.calls.map((called) => ({ ...called, id: '' })))
  })
})

describe('differs from the OpenAI SDK on purpose', () => {
  test('by separating calls that share an index', async () => {
    await expect(theirChunks(await serve(chunksOf('chat-same-place')))).rejects.toThrow(SyntaxError)
    expect((await ours(await serve(chunksOf('chat-same-place')))).calls).toHaveLength(3)
  })

  test('by dropping an empty object before the deltas', async () => {
    await expect(theirChunks(await serve(chunksOf('chat-empty-first')))).rejects.toThrow(SyntaxError)
    expect((await ours(await serve(chunksOf('chat-empty-first')))).calls).toHaveLength(1)
  })

  test('by reading parts of the content as text', async () => {
    const { text } = await theirChunks(await serve(chunksOf('chat-content-parts')))
    expect(text).toContain('[object Object]')
    expect((await ours(await serve(chunksOf('chat-content-parts')))).text).toBe('Oui !')
  })
})

test('sends the same as theirs for the same question', async () => {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(chatBytes(chunksOf('mistral-text')))
  })
  const params = { ...question, max_tokens: 100, stream: true, stream_options: { include_usage: true } } as const
  for await (const _ of await clientAt(server.url).chat.completions.create(params));
  await call(openaiCompatible({ model: 'asked', baseUrl: server.url, apiKey: 'key' }))
  const [theirs, our] = server.bodies.map((body) => JSON.parse(String(body)) as unknown)
  expect(our).toEqual(theirs)
})

/** The parts of a response that both return. */
interface Response extends Omit<ReadReply, 'finish'> {
  readonly thinking: string
  readonly finish: string | undefined
}

describe('has the same text, calls, summaries, ending and usage for the Responses API', () => {
  const replies = responsesRecordings.filter(({ events }) => events.at(-1)?.type === 'response.completed')
  const isShortened = (name: string): boolean => name.startsWith('openai-phase')

  async function serveEvents(events: readonly JsonObject[]): Promise<string> {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(responsesBytes(events))
    })
    return server.url
  }

  async function ourResponse(baseUrl: string): Promise<Response> {
    const { reply } = await call(openaiResponses({ model: 'asked', baseUrl, apiKey: 'key' }))
    if (reply === undefined) throw new Error('there was no reply')
    const { message } = reply
    return {
      text: textOf(message.content),
      // Their library does not read reasoning without a summary.
      thinking: message.content
        .map((block) => {
          const { origin = {} } = block as { origin?: { item?: { summary: readonly unknown[] } } }
          return block.type === 'thinking' && origin.item?.summary.length !== 0 ? block.thinking : ''
        })
        .join(''),
      calls: message.content.filter(isToolUse).map(({ id, name, input }) => ({ id, name, input })),
      finish: message.stop_reason === 'end_turn' || message.stop_reason === 'tool_use' ? 'completed' : 'incomplete',
      usage: usageOf(message),
    }
  }

  async function theirResponse(baseURL: string): Promise<Response> {
    const stream = clientAt(baseURL).responses.stream({ model: 'asked', input: 'hi' })
    const { output, status, usage } = await stream.finalResponse()
    const text = output.flatMap((item) => (item.type === 'message' ? item.content : []))
    return {
      text: text.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
      thinking: output
        .map((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text).join('\n\n') : ''))
        .join(''),
      calls: output.flatMap((item) => {
        if (item.type === 'function_call') {
          return [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) as unknown }]
        }
        return item.type === 'custom_tool_call'
          ? [{ id: item.call_id, name: item.name, input: { input: item.input } }]
          : []
      }),
      finish: status,
      usage:
        usage === undefined
          ? null
          : {
              prompt: usage.input_tokens,
              cached: usage.input_tokens_details.cached_tokens,
              completion: usage.output_tokens,
            },
    }
  }

  test.each(replies.filter(({ name }) => !isShortened(name)))('$name', async ({ events }) => {
    const url = await serveEvents(events)
    expect(await theirResponse(url)).toEqual(await ourResponse(url))
  })

  test('reads the whole text of a recording with gaps, unlike theirs', async () => {
    const { events } = replies.find(({ name }) => isShortened(name))!
    const url = await serveEvents(events)
    await expect(theirResponse(url)).rejects.toThrow('missing output at index 2')
    expect((await ourResponse(url)).text).toContain('quickly check reliable, up-to-date sources')
  })
})
