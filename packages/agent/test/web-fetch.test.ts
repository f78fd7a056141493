// Spec R-WEB-1 to R-WEB-7: WebFetch reaches the internet alone, and what it gives is bounded.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { createCodingTools, type WebOptions } from '@halting/agent'
import { createPermissions } from '@halting/policy'
import { openWorkspace } from '../src/coding-agent/open-workspace.ts'
import { markdownOf } from '../src/web/html-to-markdown.ts'
import { targetOf } from '../src/web/target.ts'
import * as texts from '../src/web/web-fetch-texts.ts'
import { isDeep } from './support/deep.ts'
import { codingTools, type Harness, runTool, temporaryFolder, toolNamed } from './support/harness.ts'

interface Site {
  readonly url: string
  readonly port: number
  readonly asked: string[]
}

async function site(listener: RequestListener): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(request.url ?? '')
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, asked }
}

const opened = (web: WebOptions = {}): Harness =>
  codingTools({ readCharacters: 5_000 }, { web: { privateHosts: ['127.0.0.1'], ...web } })

const answering =
  (
    body: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'text/html' },
    status = 200,
  ): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(body)
  }

test('converts HTML to Markdown, with absolute links, tables, and without scripts (spec R-WEB-4)', async () => {
  const { url } = await site(
    answering(`<!doctype html><html><head><title>T</title><style>p {}</style><script>alert(1)</script></head><body>
<h1>Head</h1><p>Some <b>bold</b> <a href="/there?a=1#b">link</a> and <a href="javascript:alert(1)">none</a>.</p>
<ul><li>one</li><li>two</li></ul><pre><code class="language-js">let a = 1</code></pre>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2|3</td></tr></table>
<img src="data:image/png;base64,xxxx" alt="a picture"><svg><text>no</text></svg></body></html>`),
  )
  const { text, details } = await opened().use('WebFetch', { url: `${url}/a/page`, prompt: 'What?' })
  expect(text).toBe(`${url}/a/page (200, text/html)

# Head

Some **bold** [link](${url}/there?a=1#b) and none.

-   one
-   two

\`\`\`js
let a = 1
\`\`\`

| A | B |
| --- | --- |
| 1 | 2\\|3 |

a picture`)
  expect(details).toEqual({ url: `${url}/a/page`, code: 200, bytes: expect.any(Number) })
})

