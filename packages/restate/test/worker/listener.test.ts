// Holds rules of docs/spec: R-CLU-18, R-CLU-18a, R-LOAD-7.
import { connect as connectHttp2 } from 'node:http2'
import { connect, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { listen, type Listener } from '../../src/worker/listener.ts'

const opened: Listener[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((listener) => listener.close()))
})

async function listening(silenceMs?: number): Promise<Listener> {
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    ...(silenceMs !== undefined && { silenceMs }),
    http2: (_request, response) => {
      response.end('engine')
    },
    http1: (_request, response) => {
      response.end('others')
    },
  })
  opened.push(listener)
  return listener
}

async function allOf(socket: Socket): Promise<string> {
  let text = ''
  try {
    for await (const chunk of socket) text += (chunk as Buffer).toString('latin1')
  } catch {
    // The connection was closed.
  }
  return text
}

test('an engine is recognized even if its first bytes arrive one by one', async () => {
  const { port } = await listening()
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const first = new Promise<Buffer>((resolve) => socket.once('data', resolve))
  for (const byte of 'PRI') {
    socket.write(byte)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  // The rest of the preface, and empty settings.
  socket.write(' * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
  // Settings of the other side: a frame of type 4.
  expect((await first)[3]).toBe(4)
  socket.destroy()
})

test('a silent or endless connection is closed', async () => {
  const { port } = await listening(50)
  for (const data of ['', 'P', 'PR', 'GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nhost: x\r\n']) {
    const socket = connect(port, '127.0.0.1')
    socket.write(data)
    expect(await allOf(socket)).not.toContain('200')
  }
})

test.each(['GET / HTTP/1.1\r\nx: ', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n'])(
  'a request that arrives byte by byte without end is cut off: %j',
  async (begin) => {
    const { port } = await listening(100)
    const socket = connect(port, '127.0.0.1')
    socket.write(begin)
    const bytes = setInterval(() => socket.write('x'), 10)
    await allOf(socket)
    clearInterval(bytes)
    expect(socket.destroyed).toBe(true)
  },
)

test('data that is not HTTP does no harm', async () => {
  const { port } = await listening()
  for (const data of [
    '\u0000'.repeat(100),
    'PRI garbage'.repeat(100),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + 'x'.repeat(1_000),
    `GET / HTTP/1.1\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`,
    'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\nhttp2-settings: AAAA\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n',
  ]) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.end(data, 'latin1')
    await allOf(socket)
  }
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('others')
})

test.each(['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'])(
  'no answer waits for the acknowledgement of earlier data: %j',
  async (data) => {
    const { port } = await listening()
    const setNoDelay = vi.spyOn(Socket.prototype, 'setNoDelay')
    try {
      const socket = connect(port, '127.0.0.1')
      socket.write(data)
      await new Promise((resolve) => socket.once('data', resolve))
      const served = setNoDelay.mock.contexts.filter((one) => (one as Socket).localPort === port)
      expect(served.length).toBeGreaterThan(0)
      expect(setNoDelay).toHaveBeenCalledWith(true)
      socket.destroy()
    } finally {
      setNoDelay.mockRestore()
    }
  },
)

test.each(['renew', 'drain'] as const)(
  'after %s, the engine begins no call on existing connections, and running calls continue',
  async (how) => {
    const answers: (() => void)[] = []
    const listener = await listen({
      host: '127.0.0.1',
      port: 0,
      http2: (_request, response) => void answers.push(() => response.end('done')),
      http1: (_request, response) => void response.end(),
    })
    opened.push(listener)
    const engine = connectHttp2(`http://127.0.0.1:${listener.port}`)
    const stream = engine.request({ ':path': '/' })
    await vi.waitFor(() => expect(answers).toHaveLength(1))
    listener[how]()
    await vi.waitFor(() => expect(engine.remoteSettings.maxConcurrentStreams).toBe(0))
    expect(engine.closed).toBe(false)
    answers[0]?.()
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    expect(text).toBe('done')
    engine.destroy()
    const other = connect(listener.port, '127.0.0.1')
    const received = new Promise((resolve) => {
      other.once('connect', () => resolve('connected'))
      other.once('error', () => resolve('refused'))
    })
    expect(await received).toBe(how === 'renew' ? 'connected' : 'refused')
    other.destroy()
  },
)
