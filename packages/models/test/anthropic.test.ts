import { readFileSync } from 'node:fs'
import { RunAbort } from '@halting/core'
import type { JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { call, modelAt, recordOf, requestOf } from './support/call.ts'
import { beginStream, startRawServer, write } from './support/raw-server.ts'
import { bytesOf, messageOf, recordings, replyOf } from './support/recordings.ts'

const textRecording = recordings.find(({ name }) => name === 'anthropic-text #1')!
const toolRecording = recordings.find(({ name }) => name === 'anthropic-tool-no-args #1')!

/** The events of a recording up to and including the first of this type. */
function until(events: readonly JsonObject[], type: string): readonly JsonObject[] {
  return events.slice(0, events.findIndex((event) => event.type === type) + 1)
}

describe('reads the same message over a real connection from every recorded stream', () => {
  test.each(recordings)('$name', async ({ events }) => {
    let lineEnd: '\n' | '\r\n' = '\n'
    let cut = 0
    const server = await startRawServer(async (response) => {
      const bytes = bytesOf(events, lineEnd)
      beginStream(response)
      await write(response, bytes.subarray(0, cut))
      await write(response, bytes.subarray(cut))
      response.end()
    })
    const model = modelAt(server.url)
    const length = bytesOf(events).length
    for (lineEnd of ['\n', '\r\n'] as const) {
      for (cut = 1; cut < length; cut += Math.ceil(length / 8)) {
        const { reply, updates } = await call(model)
        expect(reply).toEqual(replyOf(events))
        expect(updates.flatMap((update) => (update.type === 'api_event' ? [update.event] : []))).toEqual(events)
      }
    }
  })

  test('reuses connections call after call', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(textRecording.events))
    })
    const model = modelAt(server.url)
    for (let count = 0; count < 5; count++) await call(model)
    expect(server.bodies).toHaveLength(5)
    expect(server.connections()).toBeLessThan(3)
  })

  test('emits updates while the stream is still open', async () => {
    let resume = (): void => {}
    const server = await startRawServer(async (response) => {
      beginStream(response)
      const head = until(textRecording.events, 'content_block_delta')
      await write(response, bytesOf(head))
      await new Promise<void>((resolve) => void (resume = resolve))
      response.end(bytesOf(textRecording.events.slice(head.length)))
    })
    const { reply } = await call(modelAt(server.url), {
      onUpdate: (update) => {
        if (update.type === 'text_delta' && update.text === 'Hello') resume()
      },
    })
    expect(reply?.message.stop_reason).toBe('end_turn')
  })
})

describe('a dropped connection', () => {
  const dropAfter = async (events: readonly JsonObject[]) => {
    const server = await startRawServer(async (response) => {
      beginStream(response, { 'request-id': 'req_7' })
      await write(response, bytesOf(events))
      response.destroy()
    })
    return call(modelAt(server.url))
  }

  test('rejects before the first completed block, and may be retried', async () => {
    const { error } = await dropAfter(until(textRecording.events, 'content_block_delta'))
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true, status: null, billed: 'unknown' })
  })

  test('preserves completed blocks and reports the failure', async () => {
    const { reply } = await dropAfter(until(toolRecording.events, 'content_block_stop'))
    expect(reply?.message).toMatchObject({
      content: [{ type: 'text', text: "I'll update the issue list for you." }],
      stop_reason: null,
    })
    expect(recordOf(reply?.streamError)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('loses nothing after the stop reason', async () => {
    const { reply } = await dropAfter(until(toolRecording.events, 'message_delta'))
    expect(reply).toEqual({ message: messageOf(toolRecording.events) })
  })

  test('rejects before any response, and may be retried', async () => {
    const server = await startRawServer((response) => void response.destroy())
    const { error } = await call(modelAt(server.url))
    expect(recordOf(error)).toMatchObject({
      kind: 'connection',
      retryable: true,
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ closed the connection/),
    })
  })

  test('is handled like a regular end in the middle of a stream', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(until(textRecording.events, 'content_block_delta')))
    })
    const { error } = await call(modelAt(server.url))
    expect(recordOf(error).message).toBe('The reply stream failed: it ended before the reply was complete.')
  })

  test('yields a message, a part of it with the reason, or a retryable error at any position', async () => {
    const bytes = bytesOf(toolRecording.events)
    const whole = messageOf(toolRecording.events)
    let length = 0
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytes.subarray(0, length))
    })
    const model = modelAt(server.url)
    const outcomes = new Set<string>()
    for (length = 0; length <= bytes.length; length += 5) {
      const { reply, error } = await call(model)
      const content: readonly unknown[] = reply?.message.content ?? []
      if (reply === undefined) outcomes.add(`error, retryable: ${recordOf(error).retryable}`)
      else outcomes.add(reply.streamError === undefined ? 'whole' : `part: ${content.length}`)
      expect(content).toEqual((whole.content as unknown[]).slice(0, content.length))
    }
    expect([...outcomes]).toEqual(['error, retryable: true', 'part: 1', 'whole'])
  })
})

