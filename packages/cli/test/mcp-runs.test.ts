// Holds rules of docs/spec: R-MCP-1a, R-MCP-2, R-MCP-9, R-MCP-10, R-MCP-12 to R-MCP-13b: servers in runs of the program.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, installProgram } from './support/program.ts'
import { askingServer, given, one, projectWithServers } from './support/servers.ts'

installProgram()
const { folder, runInProject } = projectWithServers()

test('hides a denied server from the model', async () => {
  const { init } = await runInProject(
    ['-p', 'hi', '--mcp-config', given({ s: one('good') }), '--disallowedTools', 'mcp__s'],
    [{ content: 'Done.' }],
  )
  expect((init['tools'] as readonly string[]).filter((name) => name.startsWith('mcp__'))).toEqual([])
})

test('names invalid servers, and runs without them', async () => {
  const note = join(folder(), 'note')
  const begun = performance.now()
  const { status, init, stderr } = await runInProject(
    ['-p', 'hi', '--mcp-config', given({ dead: one('dead'), silent: one('silent', note), good: one('odd'), odd: {} })],
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
  expect(stderr).toContain('MCP server dead is not available: it ended (exit code 3); it said: no licence found.')
  expect(stderr).toContain('MCP server silent is not available: it has not answered yet')
  expect(stderr).toContain('MCP server good: its tool Odd is left out: it has no name.')
  expect(stderr).toContain('MCP server odd is not available: it has neither a command nor a url.')
  expect(performance.now() - begun).toBeLessThan(25_000)
  const pid = Number(readFileSync(note, 'utf8').split(' ')[1])
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('adds the tools of a slow server during the run', async () => {
  const [note, asked] = [join(folder(), 'note'), join(folder(), 'asked')]
  const { status, init, results } = await runInProject(
    [
      '-p',
      'hi',
      '--mcp-config',
      given({ slow: one('slow', note, { SLOW_UNTIL: asked }) }),
      '--allowedTools',
      'mcp__slow,Bash',
    ],
    [
      {
        content: [
          call('Bash', { command: `touch ${asked}; until grep -q listed ${note}; do sleep 0.1; done; sleep 2` }),
        ],
      },
      { content: [call('mcp__slow__say', { text: 'late' })] },
      { content: 'Done.' },
    ],
    { HALTING_MCP_WAIT_MS: '0' },
  )
  expect([status, init['mcp_servers']]).toEqual([0, [{ name: 'slow', status: 'pending' }]])
  expect(init['tools']).not.toContain('mcp__slow__say')
  expect(results[1]).toMatchObject({ content: `say said late in ${folder()}` })
})

test('finds many tools by a search', async () => {
  const { init, results } = await runInProject(
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

test("sends a server's prompt by its name", async () => {
  const args = ['--mcp-config', given({ s: one('good') })]
  const { lines, status } = await runInProject(['-p', '/mcp__s__greet Ada', ...args], [{ content: 'Hello, Ada.' }])
  expect([status, lines.at(-1)?.['result']]).toEqual([0, 'Hello, Ada.'])
  const wrong = await runInProject(['-p', '/mcp__s__greet', ...args], [{ content: 'Hello.' }])
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('/mcp__s__greet needs who [rest].')])
})

describe('project servers', () => {
  const statuses = async (...args: readonly string[]): Promise<unknown> =>
    (await runInProject(['-p', 'hi', ...args], [{ content: 'Done.' }])).init['mcp_servers']
  const connected = (...names: readonly string[]) => names.map((name) => ({ name, status: 'connected' }))

  test('apply in a trusted folder, do not enable themselves, and receive no keys', async () => {
    mkdirSync(join(folder(), '.claude'))
    writeFileSync(join(folder(), '.claude/settings.json'), JSON.stringify({ enableAllProjectMcpServers: true }))
    const servers = { a: one('good'), b: { url: 'http://127.0.0.1:9/${ANTHROPIC_API_KEY}' } }
    writeFileSync(join(folder(), '.mcp.json'), given(servers))
    const { init, stderr } = await runInProject(['-p', 'hi'], [{ content: 'Done.' }])
    expect(init['mcp_servers']).toEqual([])
    expect(stderr).toContain('(not reviewed yet): mcpServers (2).')
    const trusting = await runInProject(['-p', 'hi', '--trust'], [{ content: 'Done.' }], { ANTHROPIC_API_KEY: 'sk-1' })
    expect(trusting.init['mcp_servers']).toEqual([...connected('a'), { name: 'b', status: 'failed' }])
    expect(trusting.stderr).toContain('the variable ANTHROPIC_API_KEY is not set')
    expect(await statuses('--trust', '--strict-mcp-config', '--mcp-config', given({ only: one('good') }))).toEqual(
      connected('only'),
    )
  })
})

test('stop nothing if they cannot be read', async () => {
  writeFileSync(join(folder(), '.mcp.json'), '{"mcpServers": {')
  const { status, stderr } = await runInProject(['-p', 'hi'], [{ content: 'Done.' }])
  expect([status, stderr]).toEqual([0, expect.stringContaining('The MCP servers in ')])
})

test("decline a server's question if nobody can answer, on stderr and in the transcript", async () => {
  const asks = { command: process.execPath, args: [askingServer] }
  const { status, stderr, results } = await runInProject(
    ['-p', 'hi', '--mcp-config', given({ asks }), '--allowedTools', 'mcp__asks'],
    [
      { content: [call('mcp__asks__form', {}), call('mcp__asks__page', {})] },
      { content: [call('mcp__asks__needs-still', {})] },
      { content: 'Done.' },
    ],
  )
  const host = 'auth.example.com'
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringMatching(/server asks .*"Your name\?".* declined/),
    expect.stringMatching(new RegExp(`server asks .* ${host}\\. .* declined`)),
    expect.stringMatching(new RegExp(`server asks did not run this call\\. .* ${host}\\. No user .* Do not call`)),
  ])
  expect(stderr).toContain('The MCP server asks asked "Your name?". Nobody can answer here, so it was declined.')
  expect(stderr).toContain(`to open https://${host}/connect?state=abc (host: ${host}).`)
  expect(status).toBe(0)
})
