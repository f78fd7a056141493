// Tests R-WIRE-6a and R-WIRE-8e of docs/spec, and R-WIRE-1 for tunnels that cannot be used.
import type { ClientRequest } from 'node:http'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import tls from 'node:tls'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { networkError } from '../src/http/network-error.ts'
import { proxyFor } from '../src/http/proxy.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { pem, trust } from './support/tls-server.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

async function portOf(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

/** A service with TLS that has read the request. Everything after `begins` is written outside of its TLS. */
async function startBreaking(begins: string, garbage: Buffer | string): Promise<string> {
  let outside: Socket | undefined
  const certified = { key: pem('self-signed.key'), cert: pem('self-signed.cert'), maxVersion: 'TLSv1.2' } as const
  const service = tls.createServer(certified, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      if (begins === '') outside?.write(garbage)
      else socket.write(begins, () => setTimeout(() => outside?.write(garbage), 20))
    })
  })
  service.on('tlsClientError', () => {})
  const port = await portOf(service)
  const front = createServer((socket) => {
    outside = socket
    const upstream = connect(port, '127.0.0.1')
    for (const one of [socket, upstream]) one.on('error', () => {})
    socket.pipe(upstream).pipe(socket)
  })
  return `https://localhost:${await portOf(front)}`
}

describe('a break after the request was sent says nothing about reaching the service', () => {
  const fatalAlert = (description: number): Buffer => Buffer.from([21, 3, 3, 0, 2, 2, description])
  test.each([
    ['plain text within TLS, before the answer', '', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['plain text within TLS, within the answer', streamHead, 'HTTP/1.1 200 OK\r\n\r\n'],
    ['an alert of TLS, before the answer', '', fatalAlert(80)],
    ['an alert of TLS, within the answer', streamHead, fatalAlert(80)],
  ])('retries after %s, and may be billed', async (_name, begins, garbage) => {
    trust(pem('self-signed.cert'))
    const url = await startBreaking(begins, garbage)
    const { billed, retryable, neverConnected, message } = recordOf((await call(modelAt(url))).error)
    expect({ billed, retryable, neverConnected }).toEqual({
      billed: 'unknown',
      retryable: true,
      neverConnected: undefined,
    })
    expect(message).toContain(new URL(url).host)
  })

  test.each(['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN'])(
    'retries after %s during the wait for the response',
    async (code) => {
      const server = createServer((socket) => void socket.on('error', () => {}))
      const port = await portOf(server)
      const made = vi.spyOn(process.getBuiltinModule('node:http').ClientRequest.prototype, 'end')
      const called = call(modelAt(`http://127.0.0.1:${port}`))
      await new Promise<void>(
        (resolve) => void server.once('connection', (socket) => void socket.once('data', () => resolve())),
      )
      const [request] = made.mock.contexts as ClientRequest[]
      request?.destroy(Object.assign(new Error(`read ${code}`), { code, syscall: 'read' }))
      const { billed, neverConnected } = recordOf((await called).error)
      expect({ billed, neverConnected }).toEqual({ billed: 'unknown', neverConnected: undefined })
    },
  )

  test('bills nothing if no connection was established', () => {
    const refused = Object.assign(new Error('connect EHOSTUNREACH'), { code: 'EHOSTUNREACH' })
    expect(networkError(refused, 'http://a.example').toRecord()).toMatchObject({
      billed: 'nothing',
      neverConnected: true,
    })
  })
})

describe('a failure before TLS is established affects no request', () => {
  const alert = (description: number): Buffer => Buffer.from([21, 3, 3, 0, 2, 2, description])
  test.each<readonly [string, (socket: Socket) => void]>([
    ['a reset', (socket) => socket.resetAndDestroy()],
    ['an end', (socket) => socket.end()],
    // 112: unrecognized_name; 20: bad_record_mac; 86: inappropriate_fallback.
    ...[112, 20, 86].map((code) => [`alert ${code}`, (socket: Socket) => void socket.write(alert(code))] as const),
  ])('bills nothing after %s', async (_name, answer) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => answer(socket))
    })
    const port = await portOf(server)
    const direct = recordOf((await call(modelAt(`https://localhost:${port}`))).error)
    expect(direct).toMatchObject({ billed: 'nothing', neverConnected: true })
    expect(direct.message).toContain(`localhost:${port}`)
  })

  test('bills nothing within a tunnel', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.once('data', () => socket.resetAndDestroy())
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
      })
    })
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${await portOf(server)}`)
    expect(recordOf((await call(modelAt('https://a.example'))).error)).toMatchObject({
      message:
        'a.example closed the connection during the TLS handshake (ECONNRESET). Is the base URL right, and is there a proxy or a firewall in between?',
      billed: 'nothing',
      neverConnected: true,
    })
  })
})

describe('bytes after the end of compressed data', () => {
  const twice = (text: string): Buffer => deflateSync(gzipSync(text))
  test.each([
    ['gzip', gzipSync(ping), '\0\0'],
    ['deflate', deflateSync(ping), 'xx'],
    ['br', brotliCompressSync(ping), 'xx'],
    ['gzip, deflate', twice(ping), 'xx'],
  ])('do not keep a connection open if they are endless: %s', async (coding, packed, rest) => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write(streamHead.replace('\r\n\r\n', `\r\ncontent-encoding: ${coding}\r\n\r\n`))
        socket.write(chunk(Buffer.concat([packed, Buffer.from(rest)])))
      })
    })
    const url = `http://127.0.0.1:${await portOf(server)}`
    const { error } = await call(modelAt(url, { idleTimeoutMs: 300 }))
    expect(recordOf(error)).toMatchObject({ kind: 'timeout', billed: 'unknown' })
    await vi.waitFor(() => expect(sockets.map(({ closed }) => closed)).toEqual([true]))
  })
})

