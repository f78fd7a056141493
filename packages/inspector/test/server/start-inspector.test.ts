import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startInspector, type Inspector, type InspectorOptions } from '../../src/index.ts'
import { plainRow, plainSource } from '../support/plain-source.ts'

const pageFolder = mkdtempSync(join(tmpdir(), 'halting-page-'))
writeFileSync(join(pageFolder, 'page.js'), 'console.log("page")')
writeFileSync(join(pageFolder, 'page.css'), 'body { margin: 0 }')
afterAll(() => rmSync(pageFolder, { recursive: true }))

const open = new Set<Inspector>()
afterEach(async () => {
  for (const inspector of open) await inspector.close()
  open.clear()
})

async function startServer(options: Partial<InspectorOptions> = {}): Promise<Inspector> {
  const inspector = await startInspector({ source: plainSource(sessions), pageFolder, ...options })
  open.add(inspector)
  return inspector
}

const records = Array.from({ length: 30 }, (_, at) => ({ type: 'step', at }))
const sessions = [
  { row: plainRow('s-1'), records, parts: [{ kind: 'answer', text: 'yes' } as const] },
  { row: plainRow('s-2'), records: [], parts: [] },
]

interface RawResponse {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends exactly this request, also one that no browser would send. */
function sendRequest(
  url: string,
  {
    path,
    method = 'GET',
    headers = {},
  }: {
    readonly path?: string
    readonly method?: string
    readonly headers?: { readonly [name: string]: string }
  } = {},
): Promise<RawResponse> {
  const { port, pathname } = new URL(url)
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, path: path ?? pathname, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      response.on('error', reject)
    })
    asking.on('error', reject)
    asking.end()
  })
}

const errorIn = ({ status, text }: RawResponse): unknown => {
  // The response of the server to a request that it rejects.
  const { error } = JSON.parse(text) as { readonly error: string }
  expect(error).toMatch(/^\S.*\.$/)
  return { status, error }
}

test('serves the page, its files, and the data that the page requests', async () => {
  const { url } = await startServer({ source: plainSource(sessions, '<b>a & "folder"</b>') })
  const page = await sendRequest(url)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.text).toContain('<div id="app"></div>')
  expect(page.text).toContain('<title>&#60;b&#62;a &#38; &#34;folder&#34;&#60;/b&#62;</title>')
  expect((await sendRequest(`${url}page.js`)).text).toBe('console.log("page")')
  expect((await sendRequest(`${url}page.css`)).headers['content-type']).toBe('text/css; charset=utf-8')
  const json = async (path: string): Promise<unknown> => (await fetch(url + path)).json()
  expect(await json('api/about')).toEqual({ title: '<b>a & "folder"</b>' })
  expect((await sendRequest(`${url}api/sessions`)).text).toBe(
    sessions.map(({ row }) => `${JSON.stringify(row)}\n`).join(''),
  )
  expect(await json('api/session?key=s-1')).toMatchObject({ row: { key: 's-1' }, runs: [{ records: 30, parts: 1 }] })
  expect(await json('api/records?key=s-1&run=0&from=28&count=10')).toEqual(records.slice(28))
  expect(await json('api/records?key=s-1&run=7&from=0&count=10')).toEqual([])
  expect(await json('api/parts?key=s-1&run=0&from=0&count=1')).toEqual([{ kind: 'answer', text: 'yes' }])
})

test('every response has the policy, and may not be stored, sniffed or read from elsewhere', async () => {
  const { url } = await startServer()
  for (const path of ['', 'page.js', 'api/about', 'api/sessions', 'api/session?key=none', 'nothing']) {
    const { headers } = await sendRequest(url, { path: new URL(url).pathname + path })
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(headers).not.toHaveProperty('access-control-allow-origin')
  }
})

/** The whole response to a raw request, without the date. */
function bytesOf(url: string, requested: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  socket.end(requested)
  return new Promise((resolve, reject) => {
    socket.on('close', () => resolve(text.replace(/^Date: .*\r\n/m, '')))
    socket.on('error', reject)
  })
}

