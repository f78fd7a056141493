// Holds rules of docs/spec.md: R-MCP-1a, R-MCP-2, R-MCP-6, R-MCP-9, R-MCP-10, R-MCP-12 to R-MCP-13b: servers in runs of the program.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { serverEntries } from '../src/session/mcp.ts'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const server = fileURLToPath(new URL('../../agent/test/mcp/hostile-server.mjs', import.meta.url))
const one = (mode: string, note = '', env: object = {}) => ({
  command: process.execPath,
  args: [server, mode, note],
  env,
})

let project = ''
let config = ''
beforeEach(() => {
  project = mkdtempSync(join(here(), 'project-'))
  config = mkdtempSync(join(here(), 'config-'))
})
afterEach(() => {
  for (const folder of [project, config]) rmSync(folder, { recursive: true, force: true })
})

type Line = Readonly<Record<string, unknown>>

/** A run of the program in the project, told line by line. */
async function told(
  args: readonly string[],
  replies: Parameters<typeof script>[0],
  env: Readonly<Record<string, string>> = {},
) {
  const { status, stdout, stderr } = await run(
    ['--verbose', '--output-format', 'stream-json', '--script', script(replies), ...args],
    { cwd: project, env: { HALTING_CONFIG_DIR: config, HALTING_MCP_WAIT_MS: '60000', ...env } },
  )
  const lines = (stdout === '' ? [] : linesOf(stdout)) as readonly Line[]
  const init = lines.find(({ subtype }) => subtype === 'init') ?? {}
  const results = lines.flatMap(({ type, message }) => {
    if (type !== 'user') return []
    const { content } = message as {
      readonly content: readonly { readonly content: unknown; readonly is_error?: true }[]
    }
    return Array.isArray(content) ? content : []
  })
  return { status, stderr, init, results, lines }
}

const given = (servers: object): string => JSON.stringify({ mcpServers: servers })

test('a tool of a server is called where a rule allows it, and denied where none does', async () => {
  const { status, init, results } = await told(
    ['-p', 'hi', '--mcp-config', given({ s: one('good') }), '--allowedTools', 'mcp__s__say'],
    [
      { content: [call('mcp__s__say', { text: 'hello' })] },
      { content: [call('mcp__s__do', {})] },
      { content: [call('mcp__s__say', { text: { of: 7 } })] },
      { content: 'Done.' },
    ],
  )
  expect(status).toBe(0)
  expect(init['mcp_servers']).toEqual([{ name: 's', status: 'connected' }])
  expect(init['tools']).toEqual(expect.arrayContaining(['Read', 'mcp__s__say', 'mcp__s__do', 'ReadMcpResource']))
  expect(init['slash_commands']).toEqual(['mcp__s__greet'])
  expect(results[0]?.content).toBe(`say said hello in ${project}`)
  expect(results[1]).toMatchObject({
    is_error: true,
    content: expect.stringContaining('The rule mcp__s__do would allow it'),
  })
  expect(results[2]).toMatchObject({ is_error: true, content: expect.stringContaining('Invalid input') })
})

test('a denied server is not shown to the model', async () => {
  const { init } = await told(
    ['-p', 'hi', '--mcp-config', given({ s: one('good') }), '--disallowedTools', 'mcp__s'],
    [{ content: 'Done.' }],
  )
  expect((init['tools'] as readonly string[]).filter((name) => name.startsWith('mcp__'))).toEqual([])
})

