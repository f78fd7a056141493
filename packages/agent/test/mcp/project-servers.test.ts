// Holds rules of docs/spec: R-MCP-13, R-MCP-13a, R-TRUST-1: whose servers count.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changeTrust, loadSettings, projectOffers } from '../../src/index.ts'

let root = ''
let owner: { readonly cwd: string; readonly home: string; readonly env: Readonly<Record<string, string>> }
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-mcp-')))
  owner = { cwd: join(root, 'project'), home: join(root, 'home'), env: {} }
  for (const folder of [owner.cwd, owner.home]) mkdirSync(folder)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, content: unknown): void {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

async function servers(
  options: Partial<Parameters<typeof loadSettings>[0]> = {},
): Promise<readonly (readonly string[])[]> {
  const { settings } = await loadSettings({ ...owner, ...options })
  return (settings.mcpServers ?? []).map(({ name, scope, server }) => [name, scope, JSON.stringify(server['command'])])
}

/** Like `halting trust --yes`. */
async function trust(): Promise<void> {
  const offers = await projectOffers(owner)
  await changeTrust(
    owner,
    (records) => void records.set(owner.cwd, { trusted: true, since: '', offers: offers.map(({ id }) => id) }),
  )
}

test("connects a project's servers if its folder is trusted, and if they were named then", async () => {
  write('project/.mcp.json', { mcpServers: { a: { command: 'x', env: { K: '1' } } } })
  expect(await servers()).toEqual([])
  const { ignored, trust: folderTrust } = await loadSettings(owner)
  expect(folderTrust?.trusted).toBe(false)
  expect(ignored).toMatchObject([
    { setting: 'mcpServers', text: 'a: x {"env":{"K":"1"}}', forTrust: true, why: 'the folder is not trusted' },
  ])
  expect(await servers({ trustedBy: '--trust' })).toEqual([['a', 'project', '"x"']])
  await trust()
  expect(await servers()).toEqual([['a', 'project', '"x"']])
  write('project/.mcp.json', { mcpServers: { a: { command: 'x', env: { K: '2' } }, b: { command: 'y' } } })
  expect(await servers()).toEqual([])
  expect((await loadSettings(owner)).ignored).toMatchObject([{ why: 'added after you trusted the folder' }, {}])
})

test("the user's settings admit servers of a trusted project, and the project's own do not", async () => {
  write('project/.mcp.json', { mcpServers: { a: { command: 'x' }, b: { command: 'y' } } })
  write('project/.claude/settings.json', { enableAllProjectMcpServers: true, enabledMcpjsonServers: ['a'] })
  await changeTrust(owner, (records) => void records.set(owner.cwd, { trusted: true, since: '', offers: [] }))
  expect(await servers()).toEqual([])
  write('home/.claude/settings.json', { enabledMcpjsonServers: ['b'] })
  expect(await servers()).toEqual([['b', 'project', '"y"']])
  write('home/.claude/settings.json', { enableAllProjectMcpServers: true })
  expect(await servers()).toEqual([
    ['a', 'project', '"x"'],
    ['b', 'project', '"y"'],
  ])
  write('project/.claude/settings.json', { disabledMcpjsonServers: ['a'] })
  expect(await servers()).toEqual([['b', 'project', '"y"']])
  await changeTrust(owner, (records) => void records.delete(owner.cwd))
  expect(await servers()).toEqual([])
})

test('applies the most specific server of a name', async () => {
  const all = (command: string) => ({
    one: { command },
    two: { command },
    three: { command },
    four: { command },
    five: { command },
  })
  const without = (servers: object, ...names: readonly string[]) =>
    Object.fromEntries(Object.entries(servers).filter(([name]) => !names.includes(name)))
  write('home/.claude.json', {
    mcpServers: all('claude-all'),
    projects: { [owner.cwd]: { mcpServers: without(all('claude-here'), 'four', 'five') } },
  })
  write('home/.halting/mcp.json', {
    mcpServers: without(all('own-all'), 'five'),
    projects: {
      [owner.cwd]: { mcpServers: { two: { command: 'own-here' } } },
      '/other': { mcpServers: { six: { command: 'x' } } },
    },
  })
  write('project/.mcp.json', { mcpServers: without(all('project'), 'four', 'five') })
  write('home/.halting/settings.json', { mcpServers: { one: { command: 'settings' } } })
  expect(Object.fromEntries((await servers({ trustedBy: '--trust' })).map(([name, ...rest]) => [name, rest]))).toEqual({
    five: ['own', '"claude-all"'],
    four: ['own', '"own-all"'],
    one: ['own', '"settings"'],
    three: ['own', '"claude-here"'],
    two: ['own', '"own-here"'],
  })
  expect(await servers({ sources: ['project'], trustedBy: '--trust' })).toEqual([
    ['one', 'project', '"project"'],
    ['two', 'project', '"project"'],
    ['three', 'project', '"project"'],
  ])
})

test('skips an unreadable file and invalid servers', async () => {
  write('project/.mcp.json', '{"mcpServers": {')
  write('home/.claude.json', `{"mcpServers": 7, "x": "${'y'.repeat(2_000_000)}"}`)
  const { settings, warnings } = await loadSettings(owner)
  expect(settings.mcpServers).toBeUndefined()
  expect(warnings).toEqual([expect.stringContaining('The MCP servers in '), expect.stringContaining('mcpServers')])
})

test("what a user allows their own server in all projects does not apply to a project's server of that name (spec R-MCP-17)", async () => {
  const allow = ['mcp__a', 'mcp__a__*', 'mcp__a__list', 'mcp__a*', 'mcp__*', 'mcp__ab__x', 'mcp__b__*', 'Read']
  write('home/.claude/settings.json', { permissions: { allow, deny: ['mcp__a__drop'] } })
  write('home/.halting/mcp.json', { mcpServers: { a: { command: 'mine' } } })
  write('project/.mcp.json', { mcpServers: { a: { command: 'theirs' }, b: { command: 'y' } } })
  const rules = async (): Promise<unknown> => {
    const { settings, warnings } = await loadSettings({ ...owner, trustedBy: '--trust' })
    const texts = settings.permissions?.allow.map((rule) => (typeof rule === 'string' ? rule : rule.rule))
    return [
      texts,
      settings.permissions?.deny.length,
      warnings.filter((text) => text.includes('applies to your server a,')).length,
    ]
  }
  // A permission for all servers applies to all; denials stay.
  expect(await rules()).toEqual([['mcp__*', 'mcp__ab__x', 'mcp__b__*', 'Read'], 1, 4])
  // If the project is not trusted its server is ignored, and the user's applies.
  expect((await loadSettings(owner)).settings.permissions?.allow).toHaveLength(allow.length)
  // An identical server is the same server; and permissions for this project apply to it.
  write('project/.mcp.json', { mcpServers: { a: { command: 'mine' } } })
  expect(await rules()).toEqual([allow, 1, 0])
  write('project/.mcp.json', { mcpServers: { a: { command: 'theirs' } } })
  write('home/.claude/settings.json', { disabledMcpjsonServers: ['a'], permissions: { allow, deny: [] } })
  expect(await rules()).toEqual([allow, 0, 0])
  // A name that differs until it becomes the name of a tool.
  write('home/.claude/settings.json', { permissions: { allow: ['mcp__a_b__x'] } })
  write('home/.halting/mcp.json', { mcpServers: { a_b: { command: 'mine' } } })
  write('project/.mcp.json', { mcpServers: { 'a.b': { command: 'theirs' } } })
  expect((await loadSettings({ ...owner, trustedBy: '--trust' })).settings.permissions?.allow ?? []).toEqual([])
})
