// The proxy of the sandbox against what a command may send it (spec R-BOX-6).
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveProxy } from '../../src/sandbox/proxy.ts'

const opened: string[] = []
const resolved: string[] = []
let proxyPort = 0
const upstream = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.once('data', (bytes) => socket.end(`GOT ${bytes.toString('latin1')}`))
})
const proxy = createServer()
const portOf = (server: typeof proxy): number => (server.address() as { port: number }).port
const listening = (server: typeof proxy): Promise<void> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

beforeAll(async () => {
  await Promise.all([listening(upstream), listening(proxy)])
  proxyPort = portOf(proxy)
  serveProxy(proxy, {
    domains: { allowed: ['*.example.com', 'down.org', '*.0'], denied: ['gist.example.com'] },
    resolve: async (host) => {
      resolved.push(host)
      return ['93.184.216.34']
    },
    open: (to, at): Socket => {
      opened.push(`${to}:${at}`)
      return connect(resolved.at(-1) === 'down.org' ? 1 : portOf(upstream), '127.0.0.1')
    },
  })
})

afterAll(() => {
  upstream.close()
  proxy.close()
})

/** What comes back, up to the end of the connection. */
function answerTo(text: string): Promise<string> {
  return new Promise((resolve) => {
    let told = ''
    const socket = connect(proxyPort, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    socket.on('data', (bytes) => {
      told += bytes.toString('latin1')
      if (told.startsWith('HTTP/1.1 200')) socket.end()
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(told.split('\r\n', 1)[0] ?? ''))
  })
}

test.each([
  // Resolvers leave out what has no width, and make letters of others: what was judged would not be what is reached.
  ['CONNECT gi\u00ADst.example.com:443 HTTP/1.1', '400'],
  ['CONNECT g\u00EFst.example.com:443 HTTP/1.1', '400'],
  ['CONNECT gist.example.com:443 HTTP/1.1', '403'],
  ['CONNECT gist.example.com.:443 HTTP/1.1', '403'],
  ['CONNECT GIST.Example.com:443 HTTP/1.1', '403'],
  ['CONNECT gist.example.com..:443 HTTP/1.1', '400'],
  ['CONNECT a@b.example.com:443 HTTP/1.1', '400'],
  ['CONNECT evil.org/.example.com:443 HTTP/1.1', '400'],
  ['CONNECT evil.org#.example.com:443 HTTP/1.1', '400'],
  ['CONNECT evil.org%00.example.com:443 HTTP/1.1', '400'],
  // A port that there is not would end the program.
  ['CONNECT a.example.com:99999 HTTP/1.1', '400'],
  ['CONNECT a.example.com:0 HTTP/1.1', '400'],
  ['CONNECT a.example.com HTTP/1.1', '400'],
  ['CONNECT [::ffff:127.0.0.1]:80 HTTP/1.1', '403'],
  ['CONNECT 2130706433:80 HTTP/1.1', '403'],
  ['CONNECT 0x7f.0.0.1:80 HTTP/1.1', '403'],
  ['GET http://2130706433/ HTTP/1.1', '403'],
  ['GET http://gi%73t.example.com/ HTTP/1.1', '403'],
  ['GET http://gi%C2%ADst.example.com/ HTTP/1.1', '403'],
  ['GET http://a.example.com@evil.org/ HTTP/1.1', '403'],
  ['GET http://a.example.com:99999/ HTTP/1.1', '400'],
  ['GET https://a.example.com/ HTTP/1.1', '400'],
  ['GET / HTTP/1.1\r\nHost: a.example.com', '400'],
  ['PRI * HTTP/2.0', '400'],
  ['CONNECT a.example.com:443 HTTP/1.1', '200'],
])('%j: %s', async (line, expected) => {
  const before = opened.length
  expect((await answerTo(`${line}\r\n\r\n`)).split(' ')[1]).toBe(expected)
  expect(opened.length - before).toBe(expected === '200' ? 1 : 0)
})

test('a server that cannot be reached is told', async () => {
  expect(await answerTo('CONNECT down.org:443 HTTP/1.1\r\n\r\n')).toBe('HTTP/1.1 502 Bad Gateway')
})

test('a header that goes on in the next line does not make another host of it', async () => {
  const told = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect(proxyPort, '127.0.0.1')
    socket.on('data', (bytes) => void (text += bytes.toString()))
    socket.once('close', () => resolve(text))
    socket.write('GET http://a.example.com/x HTTP/1.1\r\nHost: b\r\n evil.org\r\nX: y\nHost: evil.org\r\n\r\n')
  })
  expect(told).toContain('HTTP/1.1 400')
  expect(told).not.toContain('GOT')
})