test('servers that are no good are named, and the run goes on without them', async () => {
  const note = join(project, 'note')
  const begun = performance.now()
  const { status, init, stderr } = await told(
    ['-p', 'hi', '--mcp-config', given({ dead: one('dead'), silent: one('silent', note), good: one('good'), odd: {} })],
    [{ content: 'Done.' }],
    { HALTING_MCP_WAIT_MS: '8000' },
  )
  expect([status, init['mcp_servers']]).toEqual([
    0,
    [
      { name: 'dead', status: 'failed' },
      { name: 'silent', status: 'pending' },
      { name: 'good', status: 'connected' },
      { name: 'odd', status: 'failed' },
    ],
  ])
  expect(stderr).toContain('the MCP server dead is not there: it ended (exit code 3); it said: no licence found.')
  expect(stderr).toContain('the MCP server silent is not there: it has not answered yet')
  expect(stderr).toContain('the MCP server odd is not there: it has neither a command nor a url.')
  expect(performance.now() - begun).toBeLessThan(25_000)
  const pid = Number(readFileSync(note, 'utf8').split(' ')[1])
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('the tools of a server that is slow come while the run goes on', async () => {
  const { status, init, results } = await told(
    [
      '-p',
      'hi',
      '--mcp-config',
      given({ slow: one('slow', '', { SLOW_MS: '1500' }) }),
      '--allowedTools',
      'mcp__slow,Bash(sleep *)',
    ],
    [
      { content: [call('Bash', { command: 'sleep 6' })] },
      { content: [call('mcp__slow__say', { text: 'late' })] },
      { content: 'Done.' },
    ],
    { HALTING_MCP_WAIT_MS: '0' },
  )
  expect([status, init['mcp_servers']]).toEqual([0, [{ name: 'slow', status: 'pending' }]])
  expect(init['tools']).not.toContain('mcp__slow__say')
  expect(results[1]).toMatchObject({ content: `say said late in ${project}` })
})

test('many tools are found by a search', async () => {
  const { init, results } = await told(
    ['-p', 'hi', '--context-window', '8000', '--mcp-config', given({ s: one('lying') }), '--allowedTools', 'mcp__s'],
    [
      { content: [call('ToolSearch', { query: 'select:mcp__s__twice' })] },
      { content: [call('mcp__s__twice', {})] },
      { content: 'Done.' },
    ],
  )
  expect(init['tools']).toEqual(expect.arrayContaining(['ToolSearch']))
  expect(init['tools']).not.toContain('mcp__s__twice')
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringContaining('mcp__s__twice: does twice'),
    expect.stringContaining('twice said nothing'),
  ])
})

test('a prompt of a server is asked for by its name', async () => {
  const args = ['--mcp-config', given({ s: one('good') })]
  const { lines, status } = await told(['-p', '/mcp__s__greet Ada', ...args], [{ content: 'Hello, Ada.' }])
  expect([status, lines.at(-1)?.['result']]).toEqual([0, 'Hello, Ada.'])
  const wrong = await told(['-p', '/mcp__s__greet', ...args], [{ content: 'Hello.' }])
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('/mcp__s__greet needs who [rest].')])
})

test.each([
  ['{}', 'has no mcpServers'],
  ['{"mcpServers": {"a": 1}}', 'has a server that is no object: a'],
  ['{"mcpServers"', 'is no JSON'],
  ['gone.json', 'cannot be read'],
])('--mcp-config %s is refused', async (text, problem) => {
  await expect(serverEntries({ mcpConfig: [text] }, {}, { env: {}, cwd: project }, {})).rejects.toThrow(problem)
})

describe('the servers of a project', () => {
  const statuses = async (...args: readonly string[]): Promise<unknown> =>
    (await told(['-p', 'hi', ...args], [{ content: 'Done.' }])).init['mcp_servers']
  const connected = (...names: readonly string[]) => names.map((name) => ({ name, status: 'connected' }))

  test('count where its folder is trusted, do not enable themselves, and learn no keys', async () => {
    mkdirSync(join(project, '.claude'))
    writeFileSync(join(project, '.claude/settings.json'), JSON.stringify({ enableAllProjectMcpServers: true }))
    const servers = { a: one('good'), b: { url: 'http://127.0.0.1:9/${ANTHROPIC_API_KEY}' } }
    writeFileSync(join(project, '.mcp.json'), given(servers))
    const { init, stderr } = await told(['-p', 'hi'], [{ content: 'Done.' }])
    expect(init['mcp_servers']).toEqual([])
    expect(stderr).toContain('is not trusted (nobody has trusted it): its mcpServers (2) do not count.')
    const trusting = await told(['-p', 'hi', '--trust'], [{ content: 'Done.' }], { ANTHROPIC_API_KEY: 'sk-1' })
    expect(trusting.init['mcp_servers']).toEqual([...connected('a'), { name: 'b', status: 'failed' }])
    expect(trusting.stderr).toContain('the variable ANTHROPIC_API_KEY is not set')
    expect(await statuses('--trust', '--strict-mcp-config', '--mcp-config', given({ only: one('good') }))).toEqual(
      connected('only'),
    )
  })

  test('that cannot be read stop nothing', async () => {
    writeFileSync(join(project, '.mcp.json'), '{"mcpServers": {')
    const { status, stderr } = await told(['-p', 'hi'], [{ content: 'Done.' }])
    expect([status, stderr]).toEqual([0, expect.stringContaining('No servers are taken from')])
  })
})