test('a client without the token learns nothing: every response equals that of an unknown address', async () => {
  const { url } = await startServer()
  const { host, pathname } = new URL(url)
  const token = pathname.slice(1, -1)
  expect(token).toMatch(/^[\w-]{22}$/)
  const asked = (method: string, path: string, headers: readonly string[] = [`Host: ${host}`]): Promise<string> =>
    bytesOf(url, [`${method} ${path} HTTP/1.1`, ...headers, '', ''].join('\r\n'))
  const nothing = await asked('GET', `${pathname}nothing`)
  expect(nothing).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[^]*\r\n\r\n\{"error":"There is nothing at this address\."\}$/)
  expect(nothing).not.toMatch(/halting|inspect/i)
  const [head = ''] = nothing.split(/(?<=\r\n\r\n)/)
  const near = [
    `/${token.slice(0, -1)}/`,
    `/${token}x/`,
    `/${token.toUpperCase()}/page.js`,
    `/.${pathname}`,
    `/${pathname}`,
  ]
  const paths = [
    '/',
    '//',
    '/api/about',
    '/nothing/api/export?key=s-1',
    '*',
    '/%',
    `http://${host}${pathname}`,
    ...near,
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND'])
      expect([method, path, await asked(method, path)]).toEqual([method, path, nothing])
    expect(['HEAD', path, await asked('HEAD', path)]).toEqual(['HEAD', path, head])
  }
  for (const headers of [
    ['Host: evil.example'],
    ['Host: '],
    [`Host: ${host}`, 'Origin: https://evil.example'],
    [`Host: ${host}`, 'Sec-Fetch-Site: cross-site'],
    [`Host: ${host}`, 'Upgrade: websocket', 'Connection: Upgrade'],
    [`Host: ${host}`, 'Content-Length: 0'],
  ])
    expect([headers, await asked('GET', '/', headers)]).toEqual([headers, nothing])
})

test('each inspector has its own token, and a guessable one is rejected', async () => {
  const [one, two] = await Promise.all([startServer(), startServer()])
  expect(new URL(one.url).pathname).not.toBe(new URL(two.url).pathname)
  await expect(startServer({ token: 'secret' })).rejects.toThrow('at least 22')
  const given = await startServer({ token: 'a'.repeat(32) })
  expect(new URL(given.url).pathname).toBe(`/${'a'.repeat(32)}/`)
})

