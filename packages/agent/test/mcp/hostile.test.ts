// Holds rules of docs/spec: R-MCP-1 to R-MCP-5, R-MCP-10.
import { floods, serverEnded } from '../../src/mcp/connection-texts.ts'
import { connectionLost, timedOut } from '../../src/mcp/mcp-texts.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, hostile, isAlive, notes, readyServers, serversOf, textOf, until } from './support.ts'

let folder = ''
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-mcp-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const noteFile = (): string => join(folder, `note-${files++}`)

describe('a broken server is reported, and delays nobody', () => {
  test.each([
    ['dead', /ended \(exit code 3\).*no licence found/],
    ['garbage', new RegExp(`^${floods}$`)],
    ['flood', new RegExp(`^${floods}$`)],
    ['endless-line', /too large/],
    ['wrong-version', /version/i],
    ['no-list', /./],
  ])('%s', async (mode, problem) => {
    const note = noteFile()
    const begun = performance.now()
    const servers = await readyServers({ bad: hostile(mode, note), good: hostile('good') })
    await servers.settled()
    expect(performance.now() - begun).toBeLessThan(30_000)
    const [bad, good] = servers.statuses
    expect([bad?.status, bad?.tools]).toEqual(['failed', 0])
    expect(bad?.problem).toMatch(problem)
    expect([good?.name, good?.status, good?.tools]).toEqual(['good', 'connected', 2])
    expect(servers.names).toEqual(['ListMcpResources', 'ReadMcpResource', 'mcp__good__say', 'mcp__good__do'])
    const pid = Number(notes(note)[0]?.split(' ')[1])
    expect(isAlive(pid)).toBe(false)
  })

  test('silent servers time out in parallel', async () => {
    const modes = ['silent', 'silent-list', 'half', 'deaf']
    const started = modes.map((mode) => [mode, noteFile()] as const)
    const servers = await readyServers(
      { ...Object.fromEntries(started.map(([mode, note]) => [mode, hostile(mode, note)])), good: hostile('good') },
      { limits: { connectMs: 6_000 } },
    )
    const failed = modes.map((name) => ({ name, status: 'failed', problem: expect.stringMatching(/did not answer/), tools: 0 })) // prettier-ignore
    await servers.settled()
    expect(servers.statuses).toEqual([...failed, expect.objectContaining({ status: 'connected', tools: 2 })])
    await servers.dispose()
    for (const [, note] of started) expect(isAlive(Number(notes(note)[0]?.split(' ')[1]))).toBe(false)
  })

  test('reports a missing program, and an unreadable server', async () => {
    const servers = await readyServers({
      gone: { type: 'stdio', command: 'there-is-no-such-program', args: [], env: {} },
      odd: { problem: 'its url must begin with http:// or https://' },
    })
    expect(servers.statuses).toEqual([
      { name: 'gone', status: 'failed', problem: 'the program was not found', tools: 0 },
      { name: 'odd', status: 'failed', problem: 'its url must begin with http:// or https://', tools: 0 },
    ])
  })

  test('cuts off endless pages', async () => {
    const servers = await readyServers({ pages: hostile('pages') })
    expect(servers.statuses[0]?.status).not.toBe('pending')
    expect(servers.names.length).toBeLessThanOrEqual(1_002)
  })
})

test('the first request waits a bounded time; later servers are reported', async () => {
  const servers = serversOf(
    { fast: hostile('good'), slow: hostile('slow', '', { SLOW_MS: '2500' }) },
    { limits: { waitAfterFirstMs: 100, waitMs: 20_000 } },
  )
  await servers.ready()
  expect(servers.statuses.map(({ status }) => status)).toEqual(['connected', 'pending'])
  let changes = 0
  servers.onChange(() => void changes++)
  await servers.settled()
  expect(servers.statuses.map(({ status }) => status)).toEqual(['connected', 'connected'])
  expect(changes).toBeGreaterThan(0)
  expect(servers.names).toContain('mcp__slow__say')
})

test('the wait ends if no server answers', async () => {
  const begun = performance.now()
  await serversOf({ silent: hostile('silent') }, { limits: { waitMs: 200 } }).ready()
  expect(performance.now() - begun).toBeLessThan(5_000)
})

