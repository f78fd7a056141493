// Holds rules of docs/spec: R-MCP-16, R-MCP-16f: `halting mcp login` and `logout`, and a run whose server wants to know who asks.
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { browse, oauthPair } from '../../agent/test/mcp/oauth-server.ts'
import { installProgram, run, script, start, type Ended } from './support/program.ts'
import { commandOfServers } from './support/servers.ts'

installProgram()

const { place, mcp } = commandOfServers()

const placed = (env: Record<string, string> = {}) => ({
  cwd: place.project,
  env: { HALTING_CONFIG_DIR: place.config, ...env },
})

/** Signs in like a user who copies the address. */
async function login(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const running = start(['mcp', 'login', ...args], placed(env))
  await running.waitForOutput('/authorize?')
  const [page = ''] = /http:\/\/\S+\/authorize\?\S+/.exec(running.stderr()) ?? []
  await browse(new URL(page))
  return running.ended
}

const signInFiles = (): readonly string[] => {
  const folder = join(place.config, 'mcp-sign-ins')
  return existsSync(folder) ? readdirSync(folder) : []
}

test('names the server and the command in a run, signs in with login, and forgets it with logout', async () => {
  const pair = await oauthPair({ tokenSeconds: 3_600 })
  expect((await mcp('add', 'locked', pair.url)).status).toBe(0)
  const args = ['--verbose', '--output-format', 'stream-json', '--allowedTools', 'mcp__locked']
  const look = [
    { content: [{ type: 'tool_use', id: 'c', name: 'mcp__locked__whoami', input: {} }] },
    { content: 'Done.' },
  ]
  const before = await run([...args, '--script', script([{ content: 'Done.' }]), '-p', 'who?'], placed())
  expect([before.status, before.stderr]).toEqual([0, expect.any(String)])
  expect(before.stdout).toContain('"mcp_servers":[{"name":"locked","status":"needs-auth"}]')
  expect(before.stderr).toContain('run `halting mcp login locked`')
  const { status, stdout, stderr } = await login(['locked', '--no-browser'])
  expect([status, stdout]).toEqual([0, `Signed in to locked (${pair.url}). Sign out with halting mcp logout locked.\n`])
  const ran = await run([...args, '--script', script(look), '-p', 'who?'], placed())
  expect(ran.stdout).toContain('"mcp_servers":[{"name":"locked","status":"connected"}]')
  expect(ran.stdout).toContain('somebody who is known')
  // No other output or file contains a token.
  const said = [stdout, stderr, ran.stdout, ran.stderr, (await mcp('get', 'locked')).stdout].join('\n')
  expect(said).not.toMatch(/access-[0-9a-f]|refresh-[0-9a-f]/)
  const elsewhere = readdirSync(place.config, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('mcp-sign-ins'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  expect(elsewhere.length).toBeGreaterThan(0)
  expect(elsewhere.join('\n')).not.toMatch(/access-[0-9a-f]|refresh-[0-9a-f]/)
  expect(readdirSync(place.project)).toEqual([])
  expect(signInFiles()).toHaveLength(1)
  expect((await mcp('logout', 'locked')).stdout).toContain('Signed out of locked.')
  expect(signInFiles()).toEqual([])
  expect((await mcp('logout', 'locked')).stdout).toBe('Not signed in to locked.\n')
  expect((await mcp('get', 'locked')).stdout).toContain('needs-auth')
})

test('signs in a registered program with its ID and its secret, which is never printed', async () => {
  const pair = await oauthPair({ known: { id: 'known', secret: 'very-secret' } })
  expect((await mcp('add', '--client-id', 'known', 'locked', pair.url)).status).toBe(0)
  const without = await login(['locked', '--no-browser'])
  expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('refused it (invalid_client)')])
  const { status, stdout, stderr } = await login(['locked', '--no-browser'], { MCP_CLIENT_SECRET: 'very-secret' })
  expect([status, stdout]).toEqual([0, expect.stringContaining('Signed in to locked')])
  const shown = await mcp('get', 'locked')
  expect(shown.stdout).toContain('connected, 1 tool')
  expect([stdout, stderr, shown.stdout].join('')).not.toMatch(/very-secret|mcp-sdk/)
  await mcp('add', 'other', pair.url)
  const lost = await run(['mcp', 'login', 'other'], placed({ MCP_CLIENT_SECRET: 'very-secret' }))
  expect([lost.status, lost.stderr]).toEqual([2, expect.stringContaining('needs --client-id')])
})

test("opens the user's browser with only the address", async () => {
  const pair = await oauthPair()
  await mcp('add', 'locked', pair.url)
  const [browser, note] = [join(place.config, 'browser'), join(place.config, 'opened')]
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > '${note}.part'; mv '${note}.part' '${note}'\n`)
  chmodSync(browser, 0o700)
  const running = start(['mcp', 'login', 'locked'], placed({ BROWSER: browser }))
  await running.waitForOutput('/authorize?')
  while (!existsSync(note)) await new Promise((resolve) => setTimeout(resolve, 20))
  const opened = readFileSync(note, 'utf8').split('\n').slice(0, -1)
  expect(opened).toHaveLength(1)
  expect(running.stderr()).toContain(opened[0])
  await browse(new URL(opened[0] ?? ''))
  expect((await running.ended).status).toBe(0)
})

test('reports a refused login, and stops an interrupted one', async () => {
  const pair = await oauthPair({ page: 'refuses' })
  await mcp('add', 'locked', pair.url)
  const refused = await login(['locked', '--no-browser'])
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringContaining('the login to locked failed: it was refused (access_denied).'),
  ])
  const running = start(['mcp', 'login', 'locked', '--no-browser'], placed())
  await running.waitForOutput('/authorize?')
  running.child.kill('SIGINT')
  expect((await running.ended).status).toBe(1)
  expect(signInFiles()).toEqual([])
})

test('refuses to sign in to a program or an unknown server', async () => {
  await mcp('add', 'own', 'a-program')
  const own = await mcp('login', 'own')
  expect([own.status, own.stderr]).toEqual([2, expect.stringContaining('login needs a server with a URL')])
  expect((await mcp('login', 'none')).stderr).toContain('No MCP server named none.')
  writeFileSync(join(place.project, '.mcp.json'), JSON.stringify({ mcpServers: { theirs: { url: 'https://x.example/' } } }))
  const theirs = await mcp('login', 'theirs')
  expect([theirs.status, theirs.stderr]).toEqual([2, expect.stringContaining('it is ignored')])
  expect((await mcp('login', 'own', '--callback-port', '0')).stderr).toContain('--callback-port takes a port')
}) // prettier-ignore
