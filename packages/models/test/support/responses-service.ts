import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '@halting/core'
import { chunk, finish } from './chat-read.ts'
import { chatBytes } from './chat-recordings.ts'
import { beginStream, startRawServer } from './raw-server.ts'
import type { RawServer } from './raw-server.ts'
import { responsesBytes } from './responses-expected.ts'

/** One request that the service received. */
export interface Asked {
  readonly path: string
  readonly body: JsonObject
  readonly key: string
}

/** The special response to a request; undefined for the usual one. */
export type Refuse = (asked: Asked) => { readonly status: number; readonly body: unknown } | undefined

export interface ResponsesService extends Pick<RawServer, 'url'> {
  readonly asked: readonly Asked[]
}

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 } as const

/**
 * A service on this machine that supports both APIs and answers with these items, turn by turn. The last turn repeats.
 */
export async function startResponsesService(
  turns: readonly (readonly JsonObject[])[] = [[messageItem('Yes.')]],
  refuse: Refuse = () => undefined,
): Promise<ResponsesService> {
  const asked: Asked[] = []
  let turn = 0
  const handle = (response: ServerResponse, request: IncomingMessage, bytes: Buffer): void => {
    const one = {
      path: request.url ?? '',
      body: JSON.parse(bytes.toString()) as JsonObject,
      key: String(request.headers['idempotency-key']),
    }
    asked.push(one)
    const refusal = refuse(one)
    if (refusal !== undefined) {
      const isText = typeof refusal.body === 'string'
      response.writeHead(refusal.status, { 'content-type': isText ? 'text/plain' : 'application/json' })
      response.end(isText ? refusal.body : JSON.stringify(refusal.body))
      return
    }
    beginStream(response)
    if (one.path.endsWith('/chat/completions')) {
      response.end(chatBytes([chunk({ content: 'Yes.' }), finish('stop')]))
      return
    }
    response.end(responsesBytes(replyEvents(turns[Math.min(turn++, turns.length - 1)] ?? [], turn), '\n'))
  }
  const server: RawServer = await startRawServer((response, request) => {
    handle(response, request, server.bodies.at(-1) ?? Buffer.alloc(0))
  })
  return { url: server.url, asked }
}

/** The events of a response with these items. */
export function replyEvents(items: readonly JsonObject[], turn = 1): readonly JsonObject[] {
  const response = { id: `resp_${turn}`, object: 'response', model: 'gpt-5.2-2025-12-11', status: 'completed', usage }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', usage: null, output: [] } },
    ...items.flatMap((item, output_index): readonly JsonObject[] => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { ...response, output: items } },
  ]
}

export function messageItem(text: string, more: JsonObject = {}): JsonObject {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content, ...more }
}

export function reasoningItem(encrypted: string, more: JsonObject = {}): JsonObject {
  const summary = [{ type: 'summary_text', text: 'I weigh it.' }]
  return { type: 'reasoning', id: 'rs_1', summary, encrypted_content: encrypted, ...more }
}
