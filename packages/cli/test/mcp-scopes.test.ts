// Holds rules of docs/spec: R-MCP-13, R-MCP-15: `halting mcp` in each scope, with servers that are connected to. Refusals: mcp-command.test.ts.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installProgram } from './support/program.ts'
import { commandOfServers, server } from './support/servers.ts'

installProgram()

const { place, mcp, own } = commandOfServers()

test('adds servers to each scope, shows them without keys, and removes them', async () => {
  const added = await mcp('add', '-e', 'KEY=sk-secret', 'mine', '--', process.execPath, server, 'good', '-e')
  expect([added.status, added.stdout]).toEqual([0, `Added mine to ${join(place.config, 'mcp.json')}\n`])
  await mcp(
    'add',
    '--scope',
    'user',
    '--transport',
    'http',
    'web',
    'http://127.0.0.1:9/mcp',
    '--header',
    'Authorization: Bearer sk-secret',
  )
  const shared = await mcp('add', '-s', 'project', 'shared', process.execPath, server, 'good')
  expect(shared.stderr).toContain('halting trust')
  expect(own()).toEqual({
    projects: {
      [place.project]: {
        mcpServers: {
          mine: { type: 'stdio', command: process.execPath, args: [server, 'good', '-e'], env: { KEY: 'sk-secret' } },
        },
      },
    },
    mcpServers: {
      web: { type: 'http', url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer sk-secret' } },
    },
  })
  expect(statSync(join(place.config, 'mcp.json')).mode & 0o077).toBe(0)
  expect(JSON.parse(readFileSync(join(place.project, '.mcp.json'), 'utf8'))).toEqual({
    mcpServers: { shared: { type: 'stdio', command: process.execPath, args: [server, 'good'], env: {} } },
  })

  const listed = await mcp('list')
  expect(listed.stdout).toContain(`mine: ${process.execPath} ${server} good -e  connected, 2 tools`)
  expect(listed.stdout).toMatch(/web: http:\/\/127\.0\.0\.1:9\/mcp {2}failed \(.+\)/)
  expect(listed.stdout).not.toContain('shared')
  expect(listed.stderr).toContain('Ignored until you trust ')
  const one = await mcp('get', 'mine', '--json')
  expect(one.status).toBe(0)
  expect(JSON.parse(one.stdout)).toMatchObject({
    name: 'mine',
    status: 'connected',
    tools: 2,
    server: { env: { KEY: '(set)' } },
  })
  expect(one.stdout + listed.stdout).not.toContain('sk-secret')
  const waiting = await mcp('get', 'shared')
  expect([waiting.status, waiting.stderr]).toEqual([
    2,
    expect.stringContaining('it is ignored: the folder is not trusted'),
  ])

  expect((await mcp('remove', 'mine')).stdout).toBe(`Removed mine from ${join(place.config, 'mcp.json')}\n`)
  expect((await mcp('remove', 'mine')).status).toBe(2)
  expect(own()).toMatchObject({ projects: { [place.project]: { mcpServers: {} } }, mcpServers: { web: {} } })
})
