// Holds R-RULE-9 of docs/spec.md.
import { createCodingTools, createPermissions, type PermissionOptions, type Remedy } from '@halting/agent'
import type { PermissionRequest } from '@halting/core'
import { expect, test } from 'vitest'
import { temporaryFolder, toolNamed } from './support/harness.ts'

function remedy(name: string, input: object, options: Partial<PermissionOptions> = {}): Remedy | undefined {
  const cwd = temporaryFolder()
  const permissions = createPermissions({ cwd, whenAsked: 'deny', ...options })
  const tool = toolNamed(createCodingTools({ cwd }), name)
  const request: PermissionRequest = { call: { type: 'tool_use', id: 'call_1', name, input }, tool, readOnly: false }
  const found = permissions.remedyFor(request)
  if (found !== undefined) {
    // What is told is enough.
    const cured = createPermissions({ cwd, whenAsked: 'deny', ...options, ...found, allow: found.rules })
    expect(cured.decide(request)).toEqual({ behavior: 'allow' })
  }
  return found
}

test.each([
  ['Write', { file_path: 'a.txt', content: '' }, { rules: ['Edit(/a.txt)'] }],
  ['Write', { file_path: 'a [1]*.txt', content: '' }, undefined],
  ['Bash', { command: 'npm test' }, { rules: ['Bash(npm test)'] }],
  ['Bash', { command: 'npm test && git push > log' }, { rules: ['Bash(npm test)', 'Bash(git push)', 'Edit(/log)'] }],
  ['Bash', { command: 'eval "$x"' }, { rules: ['Bash'] }],
] as const)('%s %j is allowed by what is told', (name, input, expected) => {
  expect(remedy(name, input)).toEqual(expected)
})

test('plan mode is left for the default mode, with the rules that this needs', () => {
  expect(remedy('Bash', { command: 'npm test' }, { mode: 'plan' })).toEqual({
    rules: ['Bash(npm test)'],
    mode: 'default',
  })
})

test('nothing is told where a deny or an ask rule stands against it', () => {
  const write = { file_path: 'a.txt', content: '' }
  expect(remedy('Write', write, { deny: ['Edit(./a.txt)'] })).toBeUndefined()
  expect(remedy('Write', write, { ask: ['Edit'] })).toBeUndefined()
})
