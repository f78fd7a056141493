// Spec R-MCP-16 to R-MCP-16h: signing in at servers by OAuth, over a real authorization server on loopback.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type McpServerConfig, signIn, SignIns } from '../../src/mcp/index.ts'
import { listenOnLoopback } from '../../src/mcp/sign-in/loopback.ts'
import { checkAddress, signInFetch } from '../../src/mcp/sign-in/sign-in-fetch.ts'
import { createCodingTools } from '@halting/agent'
import { createPermissions } from '@halting/policy'
import { confineCommands } from '../../src/sandbox/confine-commands.ts'
import { folderInSight, isBubblewrapThere } from '../sandbox/world.ts'
import { codingTools, runTool, temporaryFolder, toolNamed } from '../support/harness.ts'
import { browse, oauthPair, type OAuthPair, served } from './oauth-server.ts'
import { call, readyServers, textOf } from './support.ts'

const never = new AbortController().signal
const at = (url: string, headers = {}): McpServerConfig => ({ type: 'http', url, headers })

function kept(): { readonly folder: string; readonly signIns: SignIns } {
  const folder = join(temporaryFolder(), 'sign-ins')
  return { folder, signIns: new SignIns(folder) }
}

/** Signs in like a user. */
async function signedIn(
  pair: OAuthPair,
  signIns: SignIns,
  over: Partial<Parameters<typeof signIn>[0]> = {},
): Promise<URL[]> {
  const pages: URL[] = []
  await signIn({
    url: pair.url,
    signIns,
    signal: never,
    show: (page) => {
      pages.push(page)
      void browse(page).catch(() => undefined)
    },
    ...over,
  })
  return pages
}

