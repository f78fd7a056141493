// Holds rules of docs/spec: R-MCP-13, R-MCP-15, R-MCP-15a: `halting mcp`.
import { readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createOutput } from '../src/io/output.ts'
import { mcp as command } from '../src/mcp/mcp.ts'
import { installProgram } from './support/program.ts'
import { commandOfServers, server } from './support/servers.ts'

installProgram()

const output = createOutput(process.stdout, process.stderr)
const { place, mcp, own } = commandOfServers()

test('adds a server as JSON, also with variables that are set later', async () => {
  const json = JSON.stringify({ type: 'http', url: '${BASE}/mcp', headers: { A: '${KEY}' } })
  expect((await mcp('add-json', 'web', json)).status).toBe(0)
  expect(own()).toMatchObject({ projects: { [place.project]: { mcpServers: { web: JSON.parse(json) as object } } } })
  const again = await mcp('add-json', 'web', json)
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('halting mcp remove --scope local web')])
})

test("passes -h after a server's command to that command", async () => {
  expect((await mcp('add', 'db', 'mcp-db', '-h', 'localhost', '--help')).status).toBe(0)
  const args = ['-h', 'localhost', '--help']
  expect(own()).toMatchObject({ projects: { [place.project]: { mcpServers: { db: { args } } } } })
  expect((await mcp('add', '--help')).stdout).toContain('halting mcp add [flags] NAME')
})

test('reports what is left out of a server', async () => {
  await mcp('add', 'odd', '--', process.execPath, server, 'odd')
  expect((await mcp('list')).stdout).toContain('connected, 3 tools (1 problem: see halting mcp get odd)')
  expect((await mcp('get', 'odd')).stdout).toContain('\n  its tool Odd is left out: it has no name\n')
  const { leftOut } = JSON.parse((await mcp('get', '--json', 'odd')).stdout) as { readonly leftOut: unknown }
  expect(leftOut).toEqual(['its tool Odd is left out: it has no name'])
})

test('writes project servers for everybody, and follows no link to user files', async () => {
  const [file, secret] = [join(place.project, '.mcp.json'), join(place.config, 'own.json')]
  writeFileSync(secret, '{"token":"k1"}')
  symlinkSync(secret, `${file}.part`)
  expect((await mcp('add', '--scope', 'project', 'a', 'cmd')).status).toBe(0)
  expect([statSync(file).mode & 0o777, readFileSync(secret, 'utf8')]).toEqual([
    0o666 & ~process.umask(),
    '{"token":"k1"}',
  ])
  rmSync(file)
  symlinkSync(secret, file)
  const linked = await mcp('add', '--scope', 'project', 'a', 'cmd')
  expect([linked.status, linked.stderr]).toEqual([
    2,
    expect.stringContaining('.mcp.json is a link and was not changed'),
  ])
  expect(readlinkSync(file)).toBe(secret)
})

test.each([
  [['add', 'a'], 'Usage: halting mcp add NAME COMMAND'],
  [['add', 'a b', 'cmd'], 'Server names consist of'],
  [['add', '--scop', 'user', 'a', 'cmd'], 'Did you mean --scope?'],
  [['add', '--scope', 'all', 'a', 'cmd'], '--scope takes local, project, user, not "all".'],
  [['add', '-e', 'sk-key', 'a', 'cmd'], '-e takes NAME=VALUE.'],
  [['add', 'a', 'https://x/mcp', 'more'], 'but no arguments and no --env'],
  [['add-json', 'a', '{'], 'The server is not valid JSON.'],
  [['add-json', 'a', '{"type":"ws"}'], 'Not a valid server: its type "ws" is not one of stdio, http, sse.'],
  [['remove', 'a'], 'No MCP server named a. halting mcp list shows the servers.'],
  [['get', 'a'], 'No MCP server named a. halting mcp list shows the servers.'],
  [['list', 'a'], 'use halting mcp get NAME.'],
  [['lits'], 'Use halting mcp list, get, add, add-json, remove, login or logout (see'],
])('refuses halting mcp %j', async (args, problem) => {
  const { stdin } = process
  const program = {
    argv: [],
    env: { HOME: place.project, HALTING_CONFIG_DIR: place.config },
    cwd: place.project,
    stdin,
    output,
    home: new URL('file:///'),
  }
  await expect(command(args, program)).rejects.toThrow(problem)
})