describe('an error event after a 200', () => {
  const errorAfter = async (events: readonly JsonObject[], data: string) => {
    const server = await startRawServer((response) => {
      beginStream(response, { 'request-id': 'req_9' })
      response.end(Buffer.concat([bytesOf(events), Buffer.from(`event: error\ndata: ${data}\n\n`)]))
    })
    return call(modelAt(server.url))
  }
  const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

  test('rejects with its kind before the first completed block', async () => {
    const { error } = await errorAfter(until(textRecording.events, 'message_start'), overloaded)
    expect(recordOf(error)).toEqual({
      kind: 'overloaded',
      message: 'The service aborted its reply: Overloaded.',
      status: null,
      retryable: true,
      retryAfterMs: null,
      requestId: 'req_9',
      usage: null,
      billed: 'unknown',
    })
  })

  test('preserves completed blocks', async () => {
    const { reply } = await errorAfter(until(toolRecording.events, 'content_block_stop'), overloaded)
    expect(reply?.message.content).toHaveLength(1)
    expect(recordOf(reply?.streamError).kind).toBe('overloaded')
  })

  test.each([
    ['{"type":"error","error":{"type":"api_error","message":"boom"}}', 'server_error'],
    ['{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}', 'rate_limit'],
    [
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}',
      'prompt_too_long',
    ],
    ['{"error":{"message":"gateway"}}', 'server_error'],
    ['upstream went away', 'server_error'],
  ])('maps %s to %s', async (data, kind) => {
    expect(recordOf((await errorAfter([], data)).error).kind).toBe(kind)
  })
})

describe('garbage in a stream never becomes a message', () => {
  test.each(['not json', '[1,2]', '"text"', '{"type":"content_block_delta","index":3}'])('%s', async (data) => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.write(bytesOf(until(textRecording.events, 'content_block_start')))
      response.end(`data: ${data}\n\n`)
    })
    const { error } = await call(modelAt(server.url))
    expect(recordOf(error)).toMatchObject({ kind: 'connection', retryable: true })
  })

  test('accepts comments, empty data, other fields and [DONE]', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      response.write(': a comment\n\nretry: 5\nid: 1\ndata:\n\n')
      response.write(bytesOf(textRecording.events.slice(0, -1)))
      response.end('data: [DONE]\n\n')
    })
    expect((await call(modelAt(server.url))).reply).toEqual({ message: messageOf(textRecording.events) })
  })
})

describe('an abort', () => {
  const reason = new RunAbort('user')

  test('sends nothing before the call', async () => {
    const server = await startRawServer(() => {})
    expect((await call(modelAt(server.url), { signal: AbortSignal.abort(reason) })).error).toBe(reason)
    expect(server.bodies).toEqual([])
  })

  test('rejects with its reason before the response starts, and releases the connection', async () => {
    const controller = new AbortController()
    const server = await startRawServer(() => controller.abort(reason))
    expect((await call(modelAt(server.url), { signal: controller.signal })).error).toBe(reason)
    await server.released()
  })

  test('rejects with its reason in mid-stream, emits nothing more and releases the connection', async () => {
    const controller = new AbortController()
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytesOf(textRecording.events.slice(0, -1)))
    })
    const { error, updates } = await call(modelAt(server.url), {
      signal: controller.signal,
      onUpdate: ({ type }) => {
        if (type === 'text_delta') controller.abort(reason)
      },
    })
    expect(error).toBe(reason)
    expect(updates.filter(({ type }) => type === 'text_delta')).toHaveLength(1)
    expect(updates.at(-1)?.type).toBe('text_delta')
    await server.released()
  })

  test('takes effect even if fetch and body ignore it', async () => {
    const deafFetch = () => new Promise<Response>(() => {})
    const first = new AbortController()
    const waiting = call(modelAt('http://127.0.0.1:1', { fetch: deafFetch }), { signal: first.signal })
    first.abort(reason)
    expect((await waiting).error).toBe(reason)

    const second = new AbortController()
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(bytesOf(until(textRecording.events, 'content_block_delta'))),
      cancel: () => new Promise(() => {}),
    })
    const deafBody = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const { error } = await call(modelAt('http://127.0.0.1:1', { fetch: deafBody }), {
      signal: second.signal,
      onUpdate: ({ type }) => {
        if (type === 'text_delta') second.abort(reason)
      },
    })
    expect(error).toBe(reason)
  })

  test("leaves no listener on the run's signal", async () => {
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    const server = await startRawServer((response) => {
      beginStream(response)
      response.end(bytesOf(textRecording.events))
    })
    await call(modelAt(server.url), { signal })
    await call(modelAt('http://127.0.0.1:1'), { signal })
    expect(listeners).toBe(0)
  })
})