test('signs in by the code flow with PKCE, state and the resource; then its tools are offered', async () => {
  const pair = await oauthPair()
  const { folder, signIns } = kept()
  const before = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(before.statuses).toMatchObject([
    { status: 'needs-auth', problem: 'authentication required: run `halting mcp login locked`, or add a header with a token' },
  ]) // prettier-ignore
  const [page] = await signedIn(pair, signIns)
  const query = page?.searchParams
  expect(query?.get('code_challenge_method')).toBe('S256')
  expect(query?.get('resource')).toBe(pair.url)
  expect(query?.get('state')).toMatch(/^[\w-]{43}$/)
  expect(query?.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  const after = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(after.statuses).toMatchObject([{ status: 'connected', tools: 1 }])
  expect(textOf(await call(after, 'mcp__locked__whoami'))).toBe('somebody who is known')
  // Readable only by the user, and nothing else is left.
  const files = readdirSync(folder)
  expect(files).toHaveLength(1)
  expect([statSync(folder).mode & 0o777, statSync(join(folder, files[0] ?? '')).mode & 0o777]).toEqual([0o700, 0o600])
})

test('refreshes an expired token before use; a refused one once', async () => {
  const pair = await oauthPair({ tokenSeconds: 3_600 })
  const { signIns } = kept()
  await signedIn(pair, signIns)
  pair.valid.clear()
  const servers = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(servers.statuses).toMatchObject([{ status: 'connected' }])
  const ofRefresh = pair.asked.filter(({ body }) => body.get('grant_type') === 'refresh_token')
  expect(ofRefresh).toHaveLength(1)
  expect(ofRefresh[0]?.body.get('resource')).toBe(pair.url)
  const found = await signIns.find(pair.url)
  if (found === undefined) throw new Error('it is gone')
  await signIns.store({ ...found, expiresAtMs: Date.now() - 1 })
  const before = pair.shown.length
  expect(textOf(await call(servers, 'mcp__locked__whoami'))).toBe('somebody who is known')
  // The old one is not sent again.
  expect(pair.shown.slice(before)).not.toContain(`Bearer ${found.tokens.access_token}`)
})

test('concurrent connections refresh a token only once, since a refresh token is accepted only once', async () => {
  const pair = await oauthPair()
  const { signIns } = kept()
  await signedIn(pair, signIns)
  pair.valid.clear()
  const all = await Promise.all([1, 2, 3, 4].map(() => readyServers({ locked: at(pair.url) }, { signIns })))
  expect(all.map(({ statuses }) => statuses[0]?.status)).toEqual(['connected', 'connected', 'connected', 'connected'])
  expect(pair.asked.filter(({ body }) => body.get('grant_type') === 'refresh_token')).toHaveLength(1)
})

test.each([
  ['refused', 'needs-auth', false],
  ['broken', 'failed', true],
] as const)('a refresh that is %s: %s, and nothing hangs', async (refresh, status, isLeft) => {
  const pair = await oauthPair()
  const { signIns } = kept()
  await signedIn(pair, signIns)
  pair.valid.clear()
  pair.ways.refresh = refresh
  const { statuses } = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(statuses[0]?.status).toBe(status)
  expect(JSON.stringify(statuses)).not.toMatch(/access-|refresh-[0-9a-f]/)
  expect((await signIns.find(pair.url)) !== undefined).toBe(isLeft)
})

test('sends a token only to its own address: not to another path, port or name, and not after a redirect', async () => {
  const [pair, other] = [await oauthPair(), await oauthPair()]
  const { signIns } = kept()
  await signedIn(pair, signIns)
  for (const url of [other.url, `${pair.url}/x`, `${pair.url}?a=1`, pair.url.replace('127.0.0.1', 'localhost')]) {
    const before = [pair.shown.length, other.shown.length]
    const { statuses } = await readyServers({ locked: at(url) }, { signIns })
    expect([url, statuses[0]?.status]).toEqual([url, 'needs-auth'])
    expect(
      [...pair.shown.slice(before[0]), ...other.shown.slice(before[1])].filter((one) => one !== undefined),
    ).toEqual([])
  }
  pair.ways.redirects = other.url
  const before = other.shown.length
  const { statuses } = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(statuses[0]?.status).toBe('failed')
  expect(other.shown.slice(before)).toEqual([])
})

test.each([
  ['tools/list', 'needs-auth'],
  ['tools/call', 'connected'],
])('signs in at a server that requires authentication from %s on', async (method, status) => {
  const pair = await oauthPair({ locks: [method], scopes: { first: 'list', call: 'list' } })
  const { signIns } = kept()
  const before = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(before.statuses).toMatchObject([{ status }])
  const advice =
    status === 'connected' ? textOf(await call(before, 'mcp__locked__whoami')) : before.statuses[0]?.problem
  expect(advice).toContain('run `halting mcp login locked`')
  const [page] = await signedIn(pair, signIns)
  // The scope of its refusal; otherwise the one in its metadata.
  expect(page?.searchParams.get('scope')).toBe(status === 'connected' ? 'tools' : 'list')
  pair.ways.scopes = { first: 'list', call: page?.searchParams.get('scope') ?? '' }
  const after = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(textOf(await call(after, 'mcp__locked__whoami'))).toBe('somebody who is known')
})

test('a call that needs more scope says so, and the next sign-in requests it', async () => {
  const pair = await oauthPair({ scopes: { first: 'read', call: 'write' } })
  const { signIns } = kept()
  const [first] = await signedIn(pair, signIns)
  expect(first?.searchParams.get('scope')).toBe('read')
  const servers = await readyServers({ locked: at(pair.url) }, { signIns })
  const output = await call(servers, 'mcp__locked__whoami')
  expect([output.isError, textOf(output)]).toEqual([
    true,
    'The MCP server locked did not do this: it requires the permission "write": run `halting mcp login locked`.',
  ])
  const [second] = await signedIn(pair, signIns)
  expect(second?.searchParams.get('scope')).toBe('read write')
  // The session continues with the new token.
  expect(textOf(await call(servers, 'mcp__locked__whoami'))).toBe('somebody who is known')
  expect((await signIns.find(pair.url))?.wantedScope).toBe(undefined)
})

test('reports a configured header with too few permissions, and offers no sign-in', async () => {
  const pair = await oauthPair({ scopes: { first: 'read', call: 'write' } })
  const { signIns } = kept()
  pair.valid.add('mine')
  const servers = await readyServers({ locked: at(pair.url, { authorization: 'Bearer mine' }) }, { signIns })
  expect(textOf(await call(servers, 'mcp__locked__whoami'))).toContain(
    'it requires the permission "write": use a header with a token that has it',
  )
})

test('a registered client signs in and refreshes with its id and secret', async () => {
  const known = { id: 'known', secret: 'very-secret' }
  const pair = await oauthPair({ known })
  const { signIns } = kept()
  const by = (clientSecret?: string) => signedIn(pair, signIns, { clientId: 'known', clientSecret })
  await expect(by('wrong')).rejects.toThrow('refused it (invalid_client)')
  const [page] = await by(known.secret)
  expect(page?.href).not.toContain(known.secret)
  pair.valid.clear()
  const { statuses } = await readyServers({ locked: at(pair.url) }, { signIns })
  expect(statuses).toMatchObject([{ status: 'connected' }])
})

test('leaves a configured authentication header unchanged', async () => {
  const pair = await oauthPair()
  const { signIns } = kept()
  await signedIn(pair, signIns)
  pair.valid.add('mine')
  const before = pair.shown.length
  const { statuses } = await readyServers({ locked: at(pair.url, { AUTHORIZATION: 'Bearer mine' }) }, { signIns })
  expect(statuses[0]?.status).toBe('connected')
  expect(new Set(pair.shown.slice(before))).toEqual(new Set(['Bearer mine']))
})

test.each([
  ['refuses', /^it was refused \(access_denied\)$/],
  ['names another issuer', /issuer/i],
] as const)('a page that %s signs nobody in', async (page, why) => {
  const pair = await oauthPair({ page })
  const { folder, signIns } = kept()
  await expect(signedIn(pair, signIns)).rejects.toThrow(why)
  expect(() => readdirSync(folder)).toThrow(/ENOENT/)
})

test('rejects an answer of another issuer, even if the server has no metadata', async () => {
  const pair = await oauthPair({ page: 'names another issuer', hasNoMetadata: true })
  const { signIns } = kept()
  await expect(signedIn(pair, signIns)).rejects.toThrow('names another issuer')
  expect(pair.asked).toEqual([])
  pair.ways.page = 'lets in'
  await signedIn(pair, signIns)
  expect(await signIns.find(pair.url)).toBeDefined()
})

test.each([
  [400, '{"error":"invalid_grant","error_description":"\u009b31m access-1"}', 'refused it (invalid_grant)'],
  [200, '{"error":"invalid_client","error_description":"access-1"}', 'refused it (invalid_client)'],
  [500, 'access-1', 'refused it (HTTP 500)'],
  [200, 'access_token=access-1&token_type=bearer', 'did not answer with JSON'],
] as const)('sends a code once if the answer is %i %s, and does not quote it', async (status, text, why) => {
  const pair = await oauthPair({ saysToCode: { status, text } })
  const { signIns } = kept()
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  onTestFinished(() => {
    warned.mockRestore()
  })
  const error = await signedIn(pair, signIns).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(String(error)).toBe(`Error: ${pair.authorizationServer} ${why}`)
  expect(pair.asked).toHaveLength(1)
  expect(warned).not.toHaveBeenCalled()
})

test('ignores an answer with another state: the wait continues, and ends', async () => {
  const pair = await oauthPair({ page: 'answers with another state' })
  const { signIns } = kept()
  const answers: number[] = []
  const show = (page: URL): void => void browse(page).then(({ status }) => answers.push(status))
  await expect(signedIn(pair, signIns, { show, waitMs: 500 })).rejects.toThrow(
    'the browser did not return from the sign-in',
  )
  expect(answers).toEqual([400])
  expect(await signIns.find(pair.url)).toBeUndefined()
})

test('leaves nothing behind if the user interrupts it', async () => {
  const pair = await oauthPair()
  const { signIns } = kept()
  const stop = new AbortController()
  let redirect = ''
  const show = (page: URL): void => {
    redirect = page.searchParams.get('redirect_uri') ?? ''
    stop.abort()
  }
  await expect(signedIn(pair, signIns, { show, signal: stop.signal })).rejects.toThrow(
    'the browser did not return from the sign-in',
  )
  await expect(fetch(redirect)).rejects.toThrow('fetch failed')
})

test('reports a server without authentication, and an address without a server', async () => {
  const open = await served((_, response) => void response.writeHead(200).end('{}'))
  const none = await served((_, response) => void response.writeHead(404).end())
  const { signIns } = kept()
  const into = (url: string): Promise<void> => signIn({ url, signIns, signal: never, show: () => undefined })
  await expect(into(open)).rejects.toThrow('it lets everybody in')
  await expect(into(none)).rejects.toThrow('HTTP 404')
})

test('signs in at no server to which the token would be sent in clear text', async () => {
  const { signIns } = kept()
  const signingIn = signIn({ url: 'http://mcp.invalid/', signIns, signal: never, show: () => undefined })
  await expect(signingIn).rejects.toThrow('the sign-in would be sent in clear text: https:// is required')
})

test('accepts server-supplied addresses only over https, or on this machine if the server is there', () => {
  const isFit = (url: string, server: string): boolean => {
    try {
      checkAddress(new URL(url), server)
      return true
    } catch {
      return false
    }
  }
  expect(isFit('https://auth.example/token', 'https://mcp.example/')).toBe(true)
  expect(isFit('http://127.0.0.1:1/token', 'http://localhost:2/')).toBe(true)
  expect(isFit('https://a.localhost/token', 'https://b.localhost/')).toBe(true)
  expect(isFit('https://0.example/', 'https://mcp.example/')).toBe(true)
  for (const url of ['http://auth.example/', 'http://127.0.0.1/', 'https://localhost/', 'https://[::1]/', 'https://localhost./', 'https://a.localhost/', 'https://0.0.0.0/', 'https://0/', 'https://[::]/', 'https://[::ffff:127.0.0.1]/', 'https://[::ffff:0.0.0.0]/', 'file:///etc/passwd', 'javascript:alert(1)', 'myapp://x'])
    expect([url, isFit(url, 'https://mcp.example/')]).toEqual([url, false])
  for (const url of ['http://auth.example/', 'file:///etc/passwd'])
    expect([url, isFit(url, 'http://127.0.0.1/')]).toEqual([url, false])
}) // prettier-ignore

test.each([
  ['authorizationEndpoint', 'which a sign-in does not allow', 0],
  ['tokenEndpoint', 'http://example.invalid/x', 1],
] as const)('does not follow metadata whose %s leads elsewhere in clear text', async (field, why, shown) => {
  const pair = await oauthPair({ [field]: 'http://example.invalid/x' })
  const { signIns } = kept()
  const pages: URL[] = []
  const show = (page: URL): void => {
    pages.push(page)
    void browse(page)
  }
  await expect(signedIn(pair, signIns, { show })).rejects.toThrow(why)
  expect(pages).toHaveLength(shown)
  expect(await signIns.find(pair.url)).toBeUndefined()
})

/** The status line for a request whose target is sent unchanged. */
function rawStatus(port: number, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
    })
    socket
      .on('data', (chunk) => (said += String(chunk)))
      .once('close', () => resolve(said.split('\r\n')[0] ?? ''))
      .once('error', reject)
  })
}

