// Holds rules of docs/spec: R-MCP-8a.
import { expect, test } from 'vitest'
import { createPermissions } from '../../src/index.ts'

function decided(options: {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly ask?: readonly string[]
}) {
  const permissions = createPermissions({ cwd: '/work', env: {}, ...options })
  const request = {
    call: { type: 'tool_use', id: '1', name: 'ReadMcpResource', input: { server: 'my db', uri: 'x://y' } },
    tool: { name: 'ReadMcpResource', description: '', inputSchema: {}, readOnly: true, execute: () => '' },
    readOnly: true,
  } as const
  return {
    behavior: decisionOf(permissions.decide(request)),
    denied: permissions.denies(request),
    remedy: permissions.remedyFor(request),
  }
}

/** These rules answer synchronously. */
function decisionOf(decision: unknown): unknown {
  return (decision as { readonly behavior?: unknown }).behavior
}

test('reading a resource queries its server, so rules for the server apply', () => {
  expect(decided({})).toEqual({
    behavior: 'ask',
    denied: undefined,
    remedy: { rules: ['mcp__my_db__ReadMcpResource'] },
  })
  expect(decided({ allow: ['mcp__my_db'] }).behavior).toBe('allow')
  expect(decided({ allow: ['mcp__my_db__ReadMcpResource'] }).behavior).toBe('allow')
  expect(decided({ allow: ['ReadMcpResource'] }).behavior).toBe('allow')
  expect(decided({ allow: ['mcp__other'] }).behavior).toBe('ask')
  expect(decided({ allow: ['ReadMcpResource'], deny: ['mcp__my_db'] })).toMatchObject({
    behavior: 'deny',
    denied: expect.stringMatching(/^Denied by the rule mcp__my_db\. .* Continue without this call/),
  })
  expect(decided({ allow: ['mcp__my_db'], ask: ['ReadMcpResource'] }).behavior).toBe('ask')
  expect(decided({ allow: ['ReadMcpResource'], ask: ['mcp__my_db'] }).behavior).toBe('ask')
})
