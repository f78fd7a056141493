// Holds rules of docs/spec: R-MCP-2 to R-MCP-9, R-MCP-11.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { questionUnanswered } from '../../src/mcp/elicitation-texts.ts'
import { resourceCount, unknownServer } from '../../src/mcp/mcp-texts.ts'
import { call, hostile, notes, readyServers, textOf, until } from './support.ts'

let folder = ''
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-mcp-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('does not connect both of two servers with confusable names', async () => {
  const servers = await readyServers({ 'a b': hostile('good'), a_b: hostile('good'), '..': hostile('good') })
  expect(servers.statuses.map(({ status, problem }) => [status, problem])).toEqual([
    ['connected', undefined],
    ['failed', 'its tools would have the same names as those of a b'],
    ['failed', 'its name has no letter or digit'],
  ])
})

test('shows or mentions every kind of content', async () => {
  const servers = await readyServers({ s: hostile('mixed') })
  expect(textOf(await call(servers, 'mcp__s__do')).split('\n')).toEqual([
    'a text',
    '<image>',
    '[image, not shown: It is not a PNG, JPEG, GIF or WebP file.]',
    '[audio (audio/wav), not shown]',
    '[resource mem://one: one, text/plain]',
    '[resource mem://two]',
    'inside',
    '[resource mem://three: 3 bytes of application/zip, not shown]',
  ])
})

test('shows structured content if no text repeats it, and passes it to programs', async () => {
  const servers = await readyServers({ s: hostile('structured') })
  expect(await call(servers, 'mcp__s__do')).toMatchObject({
    content: '{\n  "degrees": 7\n}',
    details: { structuredContent: { degrees: 7 } },
  })
})

test('reports progress', async () => {
  const servers = await readyServers({ s: hostile('progress') })
  const { progress } = await call(servers, 'mcp__s__do')
  expect(progress[0]).toEqual({ progress: 1, total: 3, message: 'step 1' })
})

test('offers tools that appear later', async () => {
  const servers = await readyServers({ s: hostile('grow') })
  let changes = 0
  servers.onChange(() => void changes++)
  await call(servers, 'mcp__s__do')
  await until(() => servers.names.includes('mcp__s__grown'))
  expect(changes).toBeGreaterThan(0)
  expect(textOf(await call(servers, 'mcp__s__grown'))).toContain('grown said nothing')
})

test('declines a question if nobody can answer it, and otherwise asks the user', async () => {
  const alone = await readyServers({ s: hostile('elicit') })
  expect(textOf(await call(alone, 'mcp__s__do'))).toBe(`{"action":"decline"}\n${questionUnanswered('s', 'Your name?')}`)
  const asked: unknown[] = []
  const servers = await readyServers(
    { s: hostile('elicit') },
    {
      elicit: async (server, { message }) => {
        asked.push([server, message])
        return { action: 'accept', content: { name: 'Ada' } }
      },
    },
  )
  expect(JSON.parse(textOf(await call(servers, 'mcp__s__do')))).toEqual({ action: 'accept', content: { name: 'Ada' } })
  expect(asked).toEqual([['s', 'Your name?']])
})

test('an unanswered question ends with the time of the call (spec R-MCP-11a)', async () => {
  let isOver = false
  const servers = await readyServers(
    { s: hostile('elicit') },
    {
      limits: { toolMs: 300 },
      elicit: (_server, _request, signal) => {
        signal.addEventListener('abort', () => (isOver = true))
        return new Promise(() => undefined)
      },
    },
  )
  expect(await call(servers, 'mcp__s__do')).toMatchObject({ isError: true })
  await until(() => isOver)
})

test('lists and reads resources', async () => {
  const servers = await readyServers({ s: hostile('good') })
  expect(textOf(await call(servers, 'ListMcpResources'))).toBe(
    `${resourceCount('s', 1)}\n  mem://one | one | text/plain`,
  )
  expect(textOf(await call(servers, 'ReadMcpResource', { server: 's', uri: 'mem://one' }))).toBe(
    '[resource mem://one]\nthe first',
  )
  expect(await call(servers, 'ReadMcpResource', { server: 't', uri: 'mem://one' })).toMatchObject({
    isError: true,
    content: unknownServer('t', ['s']),
  })
})

test("replaces a server's prompt by its content", async () => {
  const servers = await readyServers({ 'my server': hostile('good') })
  const { signal } = new AbortController()
  expect(servers.prompts).toEqual([{ name: 'mcp__my_server__greet', description: '', argumentHint: 'who [rest]' }])
  expect(await servers.prompt('/mcp__my_server__greet "Ada L" and all the others', signal)).toBe(
    'Greet Ada L and and all the others.',
  )
  expect(await servers.prompt('/mcp__my_server__greet Bob', signal)).toBe('Greet Bob.')
  expect(await servers.prompt('/other', signal)).toBeUndefined()
  expect(await servers.prompt('/mcp__none__greet', signal)).toBeUndefined()
  await expect(servers.prompt('/mcp__my_server__greet', signal)).rejects.toThrow(
    '/mcp__my_server__greet needs who [rest].',
  )
  await expect(servers.prompt('/mcp__my_server__none', signal)).rejects.toThrow('has no prompt none. It has: greet.')
})

describe('tools whose definitions fill more than a tenth of the window', () => {
  test('are found by a search, and offered from then on', async () => {
    const servers = await readyServers({ s: hostile('good') }, { contextWindow: 100 })
    expect(servers.names).toEqual(['ToolSearch', 'ListMcpResources', 'ReadMcpResource'])
    let changes = 0
    servers.onChange(() => void changes++)
    expect(textOf(await call(servers, 'ToolSearch', { query: 'say something' }))).toContain('mcp__s__say: does say')
    expect([changes, servers.names.at(-1)]).toEqual([1, 'mcp__s__say'])
    expect(textOf(await call(servers, 'ToolSearch', { query: 'zebra' }))).toContain('No tool matches "zebra"')
    await call(servers, 'ToolSearch', { query: 'select:mcp__s__do' })
    expect(servers.names).toContain('mcp__s__do')
  })

  test('stay offered if they were seen before', async () => {
    const servers = await readyServers({ s: hostile('grow') }, { contextWindow: 700 })
    expect(servers.names).toContain('mcp__s__do')
    await call(servers, 'mcp__s__do')
    await until(() => servers.names.includes('ToolSearch'))
    expect(servers.names).toContain('mcp__s__do')
    expect(servers.names).not.toContain('mcp__s__grown')
  })
})

test('are not offered if they are denied', async () => {
  const servers = await readyServers({ s: hostile('good') }, { hides: (name) => name === 'mcp__s__do' })
  expect(servers.names).not.toContain('mcp__s__do')
})

test("runs a server in the session's folder, with its own variables added to the environment", async () => {
  const note = join(folder, 'env')
  const servers = await readyServers(
    { s: hostile('good', note, { A: 'b' }) },
    { cwd: folder, env: { PATH: process.env['PATH'] ?? '' } },
  )
  expect(textOf(await call(servers, 'mcp__s__say'))).toContain(` in ${folder}`)
  expect(notes(note)).toContain('call say')
})
