// Tests R-WIRE-8b and R-WIRE-8c of docs/spec: a response starts with its head, and `100 Continue` is not a response.
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { call, recordOf } from './support/call.ts'
import { answeringReply, framesOf } from './support/fault-reply.ts'
import type { FaultProtocol } from './support/fault-reply.ts'
import { startRawServer } from './support/raw-server.ts'
import { message } from './support/responses-read.ts'

const protocols = ['messages', 'chat', 'responses'] as const

function modelOf(protocol: FaultProtocol, baseUrl: string) {
  const options = { model: 'claude-test', apiKey: 'key', baseUrl }
  return { messages: anthropic, chat: openaiCompatible, responses: openaiResponses }[protocol](options)
}

function streamOf(protocol: FaultProtocol): string {
  return framesOf(protocol, answeringReply)
    .map(({ bytes }) => bytes)
    .join('')
}

describe.each(protocols)('a stream of %s', (protocol) => {
  test.each(['application/json', 'application/x-ndjson', 'application/json; charset=utf-8', 'text/html', 'text/xml'])(
    'is read with any content type: %s',
    async (type) => {
      const server = await startRawServer((response) => {
        response.writeHead(200, { 'content-type': type })
        response.end(`\u{feff}\n\n${streamOf(protocol)}`)
      })
      const { reply } = await call(modelOf(protocol, server.url))
      expect(reply?.message.content).toEqual(answeringReply.blocks)
      expect(reply?.streamError).toBeUndefined()
    },
  )

  test('is read as it arrives, even if its first line is split between chunks', async () => {
    const server = await startRawServer(async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      for (const piece of streamOf(protocol)) {
        if (!response.write(piece)) await new Promise<void>((resolve) => void response.once('drain', () => resolve()))
      }
      response.end()
    })
    const { reply } = await call(modelOf(protocol, server.url))
    expect(reply?.message.content).toEqual(answeringReply.blocks)
  })

  test('is read if each line is an event without a field name', async () => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      const lines = streamOf(protocol).split('\n')
      response.end(lines.flatMap((line) => (line.startsWith('data: {') ? [`${line.slice(6)}\r\n`] : [])).join(''))
    })
    const { reply } = await call(modelOf(protocol, server.url))
    expect(reply?.message.content).toEqual(answeringReply.blocks)
  })

  test('may be JSON lines with another content type', async () => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-type': 'application/jsonl' })
      const lines = streamOf(protocol).split('\n')
      response.end(lines.flatMap((line) => (line.startsWith('data: {') ? [`${line.slice(6)}\n`] : [])).join(''))
    })
    const { reply } = await call(modelOf(protocol, server.url))
    expect(reply?.message.content).toEqual(answeringReply.blocks)
  })

  test('reports a broken connection if it is labelled as JSON and breaks', async () => {
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(streamOf(protocol).slice(0, 40))
      setTimeout(() => response.socket?.resetAndDestroy(), 50)
    })
    expect(recordOf((await call(modelOf(protocol, server.url))).error)).toMatchObject({ kind: 'connection' })
  })
})

describe.each(protocols)('a response of %s that is not streamed', (protocol) => {
  const labels = ['text/event-stream', 'text/plain', 'application/octet-stream', '']
  const answering = (type: string, body: object) =>
    startRawServer((response) => {
      response.writeHead(200, type === '' ? {} : { 'content-type': type })
      response.end(JSON.stringify(body))
    })
  const usage = { input_tokens: 5, output_tokens: 1, prompt_tokens: 5, completion_tokens: 1 }

  test.each(labels)('is read with any content type: "%s"', async (type) => {
    const server = await answering(type, {
      ...(protocol === 'messages' && { type: 'message', role: 'assistant', stop_reason: 'end_turn' }),
      content: [{ type: 'text', text: 'whole' }],
      choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }],
      ...(protocol === 'responses' && { object: 'response', output: [message('whole')] }),
      usage,
    })
    const { reply } = await call(modelOf(protocol, server.url))
    expect(reply?.message.content).toMatchObject([{ type: 'text', text: 'whole' }])
  })

  test.each(labels)('is an error with any content type: "%s"', async (type) => {
    const server = await answering(type, { type: 'error', error: { type: 'overloaded_error', message: 'Too much' } })
    const { error } = await call(modelOf(protocol, server.url))
    expect(recordOf(error)).toMatchObject({ kind: 'overloaded', message: '200 overloaded_error: Too much' })
  })
})

test.each([401, 500])(
  'waits for the body of a %i at most as long as for the end of a reply',
  async (status) => {
    const server = await startRawServer((response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.write('{"error":')
      const timer = setInterval(() => response.write(' '), 10)
      response.once('close', () => clearInterval(timer))
    })
    const began = performance.now()
    const model = anthropic({ model: 'claude-test', apiKey: 'key', baseUrl: server.url, endTimeoutMs: 100 })
    const { error } = await call(model)
    expect(recordOf(error)).toMatchObject({ status })
    expect(performance.now() - began).toBeLessThan(20_000)
  },
  30_000,
)

/** A service on a bare socket that answers each request with these chunks. */
async function startBytes(piecesOf: (request: number) => readonly string[]): Promise<{
  readonly url: string
  readonly requests: () => number
  readonly connections: () => number
}> {
  let requests = 0
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    let head = ''
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1')
      // The body of these requests ends with the last brace, which arrives in the last chunk.
      if (!head.includes('\r\n\r\n') || !head.endsWith('}')) return
      head = ''
      void send(piecesOf(requests++))
    })
    const send = async (pieces: readonly string[]): Promise<void> => {
      for (const piece of pieces) {
        socket.write(piece)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    connections: () => connections,
  }
}

const proceed = 'HTTP/1.1 100 Continue\r\n\r\n'

function answerOf(protocol: FaultProtocol): string {
  const body = streamOf(protocol)
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return head + body
}

describe.each(protocols)('an unexpected `100 Continue` (%s)', (protocol) => {
  const answer = answerOf(protocol)
  test.each([
    ['before the answer', [proceed, answer]],
    ['together with it', [proceed + answer]],
    ['twice', [proceed + proceed, answer]],
    ['with a field', ['HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n', answer]],
    ['in pieces', ['HTT', 'P/1.1 1', '00 Continue\r', '\n\r', `\n${answer.slice(0, 7)}`, answer.slice(7)]],
  ])('is skipped: %s', async (_name, pieces) => {
    const service = await startBytes(() => pieces)
    const model = modelOf(protocol, service.url)
    for (let count = 0; count < 3; count++) {
      expect((await call(model)).reply?.message.content).toEqual(answeringReply.blocks)
    }
    // No request was sent twice, and the connection was reused.
    expect(service.requests()).toBe(3)
    expect(service.connections()).toBeLessThan(3)
  })

  test('is part of the reply if it is inside one', async () => {
    const body = streamOf(protocol)
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n'
    const inner = `: ${proceed.trim()}\n\n`
    const length = Buffer.byteLength(inner + body)
    const service = await startBytes(() => [`${head}content-length: ${length}\r\n\r\n`, inner, body])
    expect((await call(modelOf(protocol, service.url))).reply?.message.content).toEqual(answeringReply.blocks)
  })
})