test.each([
  ['plain text', 'a <b>\n', { 'content-type': 'text/plain; charset=utf-8' }, /\(200, text\/plain\)\n\na <b>\n$/],
  ['JSON', '{"a": 1}', { 'content-type': 'application/vnd.x+json' }, /\n\n\{"a": 1\}$/],
  ['Latin-1', Buffer.from([0x67, 0xfc, 0x6e]), { 'content-type': 'text/plain; charset=iso-8859-1' }, /\n\ngün$/],
  [
    'a character set in the page',
    Buffer.from('<meta charset="windows-1252"><p>g\xfcn', 'latin1'),
    { 'content-type': 'text/html' },
    /\n\ngün$/,
  ],
  ['an unknown character set', 'abc', { 'content-type': 'text/plain; charset=nope' }, /\n\nabc$/],
  ['gzip', gzipSync('packed'), { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, /\n\npacked$/],
  ['brotli', brotliCompressSync('packed'), { 'content-type': 'text/plain', 'content-encoding': 'br' }, /\n\npacked$/],
  ['no type', '<!DOCTYPE html><p>x', {}, /\n\nx$/],
  ['nothing', '', { 'content-type': 'text/plain' }, /\n\n\[The page has no text\.\]$/],
  [
    'a long page',
    'x'.repeat(6_000),
    { 'content-type': 'text/plain' },
    /\n\nx{5000}\n\[\.\.\. 1000 characters omitted\]$/,
  ],
])('%s', async (_, body, headers: Record<string, string>, expected) => {
  const { url } = await site(answering(body, headers))
  expect(await opened().use('WebFetch', { url })).toMatchObject({
    isError: false,
    text: expect.stringMatching(expected),
  })
})

test.each([
  [
    'a program',
    Buffer.from([1, 0, 2]),
    { 'content-type': 'application/octet-stream' },
    'Content of type application/octet-stream (3 bytes)',
  ],
  ['bytes that are called text', Buffer.from([97, 0, 2]), { 'content-type': 'text/plain' }, 'cannot be shown'],
  ['an invalid image', 'GIF', { 'content-type': 'image/gif' }, 'It is not a PNG'],
  ['invalid gzip', 'abc', { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, 'incorrect header check'],
])('reports %s without showing it (spec R-WEB-4)', async (_, body, headers: Record<string, string>, expected) => {
  const { url } = await site(answering(body, headers))
  expect(await opened().use('WebFetch', { url })).toMatchObject({
    isError: true,
    text: expect.stringContaining(expected),
  })
})

test('reports an error of the server, with its message', async () => {
  const { url } = await site(answering('<p>Not here', { 'content-type': 'text/html' }, 404))
  expect(await opened().use('WebFetch', { url })).toMatchObject({
    isError: true,
    text: `${url}/ (404, text/html)\n\nNot here`,
  })
})

test('returns images as images (spec R-WEB-4)', async () => {
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const { url } = await site(answering(Buffer.from(pixel, 'base64'), { 'content-type': 'image/png' }))
  const { output } = await opened().use('WebFetch', { url })
  expect(output.content).toMatchObject([{ type: 'text' }, { type: 'image', source: { data: pixel } }])
})

test.runIf(isDeep)('truncates a page that unpacks to gigabytes, and an endless one (spec R-WEB-5)', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 'x'))
  const packed = await site(answering(bomb, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }))
  expect((await opened().use('WebFetch', { url: packed.url })).details).toMatchObject({ bytes: 10 * 1024 * 1024 })
  const endless = await site((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const more = (): void => {
      while (!response.destroyed && response.write('y'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  expect((await opened().use('WebFetch', { url: endless.url })).details).toMatchObject({ bytes: 10 * 1024 * 1024 })
})

test('returns the available text of HTML that takes the library too long (spec R-WEB-5)', async () => {
  const html = `<style>p {}</style><p>start</p><script>if (1 < 2) {}</script>${'<b><p>'.repeat(30_000)}end <unfinished`
  const { signal } = new AbortController()
  expect(await markdownOf(html, { base: 'https://example.com', signal, maxMs: 300 })).toBe('start end')
})

test('removes tags in linear time from a long run of white space (spec R-WEB-5)', async () => {
  const html = `<p>start${'\f'.repeat(200_000)}end</p>\n \f\n<p>more\r\n</p>`
  const { signal } = new AbortController()
  const text = await markdownOf(html, { base: 'https://example.com', signal, maxMs: 1 })
  expect(text.replace(/\f+/, ' ')).toBe('start end\nmore')
})

test('aborts a request to a silent server with the signal (spec R-WEB-5)', async () => {
  const { url, asked } = await site(() => undefined)
  const controller = new AbortController()
  const fetched = opened().use('WebFetch', { url }, controller.signal)
  while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  controller.abort(new Error('enough'))
  await expect(fetched).rejects.toThrow('enough')
})

test('reports a broken connection', async () => {
  const { url } = await site((request) => request.socket.destroy())
  expect(await opened().use('WebFetch', { url })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/was not fetched: .*hang up\.$/),
  })
})

test('follows a redirect within the host, reports another one, and ends a cycle (spec R-WEB-3)', async () => {
  const other = await site(answering('never'))
  const { url, port, asked } = await site((request, response) => {
    const to = new Map([
      ['/a', '/b'],
      ['/host', 'https://other.example/x?y=1'],
      ['/port', `${other.url}/x`],
      ['/meta', 'http://169.254.169.254/latest/meta-data'],
      ['/local', `http://localhost:${other.port}/`],
      ['/file', 'file:///etc/passwd'],
      ['/loop', '/loop'],
    ]).get(request.url ?? '')
    if (to === undefined) response.writeHead(200, { 'content-type': 'text/plain' }).end('here')
    else response.writeHead(302, { location: to }).end()
  })
  const { use } = opened()
  const fetched = async (path: string) => (await use('WebFetch', { url: `${url}${path}` })).text
  expect(await fetched('/a')).toBe(`${url}/b (200, text/plain)\n\nhere`)
  expect(await fetched('/host')).toBe(texts.redirectsElsewhere(`${url}/host`, 'https://other.example/x?y=1'))
  expect(await fetched('/port')).toBe(texts.redirectsElsewhere(`${url}/port`, `${other.url}/x`))
  expect(await fetched('/meta')).toMatch(
    /redirects to http:\/\/169\.254\.169\.254\/latest\/meta-data, which was not fetched: it leads to this machine/,
  )
  expect(await fetched('/local')).toContain('which was not fetched: it leads to this machine')
  expect(await fetched('/file')).toContain(`which was not fetched: ${texts.wrongScheme}`)
  expect(await fetched('/loop')).toBe(`http://127.0.0.1:${port}/loop was not fetched: it redirects more than 5 times.`)
  expect(asked.filter((path) => path === '/loop')).toHaveLength(6)
  expect(other.asked).toEqual([])
})

test.each([
  'http://127.0.0.1/', 'http://localhost/', 'http://LOCALHOST./', 'http://2130706433/', 'http://0x7f.0.0.1/', 'http://0177.1/', 'http://127.1/',
  'http://0/', 'http://10.0.0.1/', 'http://172.16.5.4/', 'http://192.168.1.1/', 'http://169.254.169.254/latest', 'http://100.64.0.1/', 'http://[::1]/',
  'http://[::]/', 'http://[::ffff:127.0.0.1]/', 'http://[::127.0.0.1]/', 'http://[fe80::1]/', 'http://[fd00::1]/', 'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/', 'http://[ff02::1]/', 'http://①②⑦.⓪.⓪.①/', 'http://metadata/', 'http://127.0.0.1./',
])('%s leads nowhere (spec R-WEB-2)', async (url) => {
  const { text, isError } = await codingTools().use('WebFetch', { url })
  expect([isError, text]).toEqual([true, expect.stringContaining('it leads to this machine or a private network')])
}) // prettier-ignore

test.each([
  ['ftp://example.com/', 'only https:// and http://'],
  ['file:///etc/passwd', 'only https:// and http://'],
  ['example.com/page', 'it is not a valid URL'],
  ['https://user:secret@example.com/', 'a user name or password'],
  [`https://example.com/${'a'.repeat(2_000)}`, 'more than 2000 characters'],
])('does not fetch %s (spec R-WEB-1)', async (url, why) => {
  expect(await codingTools().use('WebFetch', { url })).toMatchObject({
    isError: true,
    text: expect.stringContaining(why),
  })
})

test.each([
  ['leads to this machine', ['127.0.0.1']],
  ['leads to this machine among others', ['93.184.216.34', '127.0.0.1']],
  ['leads to this machine by IPv6', ['::1']],
  ['leads to what IPv6 calls an IPv4 address of this machine', ['::ffff:127.0.0.1']],
])('does not connect to a name that %s: checks the connected address (spec R-WEB-2)', async (_, answer) => {
  const { port, asked } = await site(answering('secret'))
  let lookups = 0
  const resolve: WebOptions['resolve'] = async () => {
    lookups++
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  const { text } = await codingTools({}, { web: { resolve } }).use('WebFetch', {
    url: `http://rebind.example:${port}/`,
  })
  expect(text).toContain('it leads to this machine or a private network')
  expect([lookups, asked]).toEqual([1, []])
})

test('upgrades http to https, except for a host that the user listed as private (spec R-WEB-1)', () => {
  const urlOf = (given: string): string => {
    const target = targetOf(given, { privateHosts: ['*.corp.example', 'localhost'] })
    return target.kind === 'target' ? target.url.href : target.why
  }
  expect(urlOf('http://example.com/a#b')).toBe('https://example.com/a')
  expect(urlOf('http://example.com:8080/')).toBe('https://example.com:8080/')
  expect(urlOf('http://wiki.corp.example/')).toBe('http://wiki.corp.example/')
  expect(urlOf('http://localhost:3000/')).toBe('http://localhost:3000/')
})

test('caches a page for 15 minutes, but not an error (spec R-WEB-6)', async () => {
  let nowMs = 0
  const { url, asked } = await site((request, response) =>
    response.writeHead(request.url === '/bad' ? 500 : 200, { 'content-type': 'text/plain' }).end('x'),
  )
  const { use } = opened({ nowMs: () => nowMs })
  await use('WebFetch', { url: `${url}/a` })
  nowMs = 15 * 60_000 - 1
  await use('WebFetch', { url: `${url}/a` })
  expect(asked).toEqual(['/a'])
  nowMs++
  await use('WebFetch', { url: `${url}/a` })
  expect(asked).toEqual(['/a', '/a'])
  await use('WebFetch', { url: `${url}/bad` })
  await use('WebFetch', { url: `${url}/bad` })
  expect(asked.slice(2)).toEqual(['/bad', '/bad'])
})

test.each([
  'https://evil.example./a',
  'https://EVIL.example/a',
  'http://evil.example:8443/a',
  'https://x@evil.example/a',
])('a deny rule for a domain applies to %s (spec R-WEB-7)', (url) => {
  const { tools, cwd } = codingTools()
  const tool = tools.find(({ name }) => name === 'WebFetch')
  if (tool === undefined) throw new Error('there is no WebFetch')
  const permissions = createPermissions({ cwd, deny: ['WebFetch(domain:evil.example)'], allow: ['WebFetch'] })
  const call = { type: 'tool_use', id: 'a', name: 'WebFetch', input: { url } } as const
  expect(permissions.denies({ call, tool, readOnly: true })).toContain('WebFetch(domain:evil.example)')
})

test.each(['127.0.0.1', '*.example.com', 'api-*.example.org', '*', 'bücher.example', '*.Bücher.example.'])(
  'does not fetch a denied domain, however it is written (spec R-WEB-2a): %s',
  async (denied) => {
    const { url, asked } = await site(answering('x'))
    const tools = opened({ deniedDomains: [denied], resolve: () => Promise.reject(new Error('asked for its address')) })
    const places: Record<string, string> = {
      '127.0.0.1': url,
      '*.example.com': 'https://WWW.Example.COM./x',
      'api-*.example.org': 'https://api-1.example.org',
      'bücher.example': 'https://bücher.example',
      '*.Bücher.example.': 'https://a.xn--bcher-kva.example',
      '*': url,
    }
    const { text, isError } = await tools.use('WebFetch', { url: places[denied] })
    expect([isError, asked]).toEqual([true, []])
    expect(text).toMatch(/was not fetched: the settings deny its domain \(sandbox\.network\.deniedDomains\)\.$/)
  },
)

test('domains denied to the sandbox are denied to WebFetch, even if no command is confined', async () => {
  const { url, asked } = await site(answering('x'))
  const cwd = temporaryFolder()
  const { workspace } = openWorkspace({
    places: { cwd, home: cwd, env: { HALTING_PRIVATE_HOSTS: '127.0.0.1' } },
    sessionId: 's',
    settings: { sandbox: [{ network: { deniedDomains: ['127.0.0.1'] } }] },
    env: {},
    mode: undefined,
    whenAsked: 'deny',
  })
  onTestFinished(() => workspace.dispose())
  const tool = toolNamed(createCodingTools(workspace), 'WebFetch')
  expect((await runTool(tool, { url })).text).toContain('settings deny its domain')
  expect(asked).toEqual([])
})
