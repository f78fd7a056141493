// The proxy of the sandbox, with input that a command may send (spec R-BOX-6).
import { connect, createServer, Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { isPublicAddress } from '../../src/sandbox/domains.ts'
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

/** The first line of the reply, after the connection has ended. */
function answerTo(text: string): Promise<string> {
  return new Promise((resolve) => {
    let reply = ''
    const socket = connect(proxyPort, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')))
    socket.on('data', (bytes) => {
      reply += bytes.toString('latin1')
      if (reply.startsWith('HTTP/1.1 200')) socket.end()
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(reply.split('\r\n', 1)[0] ?? ''))
  })
}

test.each([
  // Resolvers drop invisible characters, and convert others to letters: the judged name would differ from the reached one.
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
  // An invalid port would end the program.
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
  // Everything before the URL is forwarded unchanged.
  ['GET\nX-Injected: yes http://a.example.com/ HTTP/1.1', '400'],
  ['GET\rX-Injected: yes http://a.example.com/ HTTP/1.1', '400'],
  ['POST\t/evil\tHTTP/1.1\n http://a.example.com/ HTTP/1.1', '400'],
  ['GET\0 http://a.example.com/ HTTP/1.1', '400'],
  ['get http://a.example.com/ HTTP/1.1', '400'],
  ['G\u00CBT http://a.example.com/ HTTP/1.1', '400'],
  ['FROBNICATE http://a.example.com/ HTTP/1.1', '400'],
  ['__proto__ http://a.example.com/ HTTP/1.1', '400'],
  [' http://a.example.com/ HTTP/1.1', '400'],
  ['GET  http://a.example.com/ HTTP/1.1', '400'],
  ['GET http://a.example.com/ HTTP/1.1 more', '400'],
  ['GET http://a.example.com/ HTTP/1.1\nHost: evil.org', '400'],
  ['GET http://a.example.com/\nHost:evil.org HTTP/1.1', '400'],
  ['GET http://a.example.com/\tx HTTP/1.1', '400'],
  ['GET http://a.example.com/ HTTP/1.9', '400'],
  ['CONNECT a.example.com:443\n HTTP/1.1', '400'],
  ['CONNECT  a.example.com:443 HTTP/1.1', '400'],
  ['CONNECT http://a.example.com/ HTTP/1.1', '400'],
  ['GET http://a.example.com/ HTTP/1.1\r\nX: a\0b', '400'],
  ['GET http://a.example.com/ HTTP/1.1\r\nX: a\rHost: evil.org', '400'],
  ['CONNECT a.example.com:443 HTTP/1.1', '200'],
])('%j: %s', async (line, expected) => {
  const before = opened.length
  expect((await answerTo(`${line}\r\n\r\n`)).split(' ')[1]).toBe(expected)
  expect(opened.length - before).toBe(expected === '200' ? 1 : 0)
})

test('reports a server that cannot be reached', async () => {
  expect(await answerTo('CONNECT down.org:443 HTTP/1.1\r\n\r\n')).toBe('HTTP/1.1 502 Bad Gateway')
})

test('does not read a continued header line as another host', async () => {
  const reply = await new Promise<string>((resolve) => {
    let text = ''
    const socket = connect(proxyPort, '127.0.0.1')
    socket.on('data', (bytes) => void (text += bytes.toString()))
    socket.once('close', () => resolve(text))
    socket.write('GET http://a.example.com/x HTTP/1.1\r\nHost: b\r\n evil.org\r\nX: y\nHost: evil.org\r\n\r\n')
  })
  expect(reply).toContain('HTTP/1.1 400')
  expect(reply).not.toContain('GOT')
})

test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCOL', 'REPORT'])(
  'forwards %s with its fields',
  async (method) => {
    const reply = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(proxyPort, '127.0.0.1')
      socket.on('data', (bytes) => void (text += bytes.toString()))
      socket.once('close', () => resolve(text))
      socket.write(`${method} http://a.example.com/x?y=1 HTTP/1.1\r\nHost: other.org\r\nX-Some: \tvalue; a="b"\r\n\r\n`)
    })
    expect(reply).toBe(
      `GOT ${method} /x?y=1 HTTP/1.1\r\nHost: a.example.com\r\nX-Some: \tvalue; a="b"\r\nConnection: close\r\n\r\n`,
    )
  },
)

test.each([
  // Metadata and host services of clouds.
  '168.63.129.16',
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
  // The same within IPv6: mapped, compatible, translated, NAT64 (also local), 6to4, Teredo.
  '::ffff:168.63.129.16',
  '::ffff:a83f:8110',
  '::168.63.129.16',
  '::ffff:0:168.63.129.16',
  '64:ff9b::168.63.129.16',
  '64:ff9b:1::168.63.129.16',
  '64:ff9b::7f00:1',
  '2002:a83f:8110::1',
  '2002:7f00:1::',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  // From the registry of special addresses.
  '0.0.0.0',
  '127.1.2.3',
  '192.88.99.1',
  '198.19.255.255',
  '255.255.255.255',
  '224.0.0.1',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '100::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
])('%s is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(['93.184.216.34', '8.8.8.8', '168.63.129.15', '2606:2800:220:1:248:1893:25c8:1946', '2a00:1450:4001::200e'])(
  '%s is a public address',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test('forwards each piece without waiting for an acknowledgement of the previous one', async () => {
  const ports: (readonly [local: number | undefined, remote: number | undefined])[] = []
  const setNoDelay = vi.spyOn(Socket.prototype, 'setNoDelay').mockImplementation(function (this: Socket) {
    ports.push([this.localPort, this.remotePort])
    return this
  })
  try {
    expect(await answerTo('CONNECT www.example.com:443 HTTP/1.1\r\n\r\n')).toBe('HTTP/1.1 200 Connection established')
    expect(ports.some(([local]) => local === proxyPort)).toBe(true)
    expect(ports.some(([, remote]) => remote === portOf(upstream))).toBe(true)
  } finally {
    setNoDelay.mockRestore()
  }
})
