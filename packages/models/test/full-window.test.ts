// Tests R-CTX-4, R-CTX-10 and R-CTX-16a of docs/spec: what happens when the context window is full, over HTTP.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { QueryEngine, streamRun, startRun, type RunEvent, type SdkMessage, type Tool } from '@halting/core'
import { contextLayers, type ContextLayersOptions } from '@halting/core/adapters'
import { afterEach, describe, expect, test } from 'vitest'
import { anthropic } from '../src/index.ts'
import { scriptedModel, startScriptedServer } from '../src/scripted/index.ts'

const open: { close(): Promise<void> }[] = []
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())))

const look: Tool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'x'.repeat(2_000),
}
const works = { content: ['On it.', { type: 'tool_use', name: 'Look', input: {} }], repeat: 400 }

/** How services report that a prompt is too long. */
const refusals = {
  'prompt is too long: N tokens > M maximum': (used: number) => ({
    status: 400,
    type: 'invalid_request_error',
    message: `prompt is too long: ${used} tokens > ${used - 1} maximum`,
  }),
  '413, and no number': () => ({ status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }),
} as const

interface Front {
  readonly url: string
  /** Requests of the run, and questions about the conversation. */
  readonly asked: { run: number; questions: number }
}

/** A service that replies with this many calls, and rejects some requests in between. */
async function serve(
  calls: number,
  refuses: (request: number) => boolean,
  refusal: (used: number) => { readonly status: number; readonly type: string; readonly message: string },
): Promise<Front> {
  const working = await startScriptedServer({ replies: [works] })
  const done = await startScriptedServer({ replies: [{ content: 'Done.', repeat: 50 }] })
  open.push(working, done)
  const asked = { run: 0, questions: 0 }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
    const isQuestion =
      text.includes('is about to be replaced by a summary') || text.includes('Summarize the work above')
    if (isQuestion) asked.questions++
    else asked.run++
    if (!isQuestion && refuses(asked.run)) {
      const { status, type, message } = refusal(Math.ceil(text.length / 4))
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error: { type, message } }))
      return
    }
    const { url } = !isQuestion && asked.run > calls ? done : working
    const headers = { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }
    const reply = await fetch(`${url}${request.url}`, { method: 'POST', headers, body: text })
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' })
    response.end(await reply.text())
  }
  const server: Server = createServer(
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  )
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  open.push({
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  })
  // A server that listens on a port has an address.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

interface Path {
  readonly name: string
  readonly layers: ContextLayersOptions
  readonly refuses: (request: number) => boolean
  readonly ends: string
  readonly recoveries: readonly string[]
}

const refusesFrom = (first: number, count: number) => (request: number) => request >= first && request < first + count
const all = { clearResults: false } as const

const paths: readonly Path[] = [
  {
    name: 'nothing is full → normal processing',
    layers: all,
    refuses: () => false,
    ends: 'completed',
    recoveries: [],
  },
  {
    name: 'refused → drained → continue with collapsed context',
    layers: all,
    refuses: refusesFrom(22, 1),
    ends: 'completed',
    recoveries: ['collapse_drain_retry'],
  },
  {
    name: 'refused → drained → still refused → reactive compact → continue with compacted context',
    layers: all,
    refuses: refusesFrom(22, 2),
    ends: 'completed',
    recoveries: ['collapse_drain_retry', 'reactive_compact_retry'],
  },
  {
    name: 'refused → no collapse → reactive compact → continue with compacted context',
    layers: { ...all, collapse: false },
    refuses: refusesFrom(22, 1),
    ends: 'completed',
    recoveries: ['reactive_compact_retry'],
  },
  {
    name: 'refused → no collapse → reactive compact → still refused → surface error, stop',
    layers: { ...all, collapse: false },
    refuses: refusesFrom(22, 2),
    ends: 'prompt_too_long',
    recoveries: ['reactive_compact_retry'],
  },
  {
    name: 'refused → no layer at all → surface error, stop',
    layers: { ...all, autoCompact: false },
    refuses: refusesFrom(22, 1),
    ends: 'prompt_too_long',
    recoveries: [],
  },
]

describe.each(Object.entries(refusals))('when the service says %s', (_wording, refusal) => {
  test.each(paths)('$name', async ({ layers, refuses, ends, recoveries }) => {
    const { url, asked } = await serve(26, refuses, refusal)
    const model = anthropic({ model: 'claude-sonnet-5-5', apiKey: 'k', baseUrl: url })
    const options = { model, tools: [look], context: contextLayers(layers), contextWindow: 20_000 }
    const running = streamRun(startRun({ prompt: 'Look at all of it.' }), options)
    const events: RunEvent[] = []
    for await (const event of running) events.push(event)
    const { terminal } = await running.ended
    const taken = events.flatMap((event) =>
      event.type === 'lap' && event.transition !== 'next_turn' ? [event.transition] : [],
    )
    expect([terminal.reason, taken]).toEqual([ends, recoveries])
    // The stream omits the error until every recovery has failed.
    const errors = events.filter(
      ({ type, ...event }) => type === 'message' && JSON.stringify(event).includes('"error":"invalid_request"'),
    )
    expect(errors).toHaveLength(ends === 'completed' ? 0 : 1)
    expect(terminal.summary.requests).toBeLessThanOrEqual(asked.run)
  })
})

describe('a scripted service with an unknown small window', () => {
  test.each([1, 1.4, 2])(
    'rejects a request, and the session continues with the learned limit: factor %s',
    async (tokenFactor) => {
      const scripted = await scriptedModel({
        contextWindow: 24_000,
        tokenFactor,
        replies: [
          { ...works, repeat: 60 },
          { content: 'Done.', repeat: 60 },
        ],
      })
      open.push(scripted)
      const results: string[] = []
      const engine = new QueryEngine({ model: scripted.model, tools: [look], contextWindow: 200_000 })
      for (const prompt of ['first', 'second', '/compact keep the ports', 'third']) {
        const messages: SdkMessage[] = []
        for await (const message of engine.submit(prompt)) messages.push(message)
        const last = messages.at(-1)
        results.push(last?.type === 'result' ? last.subtype : 'none')
      }
      expect(results).toEqual(['success', 'success', 'success', 'success'])
      const refused = scripted.server.requests.filter(({ text }) => Math.ceil((text.length / 4) * tokenFactor) > 24_000)
      // Once: then the window and the token factor of the service are known.
      expect(refused.length).toBe(1)
      const answers = scripted.server.requests.filter(({ text }) => text.includes('keep the ports'))
      expect(answers.length).toBeGreaterThanOrEqual(1)
    },
  )
})