describe('a tunnel', () => {
  test('reports a failure to start TLS, and leaves nothing open', async () => {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    })
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${await portOf(server)}`)
    // As with NODE_OPTIONS=--tls-cipher-list=… and a name that OpenSSL does not know.
    vi.spyOn(tls, 'createSecureContext').mockImplementation(() => {
      throw Object.assign(new Error('no cipher match'), { code: 'ERR_SSL_NO_CIPHER_MATCH' })
    })
    const { billed, message } = recordOf((await call(modelAt('https://a.example'))).error)
    expect({ billed, message }).toEqual({
      billed: 'nothing',
      message: expect.stringContaining('no cipher match (ERR_SSL_NO_CIPHER_MATCH)') as string,
    })
    await vi.waitFor(() => expect(sockets.map(({ closed }) => closed)).toEqual([true]))
  })
})

test('accepts an IPv6 address without brackets in NO_PROXY', () => {
  const proxied = (url: string, names: string): boolean =>
    proxyFor(new URL(url), { HTTPS_PROXY: 'http://proxy.example', NO_PROXY: names }) !== undefined
  expect(proxied('https://[2001:db8::1]', '2001:db8::1')).toBe(false)
  expect(proxied('https://[2001:db8::1]', 'b.example, 2001:DB8::1')).toBe(false)
  expect(proxied('https://[2001:db8::1]:8443', '[2001:db8::1]:8443')).toBe(false)
  expect(proxied('https://[2001:db8::1]', '[2001:db8::1]:8443')).toBe(true)
  expect(proxied('https://[2001:db8::2]', '2001:db8::1')).toBe(true)
  expect(proxied('https://[fe80::1]', 'fe80::1%eth0')).toBe(true)
})

test('treats a name that starts like a local address as another machine', () => {
  const proxied = (url: string): boolean =>
    proxyFor(new URL(url), { HTTPS_PROXY: 'http://proxy.example' }) !== undefined
  expect(['https://127.a.example', 'https://127.0.0.1.a.example'].map(proxied)).toEqual([true, true])
  expect(['https://127.0.0.1', 'https://127.1.2.3'].map(proxied)).toEqual([false, false])
})
