// Holds rules of docs/spec: R-MCP-2, R-MCP-4, R-MCP-7, R-MCP-11. With the servers that the protocol's own people keep.
import { spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { call, readyServers, textOf } from './support.ts'

const require = createRequire(import.meta.url)
const script = (name: string): string =>
  join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js')
const stdio = (name: string, ...args: string[]): McpServerConfig => ({
  type: 'stdio',
  command: process.execPath,
  args: [script(name), ...args],
  env: {},
})

let folder = ''
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-mcp-')))
  writeFileSync(join(folder, 'a.txt'), 'the text of a')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('server-everything, by stdio', async () => {
  const servers = await readyServers({ everything: stdio('server-everything', 'stdio') })
  expect(servers.statuses).toMatchObject([{ name: 'everything', status: 'connected' }])
  expect(textOf(await call(servers, 'mcp__everything__echo', { message: 'hello' }))).toBe('Echo: hello')
  expect(textOf(await call(servers, 'mcp__everything__get-sum', { a: 2, b: 3 }))).toContain('5')
  expect(textOf(await call(servers, 'mcp__everything__get-tiny-image'))).toContain('<image>')
  const { progress } = await call(servers, 'mcp__everything__trigger-long-running-operation', { duration: 1, steps: 2 })
  expect(progress[0]).toMatchObject({ progress: 1, total: 2 })
  expect(textOf(await call(servers, 'ListMcpResources'))).toContain('everything: ')
  expect(servers.prompts.length).toBeGreaterThan(2)
  expect(
    textOf({ content: (await servers.prompt('/mcp__everything__simple-prompt', new AbortController().signal)) ?? '' }),
  ).not.toBe('')
})

test('server-filesystem, by stdio', async () => {
  const servers = await readyServers({ files: stdio('server-filesystem', folder) }, { cwd: folder })
  expect(textOf(await call(servers, 'mcp__files__read_text_file', { path: join(folder, 'a.txt') }))).toContain(
    'the text of a',
  )
  expect(servers.tool('mcp__files__read_text_file')?.readOnly).toBe(true)
  expect(servers.tool('mcp__files__write_file')?.readOnly).toBe(false)
  expect(await call(servers, 'mcp__files__read_text_file', { path: '/etc/hostname' })).toMatchObject({ isError: true })
})

test('server-everything, by streamable HTTP', async () => {
  const port = await freePort()
  const child = spawn(process.execPath, [script('server-everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    await new Promise<void>((resolve) =>
      child.stderr.on('data', (data) => String(data).includes('listening') && resolve()),
    )
    const servers = await readyServers({
      web: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: { 'x-test': '1' } },
    })
    expect(servers.statuses).toMatchObject([{ status: 'connected' }])
    expect(textOf(await call(servers, 'mcp__web__echo', { message: 'over HTTP' }))).toBe('Echo: over HTTP')
    await servers.dispose()
  } finally {
    child.kill('SIGKILL')
  }
})

test('reports an address without a server, and one that requires authentication', async () => {
  const { createServer: createWebServer } = await import('node:http')
  const web = createWebServer((_request, response) => void response.writeHead(401).end())
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const { port } = web.address() as AddressInfo
  const nobody = await freePort()
  try {
    const servers = await readyServers({
      nobody: { type: 'http', url: `http://127.0.0.1:${nobody}/mcp`, headers: {} },
      locked: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} },
    })
    expect(servers.statuses.map(({ status }) => status)).toEqual(['failed', 'needs-auth'])
  } finally {
    web.close()
  }
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
