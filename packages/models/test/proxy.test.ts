import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { nodeTransport } from '../src/http/node-transport.ts'
import { proxyFor } from '../src/http/proxy.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, messageOf, recordings } from './support/recordings.ts'
import { pem, startTls, trust } from './support/tls-server.ts'

const { events } = recordings[0]!

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** A proxy that leads every name to one port of this machine, and records its requests. */
async function startProxy(port: number, answer: 'leads' | number = 'leads', certificate?: string) {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const lead = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    asked.push(`${incoming.method} ${incoming.url}`)
    if (answer !== 'leads') return void outgoing.writeHead(answer).end()
    const { method, headers } = incoming
    const upstream = httpRequest({ port, host: '127.0.0.1', method, headers, path: new URL(incoming.url!).pathname })
    upstream.on('response', (response) => response.pipe(outgoing.writeHead(response.statusCode!, response.headers)))
    incoming.pipe(upstream)
  }
  const server =
    certificate === undefined
      ? createServer(lead)
      : createTlsServer({ key: pem(`${certificate}.key`), cert: pem(`${certificate}.cert`) }, lead)
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? 'without a password'}`)
    sockets.add(socket)
    if (answer !== 'leads') return void socket.end(`HTTP/1.1 ${answer} no\r\n\r\n`)
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.pipe(socket)
      socket.pipe(upstream)
    })
    sockets.add(upstream)
    for (const one of [socket, upstream]) one.on('error', () => {})
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  })
  return { asked, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function startService() {
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(bytesOf(events))
  })
  return { ...server, port: Number(new URL(server.url).port) }
}

describe('sends a request through the proxy of the environment', () => {
  test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY'])('%s', async (variable) => {
    const service = await startService()
    const proxy = await startProxy(service.port)
    vi.stubEnv(variable, `http://me:secret@${proxy.host}`)
    const { reply } = await call(modelAt('http://models.example:8080'))
    expect(reply).toEqual({ message: messageOf(events) })
    expect(proxy.asked).toEqual(['POST http://models.example:8080/v1/messages'])
    expect(service.bodies).toHaveLength(1)
  })

  test('and speaks TLS with the service behind it', async () => {
    const secure = await startTls('self-signed')
    const proxy = await startProxy(Number(new URL(secure).port))
    vi.stubEnv('HTTPS_PROXY', `http://me:secret@${proxy.host}`)
    const { error } = await call(modelAt('https://models.example'))
    expect(proxy.asked).toEqual([`CONNECT models.example:443 Basic ${btoa('me:secret')}`])
    expect(recordOf(error)).toMatchObject({
      retryable: false,
      message: expect.stringMatching(
        /^The certificate of models\.example is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
      ),
    })
  })

  const ask = async (url: string): Promise<string> => {
    const answer = await nodeTransport({ url, headers: {}, body: new Uint8Array(3) }, new AbortController().signal)
    const pieces: Uint8Array[] = []
    for (let piece = await answer.next(); piece !== undefined; piece = await answer.next()) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }

  test('and may use TLS inside the TLS of the proxy', async () => {
    trust(pem('self-signed.cert'))
    const secure = await startTls('self-signed', 'through both')
    const proxy = await startProxy(Number(new URL(secure).port), 'leads', 'self-signed')
    const proxyUrl = `https://m%40e:se%20cret@localhost:${proxy.host.split(':')[1]}`
    vi.stubEnv('HTTPS_PROXY', proxyUrl)
    // The certificate is for this name. A request to it would not go through a proxy.
    expect(await ask(secure.replace('localhost', 'LOCALHOST.'))).toBe('through both')
    expect(proxy.asked).toEqual([expect.stringMatching(`^CONNECT localhost\\.:\\d+ Basic ${btoa('m@e:se cret')}$`)])
  })

  test('and reuses the tunnel of the proxy', async () => {
    trust(pem('self-signed.cert'))
    const secure = await startTls('self-signed', 'through it')
    const proxy = await startProxy(Number(new URL(secure).port))
    vi.stubEnv('HTTPS_PROXY', proxy.host)
    const url = secure.replace('localhost', 'LOCALHOST.')
    for (let count = 0; count < 3; count++) expect(await ask(url)).toBe('through it')
    expect(proxy.asked).toHaveLength(1)
  })

  test('and may use TLS only for the connection to the proxy', async () => {
    trust(pem('self-signed.cert'))
    const service = await startService()
    const proxy = await startProxy(service.port, 'leads', 'self-signed')
    vi.stubEnv('HTTP_PROXY', `https://localhost:${proxy.host.split(':')[1]}`)
    expect((await call(modelAt('http://models.example'))).reply).toEqual({ message: messageOf(events) })
    expect(proxy.asked).toEqual(['POST http://models.example/v1/messages'])
  })

  test('but not to this machine, which a proxy cannot reach', async () => {
    const service = await startService()
    const proxy = await startProxy(service.port)
    vi.stubEnv('HTTP_PROXY', `http://${proxy.host}`)
    expect((await call(modelAt(service.url))).reply).toEqual({ message: messageOf(events) })
    expect(proxy.asked).toEqual([])
  })
})

