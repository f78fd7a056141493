// Tests R-WIRE-8e, R-WIRE-8f and R-WIRE-8g of docs/spec, and decision 0022: requests with node:http on the wire.
import dns from 'node:dns'
import { getEventListeners } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import * as zlib from 'node:zlib'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { networkError } from '../src/http/network-error.ts'
import { nodeTransport } from '../src/http/node-transport.ts'
import type { HttpAnswer } from '../src/http/transport.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { isDeep } from './support/deep.ts'
import { startRawServer } from './support/raw-server.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

const never = new AbortController().signal

function bodyOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function post(url: string, { body = bodyOf('{}'), headers = {}, signal = never } = {}): Promise<HttpAnswer> {
  return nodeTransport({ url, headers, body }, signal)
}

interface Read {
  readonly text: string
  readonly broke?: unknown
}

async function readAll(answer: HttpAnswer): Promise<Read> {
  const pieces: Uint8Array[] = []
  const text = (): string => Buffer.concat(pieces).toString()
  try {
    for (;;) {
      const piece = await answer.next()
      if (piece === undefined) return { text: text() }
      pieces.push(piece)
    }
  } catch (broke) {
    return { text: text(), broke }
  }
}

interface TcpServer {
  readonly url: string
  readonly sockets: readonly Socket[]
  /** Resolves when all connections are gone. */
  gone(): Promise<void>
}

/** A server without HTTP. It gets each connection with its number. */
async function startTcp(onSocket: (socket: Socket, number: number) => void, allowHalfOpen = false): Promise<TcpServer> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    onSocket(socket, sockets.length)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sockets,
    async gone() {
      for (const socket of sockets) {
        if (!socket.closed) await new Promise<void>((resolve) => void socket.once('close', () => resolve()))
      }
    },
  }
}

/** Answers every complete request with these bytes. */
function answering(...pieces: readonly string[]): (socket: Socket) => void {
  return (socket) => {
    socket.on('data', (bytes: Buffer) => {
      if (bytes.toString('latin1').endsWith('}')) for (const piece of pieces) socket.write(piece, 'latin1')
    })
  }
}

const small = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

describe('the request', () => {
  test('is one POST with a length and the given headers', async () => {
    const seen: unknown[] = []
    const server = await startRawServer((response, { method, headers, rawHeaders }) => {
      seen.push([method, headers, rawHeaders.filter((_, index) => index % 2 === 0)])
      response.end('ok')
    })
    const body = bodyOf('{"text":"ä"}')
    const headers = { 'x-api-key': 'key', 'Transfer-Encoding': 'chunked', 'content-length': '1' }
    expect(await readAll(await post(`${server.url}/v1/messages?a=b`, { body, headers }))).toEqual({ text: 'ok' })
    const { host } = new URL(server.url)
    const sent = {
      'accept-encoding': 'identity',
      'x-api-key': 'key',
      'content-length': '13',
      host,
      connection: 'keep-alive',
    }
    expect(seen).toEqual([['POST', sent, ['accept-encoding', 'x-api-key', 'content-length', 'Host', 'Connection']]])
    expect(server.bodies).toEqual([Buffer.from(body)])
  })

  test('is a GET without a body; user headers take precedence', async () => {
    const seen: unknown[] = []
    const server = await startRawServer((response, { method, headers }) => {
      seen.push([method, headers['accept-encoding'], headers['content-length']])
      response.end('ok')
    })
    await readAll(await nodeTransport({ url: server.url, headers: { 'accept-encoding': 'br' } }, never))
    expect(seen).toEqual([['GET', 'br', undefined]])
  })

  test('with an invalid header is a program error that does not repeat it', async () => {
    const key = 'sk-secret\nx'
    const thrown = await post('http://127.0.0.1:1', { headers: { 'x-api-key': key } }).catch((error: unknown) => error)
    const { kind, message, retryable } = networkError(thrown, 'http://127.0.0.1:1')
    expect({ kind, retryable }).toEqual({ kind: 'unknown', retryable: false })
    expect(message).toMatch(/^The request could not be made: /)
    expect(message).not.toContain('secret')
  })
})

