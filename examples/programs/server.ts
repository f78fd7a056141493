// examples/programs/server.ts
import { streamRun, type Model, type ModelMessage } from '@halting/core'
import { shareRun, sseHeaders, toSse, toUIMessageStream, type SharedRun } from '@halting/core/ui'
import { anthropic } from '@halting/models'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { json } from 'node:stream/consumers'

type Post = { id: string; messages: { parts: { text?: string }[] }[] }
type Chat = { messages: readonly ModelMessage[]; run: SharedRun; isOver: boolean }
const chats = new Map<string, Chat>()

function begin({ id, messages: shown }: Post, model: Model): SharedRun {
  if (chats.get(id)?.isOver === false) throw new Error('The chat has a run that goes on.')
  const messages = chats.get(id)?.messages ?? []
  const prompt = shown
    .at(-1)
    ?.parts.map(({ text = '' }) => text)
    .join('')
  const stream = streamRun({ model, messages, prompt: prompt ?? '', maxBudgetUsd: 0.2 })
  const run = shareRun(stream)
  chats.set(id, { messages, run, isOver: false })
  void stream.result.then((outcome) => chats.set(id, { messages: outcome.messages, run, isOver: true }))
  return run
}

async function send(response: ServerResponse, run: SharedRun, after?: string): Promise<void> {
  const bytes = toSse(toUIMessageStream(run, { after }), { heartbeatMs: 15_000 })
  await pipeline(bytes, response.writeHead(200, sseHeaders))
}

/** Serves useChat: POST /api/chat starts a run, GET /api/chat/ID/stream reconnects to it. The run continues without a reader. */
export function chatServer(model: Model = anthropic('claude-haiku-4-5')): Server {
  return createServer((request, response) => {
    const after = request.headers['last-event-id']?.toString()
    const chat = chats.get(request.url?.split('/')[3] ?? '')
    if (request.method === 'POST')
      void json(request)
        .then((post) => send(response, begin(post as Post, model)))
        .catch(() => response.destroy())
    else if (chat === undefined || (chat.isOver && after === undefined)) response.writeHead(204).end()
    else void send(response, chat.run, after).catch(() => response.destroy())
  })
}