test('listens on 127.0.0.1, accepts one answer, and repeats nothing that it was sent', async () => {
  const loopback = await listenOnLoopback({ state: 'right' })
  const answer = loopback.answer(never)
  const { redirectUrl } = loopback
  const { port } = new URL(redirectUrl)
  const ask = async (url: string, init: RequestInit = {}): Promise<[number, string]> => {
    const response = await fetch(url, init)
    return [response.status, await response.text()]
  }
  for (const wrong of ['?code=c', '?code=c&state=wrong', '?state=right', '?code=&state=right'])
    expect((await ask(`${redirectUrl}${wrong}`))[0]).toBe(400)
  expect((await ask(`http://127.0.0.1:${port}/other?code=c&state=right`))[0]).toBe(400)
  expect((await ask(`${redirectUrl}?code=c&state=right`, { method: 'POST' }))[0]).toBe(400)
  // Not a URL: any page that guesses the port can send it.
  expect(await rawStatus(Number(port), '//')).toBe('HTTP/1.1 400 Bad Request')
  // Under another name: what a page elsewhere would send.
  expect((await ask(`http://localhost:${port}/callback?code=c&state=right`).catch(() => [400]))[0]).toBe(400)
  const [status, text] = await ask(`${redirectUrl}?code=%3Cscript%3E&state=right&iss=i`)
  expect([status, text.includes('script')]).toEqual([200, false])
  expect(await answer).toEqual({ kind: 'code', code: '<script>', iss: 'i' })
  expect((await ask(`${redirectUrl}?code=d&state=right`))[0]).toBe(400)
  await loopback.close()
  const isOpen = await new Promise<boolean>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  expect(isOpen).toBe(false)
})