describe('a connection', () => {
  test('is reused for the next request', async () => {
    const server = await startRawServer((response) => void response.end('ok'))
    for (let count = 0; count < 5; count++) await readAll(await post(server.url))
    expect(server.connections()).toBe(1)
  })

  test('does not keep the process alive when it is idle', async () => {
    const source = `
      const { parentPort } = require('node:worker_threads')
      const server = require('node:http').createServer((request, response) => response.end('ok'))
      server.keepAliveTimeout = 60_000
      server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`
    const worker = new Worker(source, { eval: true })
    onTestFinished(async () => void (await worker.terminate()))
    const port: unknown = await new Promise((resolve) => worker.once('message', resolve))
    const open = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    const before = open()
    const answer = await post(`http://127.0.0.1:${String(port)}`)
    await readAll(answer)
    await vi.waitFor(() => expect(open()).toBe(before))
  })

  test('is not read when it is idle: data on it does not answer the next request', async () => {
    const forged = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged'
    const server = await startTcp(answering(small))
    await readAll(await post(server.url))
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise<void>((resolve) => void server.sockets[0]?.write(forged, () => resolve()))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await readAll(await post(server.url))).toEqual({ text: 'ok' })
    expect(server.sockets).toHaveLength(2)
  })

  const large = new Uint8Array(32_000_000)

  test('repeats the request if an earlier connection closes before everything was sent', async () => {
    const server = await startTcp((socket, number) => {
      let requests = 0
      socket.on('data', (bytes: Buffer) => {
        const begins = bytes.toString('latin1', 0, 4) === 'POST'
        if (begins) requests++
        if (number === 1 && requests === 2) socket.resetAndDestroy()
        else if (number === 1 && begins) socket.write(small)
        else if (bytes.at(-1) === 1) socket.end(small)
      })
    })
    await readAll(await post(server.url))
    const body = large.slice()
    body[body.length - 1] = 1
    expect(await readAll(await post(server.url, { body }))).toEqual({ text: 'ok' })
    expect(server.sockets).toHaveLength(2)
  })

  test('does not repeat the request if it closes afterwards, because it may have been billed', async () => {
    const server = await startTcp((socket) => {
      let requests = 0
      socket.on('data', () => (++requests === 1 ? socket.write(small) : socket.resetAndDestroy()))
    })
    await readAll(await post(server.url))
    const thrown = await post(server.url).catch((error: unknown) => error)
    expect(networkError(thrown, server.url)).toMatchObject({ kind: 'connection', retryable: true, billed: 'unknown' })
    expect(server.sockets).toHaveLength(1)
  })

  test('reports its own close during sending', async () => {
    const server = await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const thrown = await post(server.url, { body: large }).catch((error: unknown) => error)
    expect(networkError(thrown, server.url).message).toMatch(/ closed the connection \((ECONNRESET|EPIPE)\)/)
    expect(server.sockets).toHaveLength(1)
  })

  test('leaves no listener after 1,000 requests', async () => {
    const warnings: unknown[] = []
    const onWarning = (warning: unknown): void => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const server = await startRawServer((response) => void response.end('ok'))
    const { signal } = new AbortController()
    for (let count = 0; count < 1_000; count++) await readAll(await post(server.url, { signal }))
    await new Promise((resolve) => setImmediate(resolve))
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(server.connections()).toBe(1)
    expect(warnings).toEqual([])
  })
})

describe('a response', () => {
  test('has all values of a repeated header', async () => {
    const head = 'HTTP/1.1 429 No\r\nRetry-After: 3\r\nretry-after: 4\r\ncontent-length: 0\r\n\r\n'
    const { status, headers } = await post((await startTcp(answering(head))).url)
    expect([status, headers.get('retry-after'), headers.get('x-none')]).toEqual([429, '3, 4', null])
  })

  test('follows early hints', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
    const server = await startTcp(answering(hints, hints + small))
    expect(await readAll(await post(server.url))).toEqual({ text: 'ok' })
  })

  test('fails if it switches to another protocol', async () => {
    const server = await startTcp(
      answering('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    )
    await expect(post(server.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('that redirects is not followed', async () => {
    const server = await startTcp(answering('HTTP/1.1 307 T\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n'))
    const { status, headers } = await post(server.url)
    expect([status, headers.get('location')]).toEqual([307, '/other'])
  })

  test('ends after trailers', async () => {
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-a: b\r\n\r\n'
    expect(await readAll(await post((await startTcp(answering(chunked))).url))).toEqual({ text: 'ok' })
  })

  test('ends with its connection if it has no length', async () => {
    const server = await startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nok')))
    expect(await readAll(await post(server.url))).toEqual({ text: 'ok' })
  })

  test('takes precedence over a failed write if it comes early', async () => {
    const answer = 'HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlarge'
    // Closing with unread data resets the connection.
    const server = await startTcp((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write(answer, () => socket.destroy())
      })
    })
    for (let count = 0; count < 20; count++) {
      const answered = await post(server.url, { body: new Uint8Array(8_000_000) })
      expect(answered.status).toBe(413)
      expect(await readAll(answered)).toEqual({ text: 'large' })
    }
  })

  test('ends the sending if it comes early', async () => {
    const answer = 'HTTP/1.1 413 Too Large\r\ncontent-length: 5\r\n\r\nlarge'
    const server = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write(answer)
        socket.pause()
      })
    })
    const answered = await post(server.url, { body: new Uint8Array(32_000_000) })
    expect(answered.isSent()).toBe(false)
    expect(await readAll(answered)).toEqual({ text: 'large' })
    server.sockets[0]?.resume()
    await server.gone()
  })
})

