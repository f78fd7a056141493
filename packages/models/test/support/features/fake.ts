import { LLMock } from '@copilotkit/aimock'
import type { Fixture, FixtureResponse } from '@copilotkit/aimock'
import { request as forward } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { startRawServer } from '../raw-server.ts'
import type { RawServer } from '../raw-server.ts'
import { written } from './wire.ts'
import type { Reply, Wire } from './wire.ts'

/** Who answers: `@copilotkit/aimock`, or the handwritten bytes of this folder. */
export type AnsweredBy = 'aimock' | 'own'

export interface Fake {
  readonly url: string
  /** The requests, as they were sent. */
  readonly bodies: readonly Buffer[]
  readonly headers: readonly IncomingMessage['headers'][]
  /** Resolves when every connection was released. */
  released(): Promise<void>
}

/** The properties of a service that a fake needs. */
export interface FakeOptions {
  readonly wire: Wire
  readonly by: AnsweredBy
  /** The path at aimock that corresponds to a path of this service. */
  readonly pathAtAimock?: (path: string) => string
}

/** A service on this machine that gives these answers, one per request. It stores every request as it was sent. */
export async function startFake(
  { wire, by, pathAtAimock = (path) => path }: FakeOptions,
  replies: readonly Reply[],
): Promise<Fake> {
  const headers: IncomingMessage['headers'][] = []
  const mock = by === 'aimock' ? await startAimock(replies, () => headers.length - 1) : undefined
  const server: RawServer = await startRawServer((response, request) => {
    headers.push(request.headers)
    const reply = replies[headers.length - 1]
    if (reply === undefined) {
      response.writeHead(418)
      return void response.end('no further answer was planned')
    }
    const body = server.bodies.at(-1)
    if (mock !== undefined && body !== undefined) {
      return passOn(`${mock}${pathAtAimock(request.url ?? '')}`, request, body, response)
    }
    answerWith(reply, wire, response)
  })
  return { url: server.url, bodies: server.bodies, headers, released: () => server.released() }
}

function answerWith(reply: Reply, wire: Wire, response: ServerResponse): void {
  if (reply.error !== undefined) {
    const { status, message, type } = reply.error
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' })
    return void response.end(JSON.stringify({ error: { message, type, code: type } }))
  }
  const { contentType, bytes } = written(wire, reply)
  response.writeHead(200, { 'content-type': contentType })
  // A slow reply never ends.
  if (reply.isSlow === true) response.write(bytes.subarray(0, bytes.length - 200))
  else response.end(bytes)
}

async function startAimock(replies: readonly Reply[], asked: () => number): Promise<string> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent', chunkSize: 8 })
  mock.addFixtures(
    replies.map((reply, index): Fixture => ({
      match: { predicate: () => asked() === index },
      response: fixtureOf(reply),
      ...(reply.isSlow === true && { latency: 40, chunkSize: 1 }),
    })),
  )
  const url = await mock.start()
  onTestFinished(() => mock.stop())
  return url
}

function fixtureOf({ text, calls, reasoning, usage, error }: Reply): FixtureResponse {
  if (error !== undefined) {
    const { status, message, type } = error
    return { error: { message, type, code: type }, status, retryAfter: 0 }
  }
  const toolCalls = calls?.map(({ id, name, input }) => ({ id, name, arguments: JSON.stringify(input) }))
  // The names of every protocol. Each uses its own.
  const counts = usage && {
    input_tokens: usage.input,
    output_tokens: usage.output,
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output,
  }
  const more = { ...(reasoning !== undefined && { reasoning }), ...(counts !== undefined && { usage: counts }) }
  if (toolCalls === undefined) return { content: text ?? '', ...more }
  return text === undefined ? { toolCalls, ...more } : { content: text, toolCalls, ...more }
}

/** Forwards a request, and streams its response back. If one side closes, the other one does, too. */
function passOn(url: string, { method, headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { host: _, 'content-length': __, ...others } = headers
  const upstream = forward(
    url,
    { method: method ?? 'POST', headers: { ...others, 'content-length': body.length } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    },
  )
  upstream.on('error', () => response.destroy())
  response.on('close', () => upstream.destroy())
  upstream.end(body)
}