describe('selects the proxy', () => {
  const env = { HTTP_PROXY: 'http://plain.example:1', HTTPS_PROXY: 'http://secure.example:2' }
  test.each([
    ['http://a.example', env, 'http://plain.example:1'],
    ['https://a.example', env, 'http://secure.example:2'],
    ['https://a.example', { ...env, https_proxy: 'http://small.example:3' }, 'http://small.example:3'],
    ['https://a.example', { HTTP_PROXY: 'http://plain.example:1' }, undefined],
    ['https://a.example', { all_proxy: 'http://all.example:4' }, 'http://all.example:4'],
    ['https://a.example', { HTTPS_PROXY: ' ' }, undefined],
    ['https://a.example', { ...env, NO_PROXY: '*' }, undefined],
    ['https://a.example', { ...env, NO_PROXY: 'b.example, a.example' }, undefined],
    ['https://api.a.example', { ...env, NO_PROXY: 'a.example' }, undefined],
    ['https://api.a.example', { ...env, no_proxy: '.a.example' }, undefined],
    ['https://api.a.example', { ...env, no_proxy: '*.a.example' }, undefined],
    ['https://nota.example', { ...env, no_proxy: 'a.example' }, 'http://secure.example:2'],
    ['https://a.example', { ...env, no_proxy: 'a.example:443' }, undefined],
    ['https://a.example:8443', { ...env, no_proxy: 'a.example:443' }, 'http://secure.example:2'],
    ['https://127.0.0.1:8443', env, undefined],
    ['http://localhost:11434', env, undefined],
    ['http://[::1]:8080', env, undefined],
    ['http://0.0.0.0:8080', env, undefined],
    ['https://a.example', { ...env, no_proxy: '', NO_PROXY: 'a.example' }, undefined],
  ])('for %s with %j: %s', (url, variables, expected) => {
    expect(proxyFor(new URL(url), variables)?.url).toBe(expected)
  })
})

describe('reports a failed proxy without its password', () => {
  const failWith = async (value: string) => {
    vi.stubEnv('HTTPS_PROXY', value)
    const record = recordOf((await call(modelAt('https://models.example'))).error)
    expect(record.message).not.toContain('secret')
    return record
  }

  test('that is not running', async () => {
    expect(await failWith('http://me:secret@127.0.0.1:1')).toMatchObject({
      kind: 'connection',
      retryable: true,
      billed: 'nothing',
      message: 'The proxy at 127.0.0.1:1 cannot be reached (ECONNREFUSED). Is HTTPS_PROXY right?',
    })
  })

  test('that requires a password', async () => {
    const { host } = await startProxy(1, 407)
    expect(await failWith(host)).toMatchObject({
      retryable: false,
      message: `The proxy at ${host} requires a user name and a password. Add them to HTTPS_PROXY.`,
    })
  })

  test('that cannot reach the service', async () => {
    const { host } = await startProxy(1, 502)
    expect(await failWith(`http://${host}`)).toMatchObject({
      retryable: true,
      message: `The proxy at ${host} (HTTPS_PROXY) answered 502 instead of connecting to the service.`,
    })
  })

  test('that cuts the connection', async () => {
    const server = createTcpServer((socket) => void socket.once('data', () => socket.resetAndDestroy()))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await failWith(`http://me:secret@${host}`)).toMatchObject({
      retryable: true,
      billed: 'nothing',
      message: `The proxy at ${host} (HTTPS_PROXY) closed the connection before it had connected to the service (ECONNRESET).`,
    })
  })

  test('whose certificate is not trusted', async () => {
    const { host } = await startProxy(1, 'leads', 'self-signed')
    expect(await failWith(`https://me:secret@${host}`)).toMatchObject({
      retryable: false,
      billed: 'nothing',
      message: expect.stringMatching(`^The certificate of ${host} is not trusted`),
    })
  })

  test('that is not running, for a service without TLS', async () => {
    vi.stubEnv('HTTP_PROXY', 'http://me:secret@127.0.0.1:1')
    expect(recordOf((await call(modelAt('http://models.example'))).error)).toMatchObject({
      billed: 'nothing',
      message: 'The proxy at 127.0.0.1:1 cannot be reached (ECONNREFUSED). Is HTTP_PROXY right?',
    })
  })

  test('whose password cannot be sent', async () => {
    expect(await failWith('http://me:secret%ff%@127.0.0.1:1')).toMatchObject({
      retryable: false,
      message:
        'The proxy in HTTPS_PROXY is no address. Write it like http://proxy.example:8080, or unset the variable.',
    })
  })

  test('of an unsupported kind', async () => {
    expect(await failWith('socks5://me:secret@127.0.0.1:1080')).toMatchObject({
      retryable: false,
      message:
        'The proxy in HTTPS_PROXY begins with socks5://. Write it like http://proxy.example:8080, or unset the variable.',
    })
  })
})
