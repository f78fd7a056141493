import { readdirSync, readFileSync } from 'node:fs'
import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, ModelReply } from '@halting/core'
import { handMade } from './chat-expected.ts'

/** One stream of chat completion chunks, and its expected reply. */
export interface ChatRecording {
  readonly name: string
  readonly chunks: readonly JsonObject[]
  readonly reply: ModelReply
}

const folder = new URL('../fixtures/', import.meta.url)

export const chatRecordings: readonly ChatRecording[] = readdirSync(folder)
  .filter((file) => !file.startsWith('anthropic-') && file.endsWith('.chunks.txt'))
  .map((file) => {
    const name = file.replace('.chunks.txt', '')
    const lines = readFileSync(new URL(file, folder), 'utf8').split('\n')
    const chunks = lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as JsonObject)
    return { name, chunks, reply: name.startsWith('chat-') ? handMade(name) : replyOf(chunks) }
  })

/** The recorded streams, without the handwritten ones. */
export const recordedChats: readonly ChatRecording[] = chatRecordings.filter(({ name }) => !name.startsWith('chat-'))

/** The bytes of a stream as a server sends it. */
export function chatBytes(chunks: readonly Json[], lineEnd: '\n' | '\r\n' = '\n', end = '[DONE]'): Buffer {
  const datas = [...chunks.map((chunk) => JSON.stringify(chunk)), ...(end === '' ? [] : [end])]
  return Buffer.from(datas.map((data) => `data: ${data}${lineEnd}${lineEnd}`).join(''))
}

type Fields = Record<string, Json>

/** The reply of recorded chunks, read in a straightforward way. The product is compared with this reading. */
function replyOf(chunks: readonly JsonObject[]): ModelReply {
  const content: Fields[] = []
  const calls = new Map<number, Fields>()
  let first: Fields = {}
  let finish = ''
  let usage: Fields = {}
  const open = (type: string, begin: Fields): Fields => {
    const last = content.at(-1)
    if (last?.type === type) return last
    content.push(begin)
    return begin
  }
  for (const chunk of chunks as readonly Fields[]) {
    if (isJsonObject(chunk.usage)) usage = chunk.usage as Fields
    const choice = (chunk.choices as Fields[])[0]
    if (choice === undefined) continue
    if (first.id === undefined) first = chunk
    const delta = choice.delta as Fields
    finish = text(choice.finish_reason) || finish
    if (text(delta.reasoning_content) !== '') {
      const origin = { api: 'chat_completions', field: 'reasoning_content' }
      const block = open('thinking', { type: 'thinking', thinking: '', signature: '', origin })
      block.thinking = text(block.thinking) + text(delta.reasoning_content)
    }
    if (text(delta.content) !== '') {
      const block = open('text', { type: 'text', text: '' })
      block.text = text(block.text) + text(delta.content)
    }
    for (const piece of (delta.tool_calls ?? []) as Fields[]) {
      const called = piece.function as Fields
      let call = calls.get(Number(piece.index))
      if (call === undefined) {
        call = { type: 'tool_use', id: piece.id!, name: called.name!, input: '' }
        calls.set(Number(piece.index), call)
        content.push(call)
      }
      call.input = text(call.input) + text(called.arguments)
    }
  }
  for (const call of calls.values()) {
    const written = text(call.input)
    call.input = JSON.parse(written) as Json
    if (JSON.stringify(call.input) !== written) call.origin = { api: 'chat_completions', arguments: written }
  }
  const cached = Number(((usage.prompt_tokens_details ?? {}) as Fields).cached_tokens ?? 0)
  return {
    message: {
      role: 'assistant',
      id: text(first.id),
      model: text(first.model),
      // A straightforward reading creates the types of the library. If not, the comparison fails.
      content: content as never,
      stop_reason: finish === 'tool_calls' ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: {
        ...noUsage,
        input_tokens: Number(usage.prompt_tokens) - cached,
        cache_read_input_tokens: cached,
        // The total includes reasoning, even if the completion does not.
        output_tokens: Number(usage.total_tokens) - Number(usage.prompt_tokens),
      },
    },
  }
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