describe('a silent service', () => {
  test('exceeds the request timeout before it responds', async () => {
    const server = await startRawServer(() => {})
    const { error } = await call(modelAt(server.url, { requestTimeoutMs: 20 }))
    expect(recordOf(error)).toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: 'The response did not start within 20 ms.',
    })
    await server.released()
  })

  test('exceeds the idle timeout in mid-stream', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytesOf(until(textRecording.events, 'content_block_delta')))
    })
    const { error } = await call(modelAt(server.url, { idleTimeoutMs: 300 }))
    expect(recordOf(error)).toMatchObject({
      kind: 'timeout',
      retryable: true,
      message: 'The stream was silent for 300 ms.',
    })
    await server.released()
  })

  test('preserves completed blocks', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytesOf(until(toolRecording.events, 'content_block_stop')))
    })
    const { reply } = await call(modelAt(server.url, { idleTimeoutMs: 300 }))
    expect(reply?.message.content).toHaveLength(1)
    expect(recordOf(reply?.streamError).kind).toBe('timeout')
  })

  test('causes only a short wait after the stop reason', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytesOf(until(textRecording.events, 'message_delta')))
    })
    const { reply } = await call(modelAt(server.url, { endTimeoutMs: 50 }))
    expect(reply).toEqual({ message: messageOf(textRecording.events) })
    await server.released()
  })

  test('does not cause an endless wait if it only sends pings', async () => {
    const server = await startRawServer((response) => {
      beginStream(response)
      const timer = setInterval(() => response.write('event: ping\ndata: {"type":"ping"}\n\n'), 5)
      response.once('close', () => clearInterval(timer))
    })
    const { error } = await call(modelAt(server.url, { requestTimeoutMs: 500 }))
    expect(recordOf(error).message).toBe('Only keep-alive events arrived for 500 ms.')
    await server.released()
  })

  test('causes a wait within its limits', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      for (const event of textRecording.events) {
        await write(response, bytesOf([event]))
        await new Promise((resolve) => void setTimeout(resolve, 60))
      }
      response.end()
    })
    const { reply } = await call(modelAt(server.url, { idleTimeoutMs: 500, requestTimeoutMs: 500 }))
    expect(reply).toEqual({ message: messageOf(textRecording.events) })
  })
})

describe('the request on the wire', () => {
  test('has the headers of the API, keys, betas and headers of the user', async () => {
    let headers: object = {}
    let url: string | undefined
    const server = await startRawServer((response, request) => {
      headers = request.headers
      url = request.url
      beginStream(response)
      response.end(bytesOf(textRecording.events))
    })
    await call(
      modelAt(`${server.url}/gateway/`, {
        apiKey: 'key\n',
        authToken: 'token',
        betas: ['one', 'two'],
        headers: { 'X-Team': 'ants', 'Anthropic-Beta': 'zero' },
      }),
      { request: requestOf({ idempotencyKey: 'run/日/model:1.1' }) },
    )
    expect(url).toBe('/gateway/v1/messages')
    expect(headers).toMatchObject({
      accept: 'text/event-stream',
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'zero,one,two',
      'x-api-key': 'key',
      authorization: 'Bearer token',
      'x-team': 'ants',
      'idempotency-key': 'run/%65e5/model:1.1',
    })
  })

  test('has a body with its length, as one JSON text', async () => {
    const server = await startRawServer((response, request) => {
      expect(request.headers['content-length']).toBe(String(server.bodies[0]!.length))
      beginStream(response)
      response.end(bytesOf(textRecording.events))
    })
    await call(modelAt(server.url), { request: requestOf({ system: 'Be brief. 日本' }) })
    expect(JSON.parse(server.bodies[0]!.toString())).toEqual({
      model: 'claude-test',
      max_tokens: 100,
      stream: true,
      system: [{ type: 'text', text: 'Be brief. 日本', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
    })
  })

  test('rethrows an error of the listener, and releases the connection', async () => {
    const server = await startRawServer(async (response) => {
      beginStream(response)
      await write(response, bytesOf(until(textRecording.events, 'content_block_delta')))
    })
    const mistake = new Error('a mistake of the listener')
    const onUpdate = (update: ModelUpdate): void => {
      if (update.type === 'text_delta') throw mistake
    }
    expect((await call(modelAt(server.url), { onUpdate })).error).toBe(mistake)
    await server.released()
  })
})

test('the recordings exist', () => {
  expect(recordings.length).toBeGreaterThan(10)
  expect(readFileSync(new URL('fixtures/README.md', import.meta.url), 'utf8')).toContain('Apache-2.0')
})