describe('never completes a truncated body, and returns what was received', () => {
  test.each([
    ['shorter than its length', 'content-length: 9\r\n\r\nsome', 'closed'],
    ['shorter than its length', 'content-length: 9\r\n\r\nsome', 'reset'],
    ['inside a chunk', 'transfer-encoding: chunked\r\n\r\n9\r\nsome', 'closed'],
    ['between chunks', 'transfer-encoding: chunked\r\n\r\n4\r\nsome\r\n', 'closed'],
    ['between chunks', 'transfer-encoding: chunked\r\n\r\n4\r\nsome\r\n', 'reset'],
    ['without a length', '\r\nsome', 'reset'],
  ] as const)('for %s, %j, %s', async (_name, rest, how) => {
    const server = await startTcp((socket) => socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${rest}`)))
    const answer = await post(server.url)
    const first = Buffer.from((await answer.next()) ?? []).toString()
    const [socket] = server.sockets
    if (how === 'closed') socket?.end()
    else socket?.resetAndDestroy()
    const { text, broke } = await readAll(answer)
    expect(first + text).toBe('some')
    expect(broke).toMatchObject({ code: 'ECONNRESET' })
  })

  test('even when the body is read late', async () => {
    const server = await startTcp((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome'))
    })
    const answer = await post(server.url)
    await server.gone()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await readAll(answer)).toMatchObject({ text: 'some', broke: { code: 'ECONNRESET' } })
  })

  test('even when the response is not HTTP', async () => {
    const server = await startTcp(
      answering('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\nxyz\r\n'),
    )
    const { text, broke } = await readAll(await post(server.url))
    expect(text).toBe('some')
    expect(networkError(broke, server.url).message).toMatch(
      /^127\.0\.0\.1:\d+ sent something that is not HTTP \(HPE_\w+\)\. /,
    )
  })
})

test('explains how to allow longer headers', async () => {
  const server = await startTcp(answering(`HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(100_000)}\r\n\r\n`))
  const thrown = await post(server.url).catch((error: unknown) => error)
  expect(networkError(thrown, server.url).message).toMatch(
    /sent headers that are too long for Node \(HPE_HEADER_OVERFLOW\)/,
  )
})

describe('a reader that stops reading', () => {
  test.each(['identity', 'gzip'])('blocks the other side (%s)', async (coding) => {
    let written = 0
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-encoding': coding })
      const piece = Buffer.alloc(
        65_536,
        coding === 'identity' ? 'x' : gzipSync(Buffer.alloc(50_000_000)).subarray(0, 40_000),
      )
      const more = (): void => {
        if (response.destroyed) return
        written += piece.length
        response.write(piece, () => setImmediate(more))
      }
      more()
    })
    const answer = await post(server.url)
    await answer.next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    const before = { written, memory: process.memoryUsage().arrayBuffers }
    await new Promise((resolve) => setTimeout(resolve, 200))
    // By now the buffers of the kernel are full.
    expect(written).toBe(before.written)
    expect(process.memoryUsage().arrayBuffers - before.memory).toBeLessThan(1_000_000)
    answer.cancel()
    await server.released()
  })
})

describe('a compressed body', () => {
  const text = 'data: {"text":"ä"}\n\n'.repeat(200)
  const plain = Buffer.from(text)
  // Newer than our oldest supported Node. Damage is detected only with a checksum.
  const compressZstd = Reflect.get(zlib, 'zstdCompressSync') as typeof gzipSync | undefined
  const checksum = { params: { [Number(Reflect.get(zlib.constants, 'ZSTD_c_checksumFlag'))]: 1 } }
  const zstd = compressZstd === undefined ? [] : [['zstd', compressZstd(plain, checksum as object)] as const]
  const packed: readonly (readonly [string, Buffer])[] = [
    ['gzip', gzipSync(plain)],
    ['X-GZIP', gzipSync(plain)],
    ['deflate', deflateSync(plain)],
    ['deflate', deflateRawSync(plain)],
    ['br', brotliCompressSync(plain)],
    ['deflate, gzip', gzipSync(deflateSync(plain))],
    ['deflate, br', brotliCompressSync(deflateRawSync(plain))],
    ['identity', plain],
    ['gzip, brand-new', gzipSync(plain)],
    ...zstd,
  ]

  const answerWith = async (coding: string, body: Buffer): Promise<HttpAnswer> => {
    const server = await startRawServer(async (response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': body.length })
      for (let at = 0; at < body.length; at += 37) {
        await new Promise<void>((resolve) => void response.write(body.subarray(at, at + 37), () => resolve()))
      }
      response.end()
    })
    return post(server.url)
  }

  test.each(packed.filter(([coding]) => !coding.includes('new')))('with %s is decoded', async (coding, body) => {
    expect(await readAll(await answerWith(coding, body))).toEqual({ text })
  })

  test('with an unknown encoding is returned unchanged', async () => {
    expect((await readAll(await answerWith('brand-new', plain))).text).toBe(text)
  })

  test('is returned as it arrives, not only at its end', async () => {
    const gzip = createGzip()
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      gzip.pipe(response)
      gzip.write('data: 1\n\n')
      gzip.flush()
    })
    const answer = await post(server.url)
    expect(Buffer.from((await answer.next()) ?? []).toString()).toBe('data: 1\n\n')
    gzip.end('data: 2\n\n')
    expect(await readAll(answer)).toEqual({ text: 'data: 2\n\n' })
  })

  test.each([
    ['is cut', (body: Buffer) => body.subarray(0, -9)],
    ['is spoilt', (body: Buffer) => Buffer.concat([body.subarray(0, 20), Buffer.from('zzzz'), body.subarray(24)])],
    ['is not compressed', () => plain],
  ])('fails with %s', async (_name, spoil) => {
    for (const [coding, body] of packed.filter(([name]) => /^(gzip|deflate|br|zstd)$/.test(name))) {
      const { broke } = await readAll(await answerWith(coding, spoil(body)))
      expect(networkError(broke, 'https://api.example')).toMatchObject({
        kind: 'connection',
        retryable: true,
        message: expect.stringMatching(
          /^The response of api\.example cannot be decompressed \(ERR_CONTENT_DECODING\)\. /,
        ),
      })
    }
  })

  test('may be empty', async () => {
    const server = await startTcp(answering('HTTP/1.1 204 No Content\r\ncontent-encoding: gzip\r\n\r\n'))
    expect(await readAll(await post(server.url))).toEqual({ text: '' })
  })

  test('returns what was received before its connection was cut', async () => {
    const gzip = gzipSync(plain.subarray(0, 100), { finishFlush: zlib.constants.Z_SYNC_FLUSH })
    const server = await startRawServer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.write(gzip, () => response.socket?.end())
    })
    const { text: came, broke } = await readAll(await post(server.url))
    expect(came).toBe(plain.subarray(0, 100).toString())
    expect(broke).toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('ends the connection at an abort at once, with its reason', () => {
  const silent = (): Promise<TcpServer> => startTcp((socket) => void socket.resume())
  const reason = new Error('enough')
  const slow = {
    'while its name is looked up': async (signal: AbortSignal) => {
      vi.spyOn(dns, 'lookup').mockImplementation(() => {})
      return { asked: post('http://service.example', { signal }) }
    },
    'before any work': async (signal: AbortSignal) => {
      const server = await silent()
      return { asked: post(server.url, { signal }), isSoon: true }
    },
    'during the TLS handshake': async (signal: AbortSignal) => {
      const server = await silent()
      return { server, asked: post(server.url.replace('http:', 'https:'), { signal }) }
    },
    'while a tunnel is being requested': async (signal: AbortSignal) => {
      const server = await silent()
      vi.stubEnv('HTTPS_PROXY', new URL(server.url).origin)
      return { server, asked: post('https://service.example', { signal }) }
    },
    'during the TLS handshake in a tunnel': async (signal: AbortSignal) => {
      const server = await startTcp((socket) =>
        socket.once('data', () => socket.resume().write('HTTP/1.1 200 OK\r\n\r\n')),
      )
      vi.stubEnv('HTTPS_PROXY', new URL(server.url).origin)
      return { server, asked: post('https://service.example', { signal }) }
    },
    'while the body goes out': async (signal: AbortSignal) => {
      const server = await startTcp((socket) => socket.once('data', () => socket.pause()))
      return { server, asked: post(server.url, { signal, body: new Uint8Array(32_000_000) }) }
    },
    'while the answer is waited for': async (signal: AbortSignal) => {
      const server = await silent()
      return { server, asked: post(server.url, { signal }) }
    },
    'inside the body': async (signal: AbortSignal) => {
      const server = await startTcp((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome'))
      })
      const answer = await post(server.url, { signal })
      await answer.next()
      return { server, asked: answer.next() }
    },
  }

  test.each(Object.entries(slow))('%s', async (_name, start) => {
    const strays: unknown[] = []
    const onStray = (error: unknown): void => void strays.push(error)
    process.on('uncaughtException', onStray)
    onTestFinished(() => void process.off('uncaughtException', onStray))
    const controller = new AbortController()
    const started = await start(controller.signal)
    if (!('isSoon' in started)) await new Promise((resolve) => setTimeout(resolve, 50))
    const asked = started.asked.then(
      () => 'answered',
      (error: unknown) => error,
    )
    controller.abort(reason)
    // It does not wait for a timer.
    const late = new Promise((resolve) => setTimeout(() => resolve('late'), 20))
    expect(await Promise.race([asked, late])).toBe(reason)
    if ('server' in started) {
      for (const socket of started.server.sockets) socket.resume()
      await started.server.gone()
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(strays).toEqual([])
  })

  test('at the same time as the request', async () => {
    const server = await silent()
    for (let microtasks = 0; microtasks < 12; microtasks++) {
      const controller = new AbortController()
      const asked = post(server.url, { signal: controller.signal }).catch((error: unknown) => error)
      for (let count = 0; count < microtasks; count++) await Promise.resolve()
      controller.abort(reason)
      expect(await asked).toBe(reason)
    }
  })
})

describe('a connection that takes too long', () => {
  test('is reported after 10 s, and nothing is billed', async () => {
    vi.spyOn(dns, 'lookup').mockImplementation(() => {})
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const called = call(modelAt('http://service.example'))
    await vi.waitFor(() => expect(dns.lookup).toHaveBeenCalled(), { interval: 1 })
    await vi.advanceTimersByTimeAsync(10_001)
    expect(recordOf((await called).error)).toMatchObject({
      kind: 'timeout',
      billed: 'nothing',
      neverConnected: true,
      message: expect.stringMatching(/^service\.example did not answer in time \(ERR_CONNECT_TIMEOUT\)/),
    })
  })

  test('is reported with its proxy', async () => {
    const server = await startTcp((socket) => void socket.resume())
    vi.stubEnv('HTTPS_PROXY', new URL(server.url).origin)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const called = call(modelAt('https://service.example'))
    await vi.waitFor(() => expect(server.sockets).toHaveLength(1), { interval: 1 })
    await vi.advanceTimersByTimeAsync(10_001)
    const { host } = new URL(server.url)
    expect(recordOf((await called).error)).toMatchObject({
      billed: 'nothing',
      message: `The proxy at ${host} cannot be reached (ERR_CONNECT_TIMEOUT). Is HTTPS_PROXY right?`,
    })
  })
})

// It waits in real time.
test.runIf(isDeep)(
  'waits for a response longer than any limit of Node',
  async () => {
    const server = createHttpServer((_request, response) => setTimeout(() => response.end('ok'), 5_500))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    expect(await readAll(await post(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))).toEqual({
      text: 'ok',
    })
  },
  10_000,
)
