// Tests R-REQ-1a and R-REQ-1b of docs/spec over real connections: failures that cannot succeed end soon.
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { RunEvent } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { answeringReply, framesOf } from './support/fault-reply.ts'
import type { FaultProtocol } from './support/fault-reply.ts'
import { runTo } from './support/fault-run.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

function retriesOf(events: readonly RunEvent[]): readonly (readonly [number, number, string])[] {
  return events.flatMap((event) =>
    event.type === 'retry' ? [[event.attempt, event.maxRetries, event.error.message] as const] : [],
  )
}

/** A server that treats every connection like this, until it is closed. */
async function startSockets(
  treat: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer((socket) => treat(socket.on('error', () => {})))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))
  return { port: (server.address() as AddressInfo).port, close }
}

describe('retries an unreachable service twice, and reports the reason each time', () => {
  test('when nothing listens', async () => {
    const { port, close } = await startSockets(() => {})
    await close()
    const { terminal, events } = await runTo('go', { model: modelAt(`http://127.0.0.1:${port}`) })
    const why = `Nothing listens at http://127.0.0.1:${port} (ECONNREFUSED). Is the service running, and is the base URL right?`
    expect(terminal.reason).toBe('model_error')
    expect(retriesOf(events)).toEqual([[1, 2, why], [2, 2, why]]) // prettier-ignore
  })

  test('when the connection ends before TLS is established', async () => {
    const { port, close } = await startSockets((socket) => void socket.once('data', () => socket.destroy()))
    onTestFinished(close)
    const { terminal, events } = await runTo('go', { model: modelAt(`https://127.0.0.1:${port}`) })
    expect([terminal.reason, retriesOf(events).length]).toEqual(['model_error', 2])
    expect(retriesOf(events)[0]?.[2]).toBe(
      `127.0.0.1:${port} closed the connection during the TLS handshake (ECONNRESET). Is the base URL right, and is there a proxy or a firewall in between?`,
    )
  })

  test('when the other side does not speak TLS', async () => {
    const { port, close } = await startSockets(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    )
    onTestFinished(close)
    const { error } = await call(modelAt(`https://127.0.0.1:${port}`))
    expect(recordOf(error)).toMatchObject({
      kind: 'connection',
      retryable: false,
      neverConnected: true,
      billed: 'nothing',
    })
  })
})

describe('does not retry a second time after an identical failure', () => {
  const frames = framesOf('messages', answeringReply).map(({ bytes }) => bytes)
  const chat = framesOf('chat', answeringReply).map(({ bytes }) => bytes)
  const responses = framesOf('responses', answeringReply).map(({ bytes }) => bytes)
  const bodies: readonly (readonly [string, FaultProtocol, string])[] = [
    ['no JSON', 'messages', `${frames[0] ?? ''}data: {"type": "content_bl\n\n`],
    ['an event at the wrong place', 'messages', frames.slice(1).join('')],
    ['an early end', 'messages', frames[0] ?? ''],
    ['no JSON', 'chat', 'data: {"choices": [\n\n'],
    ['an early end', 'chat', chat[0] ?? ''],
    ['no JSON', 'responses', `${responses[0] ?? ''}data: {"type": "respon\n\n`],
    [
      'an event at the wrong place',
      'responses',
      responses
        .toSpliced(3, 0, responses[2] ?? '')
        .join('')
        .replaceAll(/"sequence_number":\d+/g, '"n":0'),
    ],
    ['an early end', 'responses', responses[0] ?? ''],
  ]
  test.each(bodies)('%s (%s)', async (_name, protocol, body) => {
    const server = await startRawServer((response) => {
      beginStream(response)
      // The position at which the network cuts does not matter.
      const at = server.bodies.length * 3
      response.write(body.slice(0, at))
      setTimeout(() => response.end(body.slice(at)), 20)
    })
    const options = { model: 'm', apiKey: 'key', baseUrl: server.url }
    const model = { messages: anthropic, chat: openaiCompatible, responses: openaiResponses }[protocol](options)
    const { terminal } = await runTo('go', { model })
    expect([terminal.reason, server.bodies.length]).toEqual(['model_error', 2])
  })

  test('but retries after a different failure, or a broken connection', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      const count = server.bodies.length
      response.write(frames[0] ?? '')
      if (count < 4) response.write(`data: {"type": ${count}\n\n`, () => response.end())
      else if (count < 8) setTimeout(() => response.socket?.resetAndDestroy(), 20)
      else response.end(frames.slice(1).join(''))
    })
    const { terminal } = await runTo('go', { model: modelAt(server.url) })
    expect([terminal.reason, server.bodies.length]).toEqual(['completed', 8])
  })

  test('and does not retry forever after an error in the stream', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      const error = 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n'
      response.end(server.bodies.length < 5 ? error : frames.join(''))
    })
    const { terminal } = await runTo('go', { model: modelAt(server.url) })
    expect([terminal.reason, server.bodies.length]).toEqual(['completed', 5])
  })
})

test('ignores different ids and times of a broken reply', async () => {
  const bodyOf = (attempt: number): string =>
    framesOf('messages', answeringReply)
      .map(({ bytes }) => bytes)
      .slice(0, 1)
      .concat(
        ...Array.from({ length: attempt }, () => 'event: ping\ndata: {"type": "ping"}\n\n'),
        `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_${attempt}","name":"b"}}\n\n`,
        'data: {"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}\n\n',
      )
      .join('')
      .replaceAll(/"id":"msg[^"]*"/g, `"id": "msg_${attempt}", "created_at": ${1_700_000_000 + attempt}`)
  const asked = async (end: (attempt: number) => string) => {
    let attempt = 0
    const server = await startRawServer((response) => {
      beginStream(response, { 'request-id': `req_${++attempt}` })
      response.end(end(attempt))
    })
    await runTo('go', { model: modelAt(server.url), maxRetries: 4 })
    return server.bodies.length
  }
  expect(await asked(bodyOf)).toBe(2)
  // A reply with another text may be complete at the next attempt, and so may one that just ended.
  expect(await asked((attempt) => bodyOf(1).replace('"text":"x"', `"text":"${attempt}"`))).toBe(5)
  expect(await asked((attempt) => bodyOf(attempt).slice(0, bodyOf(attempt).indexOf('event: ping')))).toBe(5)
})
