// Holds rules of docs/spec: R-MCP-2, R-MCP-6, R-MCP-13: servers in runs of the program. More of them: mcp-runs.test.ts.
import { expect, test } from 'vitest'
import { serverEntries } from '@halting/agent/mcp'
import { flagOf } from '../src/flags/session-ports.ts'
import { call, installProgram } from './support/program.ts'
import { given, one, projectWithServers } from './support/servers.ts'

installProgram()
const { folder, runInProject } = projectWithServers()

test("calls a server's tool if a rule allows it, and denies it otherwise", async () => {
  const { status, init, results } = await runInProject(
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
  expect(results[0]?.content).toBe(`say said hello in ${folder()}`)
  expect(results[1]).toMatchObject({
    is_error: true,
    content: expect.stringContaining('The rule mcp__s__do would allow it'),
  })
  expect(results[2]).toMatchObject({ is_error: true, content: expect.stringContaining('Invalid input') })
})

test.each([
  ['{}', 'has no mcpServers'],
  ['{"mcpServers": {"a": 1}}', 'has a server that is not an object: a'],
  ['{"mcpServers"', 'is not valid JSON'],
  ['gone.json', 'cannot be read'],
])('refuses --mcp-config %s', async (text, problem) => {
  await expect(
    serverEntries({ mcpConfig: [text] }, {}, { env: {}, cwd: folder(), nameOf: flagOf }, {}),
  ).rejects.toThrow(problem)
})
