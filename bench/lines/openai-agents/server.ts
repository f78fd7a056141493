import { Agent, run as runAgent, user, type AgentInputItem, type Model } from '@openai/agents'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

type Post = { id: string; messages: { parts: { text?: string }[] }[] }
type Run = { events: string[]; isOver: boolean; readers: Set<ServerResponse> }
const runs = new Map<string, Run>()
const histories = new Map<string, AgentInputItem[]>()

function send(run: Run, chunk: object): void {
  const event = `id: ${run.events.length}\ndata: ${JSON.stringify(chunk)}\n\n`
  run.events.push(event)
  for (const reader of run.readers) reader.write(event)
}

/** Translates the events of text; calls of tools and reasoning would need their own. */
async function fill(run: Run, { id, messages }: Post, model: Model | string): Promise<void> {
  const prompt = messages.at(-1)?.parts.map(({ text = '' }) => text).join('') ?? ''
  const agent = new Agent({ name: 'Chat', model })
  const result = await runAgent(agent, [...(histories.get(id) ?? []), user(prompt)], { stream: true })
  send(run, { type: 'start' })
  send(run, { type: 'text-start', id: '0' })
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
      send(run, { type: 'text-delta', id: '0', delta: event.data.delta })
  histories.set(id, result.history)
  send(run, { type: 'text-end', id: '0' })
  send(run, { type: 'finish' })
}

function begin(post: Post, model: Model | string): Run {
  const run: Run = { events: [], isOver: false, readers: new Set() }
  runs.set(post.id, run)
  void fill(run, post, model)
    .catch((error: unknown) => send(run, { type: 'error', errorText: String(error) }))
    .finally(() => {
      run.isOver = true
      for (const reader of run.readers) reader.end()
    })
  return run
}

function read(response: ServerResponse, run: Run, after = -1): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' })
  response.write(run.events.slice(after + 1).join(''))
  if (run.isOver) return void response.end()
  run.readers.add(response)
  response.on('close', () => run.readers.delete(response))
}

/** For useChat: POST /api/chat begins a run, GET /api/chat/ID/stream comes back to it. */
export function chatServer(model: Model | string = 'gpt-5-mini'): Server {
  return createServer((request, response) => {
    const after = request.headers['last-event-id']?.toString()
    const run = runs.get(request.url?.split('/')[3] ?? '')
    if (request.method === 'POST')
      void json(request)
        .then((post) => read(response, begin(post as Post, model)))
        .catch(() => response.destroy())
    else if (run === undefined || (run.isOver && after === undefined)) response.writeHead(204).end()
    else read(response, run, after === undefined ? undefined : Number(after))
  })
}