test('another host name for this machine is rejected, as a page of that name could read the responses', async () => {
  const { url } = await startServer()
  const { port } = new URL(url)
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', '127.0.0.1:1', `0.0.0.0:${port}`])
    expect([host, errorIn(await sendRequest(url, { headers: { host } }))]).toMatchObject([host, { status: 421 }])
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`])
    expect([host, (await sendRequest(url, { headers: { host } })).status]).toEqual([host, 200])
})

test('pages of other origins are rejected, also other local ports; a link to the page is followed', async () => {
  const { url } = await startServer()
  const path = new URL(url).pathname
  const of = (headers: { readonly [name: string]: string }, what = 'api/about'): Promise<RawResponse> =>
    sendRequest(url, { path: path + what, headers })
  const foreign: readonly { readonly [name: string]: string }[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ]
  for (const headers of foreign) expect([headers, errorIn(await of(headers))]).toMatchObject([headers, { status: 403 }])
  expect(errorIn(await of({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, ''))).toMatchObject({
    status: 403,
  })
  expect((await of({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, '')).status).toBe(200)
  expect((await of({ 'sec-fetch-site': 'same-origin', origin: new URL(url).origin })).status).toBe(200)
  expect((await of({ 'sec-fetch-site': 'none' })).status).toBe(200)
})

test('only GET and HEAD are allowed', async () => {
  const { url } = await startServer()
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']) {
    const answer = await sendRequest(url, { method })
    expect([method, errorIn(answer)]).toMatchObject([method, { status: 405 }])
    expect(answer.headers.allow).toBe('GET, HEAD')
  }
  for (const name of ['', 'api/sessions', 'api/changes', 'api/export?key=s-1', 'api/session?key=s-1']) {
    const { status, text } = await sendRequest(url, { path: new URL(url).pathname + name, method: 'HEAD' })
    expect({ name, status, text }).toEqual({ name, status: 200, text: '' })
  }
})

test('no path leads to another file, and no key to more than a session', async () => {
  const { url } = await startServer()
  const path = new URL(url).pathname
  for (const name of [
    '../',
    '../../etc/passwd',
    '%2e%2e/page.js',
    '..%2fpage.js',
    'page.js/',
    '/page.js',
    'api',
    'api/',
  ])
    expect([name, errorIn(await sendRequest(url, { path: path + name }))]).toMatchObject([name, { status: 404 }])
  for (const key of ['../../etc/passwd', '__proto__', 'constructor', '\u0000', '<script>', 's-1/..', 'é'.repeat(2_000)])
    for (const name of ['session', 'export']) {
      const answer = await sendRequest(url, { path: `${path}api/${name}?key=${encodeURIComponent(key)}` })
      expect([key, errorIn(answer)]).toMatchObject([key, { status: 404 }])
      expect(answer.text).not.toContain(key)
    }
})

test('an invalid request is answered with what it lacks', async () => {
  const { url } = await startServer()
  const path = new URL(url).pathname
  for (const [query, said] of [
    ['session', 'Name the session'],
    ['session?key=', 'Name the session'],
    ['export', 'Name the session'],
    ['records?key=s-1', 'count takes a whole number'],
    ['records?key=s-1&run=0&from=0&count=0', 'from 1 to 1000'],
    ['records?key=s-1&run=0&from=0&count=99999999999999999999', 'count takes a whole number'],
    ['parts?key=s-1&run=0&from=0&count=1001', 'from 1 to 1000'],
    ['parts?key=s-1&run=-1&from=0&count=1', 'run takes a whole number'],
    ['parts?key=s-1&run=0&from=1e3&count=1', 'from takes a whole number'],
    ['parts?key=s-1&run=0&from=0x1&count=1', 'from takes a whole number'],
  ] as const)
    expect([query, errorIn(await sendRequest(url, { path: `${path}api/${query}` }))]).toEqual([
      query,
      { status: 400, error: expect.stringContaining(said) as string },
    ])
})

test('an unreadable session is reported to the page, and an internal error only to the terminal', async () => {
  const source = plainSource(sessions)
  const problems: unknown[] = []
  const { url } = await startServer({
    source: {
      ...source,
      session: () => Promise.reject(new HaltingError('driver', 'The session s is damaged in line 7: no number.')),
      records: () => Promise.reject(new Error('password=hunter2')),
    },
    onProblem: (error) => void problems.push(error),
  })
  const path = new URL(url).pathname
  expect(errorIn(await sendRequest(url, { path: `${path}api/session?key=s` }))).toEqual({
    status: 422,
    error: 'The session s is damaged in line 7: no number.',
  })
  expect(problems).toEqual([])
  const broken = await sendRequest(url, { path: `${path}api/records?key=s&run=0&from=0&count=1` })
  expect(errorIn(broken)).toMatchObject({ status: 500 })
  expect(broken.text).not.toContain('hunter2')
  expect(problems).toEqual([new Error('password=hunter2')])
})

test('a list that fails halfway is visibly incomplete', async () => {
  const problems: unknown[] = []
  const { url } = await startServer({
    source: {
      ...plainSource(),
      async *list() {
        yield await Promise.resolve(plainRow('s-1'))
        throw new Error('gone')
      },
    },
    onProblem: (error) => void problems.push(error),
  })
  const answer = await fetch(`${url}api/sessions`)
  await expect(answer.text()).rejects.toThrow('terminated')
  expect(problems).toEqual([new Error('gone')])
})

test.each(['records', 'parts'] as const)(
  'an export whose session loses %s meanwhile is seen to be broken',
  async (what) => {
    const source = plainSource(sessions)
    const problems: unknown[] = []
    const { url } = await startServer({
      source: { ...source, [what]: async () => (await source[what]('s-1', 0, 0, 30)).slice(1) },
      onProblem: (error) => void problems.push(error),
    })
    const answer = await fetch(`${url}api/export?key=s-1`)
    await expect(answer.text()).rejects.toThrow('terminated')
    const message = 'The session was cut or removed while it was exported: some of it is gone.'
    expect(problems).toEqual([new HaltingError('driver', message)])
  },
)

test('rows are read on demand, and no more of them once the reader is gone', async () => {
  let read = 0
  let isEnded = false
  const { url } = await startServer({
    source: {
      ...plainSource(),
      async *list() {
        try {
          for (; read < 100_000; read++)
            yield await Promise.resolve(plainRow(`s-${read}`, { title: 'x'.repeat(10_000) }))
        } finally {
          isEnded = true
        }
      },
    },
  })
  const { port, pathname } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.pause()
  socket.write(`GET ${pathname}api/sessions HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  // It stops: the buffers between the two are full.
  const standsStill = async (): Promise<boolean> => {
    const before = read
    await new Promise((resolve) => setTimeout(resolve, 50))
    return before > 0 && before === read
  }
  await expect.poll(standsStill).toBe(true)
  expect(read).toBeLessThan(10_000)
  expect(isEnded).toBe(false)
  socket.destroy()
  await expect.poll(() => isEnded).toBe(true)
})

test('closing ends open responses and frees the port', async () => {
  const source = plainSource(sessions)
  const inspector = await startInspector({ source, pageFolder })
  const port = Number(new URL(inspector.url).port)
  const telling = await fetch(`${inspector.url}api/changes`)
  await inspector.close()
  await expect(telling.text()).rejects.toThrow('terminated')
  expect(source.listeners.size).toBe(0)
  const next = await startServer({ source, port })
  expect(new URL(next.url).port).toBe(String(port))
  await expect(startServer({ source, port })).rejects.toThrow(`cannot listen on port ${port}`)
})

test('a missing build of the page is reported before anything listens', async () => {
  await expect(startServer({ pageFolder: join(pageFolder, 'none') })).rejects.toThrow('npm run build creates it')
})

test('a record that is too large for a string is reported as such, between the others', async () => {
  const nested: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  const session = { row: plainRow('s-1'), records: [1, nested, 2], parts: [] }
  const { url } = await startServer({ source: plainSource([session]) })
  const received: unknown = await (await fetch(`${url}api/records?key=s-1&run=0&from=0&count=10`)).json()
  expect(received).toEqual([1, { kind: 'note', text: 'It is too large to show.' }, 2])
})
