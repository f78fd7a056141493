// Holds rules of docs/spec: R-MCP-4a, R-MCP-6a.
import { expect, test } from 'vitest'
import { createPermissions } from '../../src/index.ts'
import { mcpToolName } from '@halting/policy'

function isDenied(rule: string, name: string): boolean {
  const permissions = createPermissions({ cwd: '/work', env: {}, deny: [rule] })
  const denied = permissions.denies({
    call: { type: 'tool_use', id: '1', name, input: {} },
    tool: { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' },
    readOnly: false,
  })
  expect(permissions.toolsHiddenByDeny([name])).toEqual(denied === undefined ? [] : [name])
  return denied !== undefined
}

const long = 'a-server-with-a-name-of-more-than-32-characters'

test.each([
  ['mcp__my__server', 'mcp__my_server__drop'],
  ['mcp__my__server__drop', 'mcp__my_server__drop'],
  ['mcp__my__server__*', 'mcp__my_server__drop'],
  ['mcp__my__server__dr*', 'mcp__my_server__drop'],
  ['mcp__my.server', 'mcp__my_server__drop'],
  ['mcp___server_', 'mcp__server__drop'],
  ['mcp__db__drop.table', 'mcp__db__drop_table'],
  [`mcp__${long}`, mcpToolName(long, 'drop')],
  [`mcp__${long}__drop`, mcpToolName(long, 'drop')],
])('a deny rule %s applies to the tool %s of the server that it names', (rule, name) => {
  expect(isDenied(rule, name)).toBe(true)
})

test.each([
  ['mcp__my', 'mcp__my_server__drop'],
  ['mcp__my__drop', 'mcp__my__dropped'],
  ['mcp__my_server__*', 'mcp__my__server'],
  ['mcp____', 'mcp__my_server__drop'],
])('a deny rule %s does not apply to the tool %s', (rule, name) => {
  expect(isDenied(rule, name)).toBe(false)
})

test('an allow rule matches the exact name', () => {
  const permissions = createPermissions({ cwd: '/work', env: {}, allow: ['mcp__my__server'] })
  const decided = (name: string): unknown =>
    permissions.decide({
      call: { type: 'tool_use', id: '1', name, input: {} },
      tool: { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' },
      readOnly: false,
    })
  expect(decided('mcp__my__server')).toEqual({ behavior: 'allow' })
  expect(decided('mcp__my_server__drop')).toMatchObject({ behavior: 'ask' })
})

test("in plan mode a server's readOnlyHint can restrict but not allow (spec R-MCP-6a)", () => {
  const decided = (mode: 'default' | 'plan', allow: readonly string[], readOnly: boolean): unknown =>
    createPermissions({ cwd: '/work', env: {}, mode, allow, whenAsked: 'ask' }).decide({
      call: { type: 'tool_use', id: '1', name: 'mcp__s__t', input: {} },
      tool: { name: 'mcp__s__t', description: '', inputSchema: {}, readOnly, execute: () => '' },
      readOnly,
    })
  expect(decided('plan', ['mcp__s'], true)).toEqual({ behavior: 'allow' })
  expect(decided('plan', ['mcp__s'], false)).toMatchObject({ behavior: 'deny' })
  // What runs in plan mode would run without asking in any other.
  expect(decided('default', ['mcp__s'], true)).toEqual({ behavior: 'allow' })
  for (const mode of ['default', 'plan'] as const) expect(decided(mode, [], true)).not.toEqual({ behavior: 'allow' })
})