test('no description of a tool breaks anything', async () => {
  const servers = await readyServers({ liar: hostile('lying') })
  const names = servers.names.filter((name) => name.startsWith('mcp__'))
  expect(names.every((name) => /^[\w-]{1,64}$/.test(name))).toBe(true)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('mcp__liar__twice')
  const shown = Object.entries({ 'bad-type': { a: {} }, 'bad-name': { a_b_c: { type: 'string', description: 'The server calls it "a b/c".' } }, 'bad-pattern': { a: { type: 'string' } } }) // prettier-ignore
  for (const [name, properties] of shown)
    expect(servers.tool(`mcp__liar__${name}`)?.inputSchema).toEqual({ type: 'object', properties })
  expect(servers.tool('mcp__liar__top')?.inputSchema).toEqual({
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
  })
  expect(servers.tool('mcp__liar__long')?.description.length).toBeLessThan(2_100)
})

describe('a call', () => {
  test('of a server that ends during it says so, and the server reconnects', async () => {
    const servers = await readyServers({ s: hostile('crash') })
    const output = await call(servers, 'mcp__s__do')
    expect(output.isError).toBe(true)
    expect(textOf(output)).toBe(connectionLost('s', serverEnded('exit code 9')))
    await until(() => servers.statuses[0]?.status === 'connected')
    expect(servers.names).toContain('mcp__s__do')
  })

  test('of a server that never answers times out', async () => {
    const servers = await readyServers({ s: hostile('hang') }, { limits: { toolMs: 300 } })
    const output = await call(servers, 'mcp__s__do')
    expect([output.isError, textOf(output)]).toEqual([true, timedOut('s', 0.3)])
  })

  test('ends at once when the run is aborted, and the server is notified', async () => {
    const note = noteFile()
    const servers = await readyServers({ s: hostile('hang', note) })
    const abort = new AbortController()
    const calling = call(servers, 'mcp__s__do', {}, abort.signal)
    await until(() => notes(note).includes('call do'))
    abort.abort()
    await expect(calling).rejects.toThrow(/abort/i)
    await until(() => notes(note).includes('cancelled'))
  })

  test('with a result that is too large is cut, and one beyond every limit ends the connection', async () => {
    const servers = await readyServers(
      { large: hostile('large'), huge: hostile('too-large') },
      { limits: { outputTokens: 1_000 } },
    )
    const text = textOf(await call(servers, 'mcp__large__do'))
    expect(text.length).toBeLessThan(4_400)
    expect(text).toContain('496000 characters omitted here')
    const output = await call(servers, 'mcp__huge__do')
    expect([output.isError, textOf(output)]).toEqual([true, expect.stringContaining('too large')])
  })

  test.each([
    ['error', 'it did not work'],
    ['rpc-error', 'refused by the server'],
    ['nonsense', ''],
  ])('that fails as %s is an error for the model', async (mode, text) => {
    const servers = await readyServers({ s: hostile(mode) })
    const output = await call(servers, 'mcp__s__do')
    expect(output.isError).toBe(true)
    expect(textOf(output)).toContain(text)
  })
})

test('leaves nothing of a server, including its child processes and stubborn ones', async () => {
  const [child, deaf] = [noteFile(), noteFile()]
  const servers = serversOf(
    { child: hostile('child', child), deaf: hostile('deaf', deaf) },
    { limits: { waitMs: 1_500 } },
  )
  await until(() => notes(child).length === 2 && notes(deaf).length === 1)
  const pids = [...notes(child), ...notes(deaf)].map((line) => Number(line.split(' ')[1]))
  expect(pids.map(isAlive)).toEqual([true, true, true])
  await servers.dispose()
  expect(pids.map(isAlive)).toEqual([false, false, false])
})

test('a server that always ends is retried a number of times, and then has failed', async () => {
  const note = noteFile()
  const servers = await readyServers({ s: hostile('crash', note) })
  const starts = (): number => notes(note).filter((line) => line.startsWith('start')).length
  for (let n = 0; n < 3; n++) {
    await until(() => servers.statuses[0]?.status === 'connected' || servers.statuses[0]?.status === 'failed')
    if (servers.tool('mcp__s__do') !== undefined) await call(servers, 'mcp__s__do')
  }
  await until(() => servers.statuses[0]?.status === 'failed')
  expect(starts()).toBe(3)
  expect(servers.names).toEqual([])
})
