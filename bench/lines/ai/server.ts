import { anthropic } from '@ai-sdk/anthropic'
import { convertToModelMessages, JsonToSseTransformStream, streamText } from 'ai'
import { UI_MESSAGE_STREAM_HEADERS, type LanguageModel, type UIMessage } from 'ai'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

type Post = { id: string; messages: UIMessage[] }
type Run = { sent: string; isOver: boolean; readers: Set<ServerResponse> }
const runs = new Map<string, Run>()

/** Keeps what was sent for readers that come back. */
async function fill(run: Run, sse: ReadableStream<string>): Promise<void> {
  for await (const piece of sse as ReadableStream<string> & AsyncIterable<string>) {
    run.sent += piece
    for (const reader of run.readers) reader.write(piece)
  }
  run.isOver = true
  for (const reader of run.readers) reader.end()
}

function read(response: ServerResponse, run: Run): void {
  response.writeHead(200, UI_MESSAGE_STREAM_HEADERS).write(run.sent)
  if (run.isOver) return void response.end()
  run.readers.add(response)
  response.on('close', () => run.readers.delete(response))
}

async function begin({ id, messages }: Post, model: LanguageModel): Promise<Run> {
  const run: Run = { sent: '', isOver: false, readers: new Set() }
  runs.set(id, run)
  const result = streamText({ model, messages: await convertToModelMessages(messages) })
  void fill(run, result.toUIMessageStream().pipeThrough(new JsonToSseTransformStream()))
  return run
}

/** For useChat: POST /api/chat begins a run, GET /api/chat/ID/stream comes back to it and gets all of it again. */
export function chatServer(model: LanguageModel = anthropic('claude-haiku-4-5')): Server {
  return createServer((request, response) => {
    const run = runs.get(request.url?.split('/')[3] ?? '')
    if (request.method === 'POST')
      void json(request)
        .then((post) => begin(post as Post, model))
        .then((begun) => read(response, begun))
        .catch(() => response.destroy())
    else if (run === undefined || run.isOver) response.writeHead(204).end()
    else read(response, run)
  })
}