test('rejects a damaged sign-in, and one of another address', async () => {
  const pair = await oauthPair()
  const { folder, signIns } = kept()
  await signedIn(pair, signIns)
  const [file = ''] = readdirSync(folder)
  const text = readFileSync(join(folder, file), 'utf8')
  for (const damaged of ['{', '[]', '{}', text.replace(pair.url, 'https://other.example/mcp'), text.replace('access_token', 'x')]) {
    writeFileSync(join(folder, file), damaged)
    expect(await signIns.find(pair.url)).toBeUndefined()
  }
}) // prettier-ignore

test('no copy of a forgotten sign-in is left, even by a process that was killed while writing', async () => {
  const pair = await oauthPair()
  const { folder, signIns } = kept()
  await signedIn(pair, signIns)
  const [file = ''] = readdirSync(folder)
  writeFileSync(join(folder, `${file}.part`), 'access-1')
  expect(await signIns.forget(pair.url)).toBe(true)
  expect(readdirSync(folder)).toEqual([])
})

test('server-supplied addresses are used only where a sign-in goes, and secrets go nowhere else', async () => {
  const asked: (string | undefined)[] = []
  const here = await served((request, response) => {
    asked.push(request.url)
    if (request.url === '/answer') return void response.end('{"a":1}')
    response.writeHead(307, { location: request.url === '/to' ? '/answer' : 'http://192.0.2.1/' }).end()
  })
  const away = signInFetch('https://mcp.example/', never)
  await expect(away(`${here}/answer`)).rejects.toThrow('which a sign-in does not allow')
  expect(asked).toEqual([])
  const near = signInFetch(here, never)
  expect(await (await near(`${here}/to`)).json()).toEqual({ a: 1 })
  await expect(near(`${here}/elsewhere`)).rejects.toThrow(
    'it sends to http://192.0.2.1, which a sign-in does not allow',
  )
  await expect(near(`${here}/to`, { method: 'POST', body: 'code=c' })).rejects.toThrow('redirects what was to stay')
  expect(asked).toEqual(['/to', '/answer', '/elsewhere', '/to'])
})

test.skipIf(!isBubblewrapThere)('commands in the sandbox cannot read sign-ins (spec R-MCP-16g)', async () => {
  const [cwd, home] = [folderInSight(), folderInSight()]
  const signIns = join(home, '.halting/mcp-sign-ins')
  mkdirSync(signIns, { recursive: true })
  writeFileSync(join(signIns, 'one.json'), 'access-1')
  const { workspace } = codingTools({}, { cwd })
  await confineCommands({
    workspace,
    permissions: createPermissions({ cwd, env: {} }),
    settings: {},
    isWanted: true,
    home,
    env: {},
  })
  const bash = toolNamed(createCodingTools(workspace), 'Bash')
  const { text } = await runTool(bash, { command: `cat ${signIns}/one.json; echo it was tried` })
  expect(text).toContain('it was tried')
  expect(text).not.toContain('access-1')
})

test('a server that requests another scope at each call does not bloat the sign-in', async () => {
  const { signIns } = kept()
  const url = 'https://example.org/mcp'
  const [client, tokens] = [{ client_id: 'c' }, { access_token: 't', token_type: 'Bearer' }]
  await signIns.store({ url, authorizationServer: 'https://example.org', client, tokens })
  await signIns.addScope(url, 'files:read')
  for (const each of ['a', 'b', 'c']) await signIns.addScope(url, each.repeat(3_000))
  const { wantedScope = '' } = (await signIns.find(url)) ?? {}
  expect([wantedScope.startsWith('files:read a'), wantedScope.length]).toEqual([true, 3_011])
})
