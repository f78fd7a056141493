// Holds R-GOAL-36b of docs/spec: a rule for files whose changes are detected in another way.
import type { PermissionRequest } from '@halting/core'
import { expect, test } from 'vitest'
import { createPermissions } from '../../src/permissions/permissions.ts'

const cwd = '/nowhere/project'
const watched = { rule: 'Edit(tests/**)', projectDirectory: cwd, isWatched: true } as const
const permissions = createPermissions({ cwd, mode: 'bypassPermissions', deny: [watched] })
// True: the rules read only these fields of a request.
const tool = { name: 'Bash' } as unknown as PermissionRequest['tool']
const decided = async (name: string, input: PermissionRequest['call']['input']): Promise<string> => {
  const request: PermissionRequest = { call: { type: 'tool_use', id: 'c', name, input }, tool, readOnly: false }
  if (permissions.denies(request) !== undefined) return 'deny'
  return (await permissions.decide(request)).behavior
}

test.each([
  'npm test',
  'node build.js',
  'node -e "process.exit()"',
  'cat list | xargs rm',
  'for f in $(ls); do x $f; done',
  'git status',
  'git add -A && git commit -m x',
  'cat tests/a.js',
  'rm -r build',
  'make',
])('%s runs, since its changes to protected files are detected', async (command) => {
  expect(await decided('Bash', { command })).toBe('allow')
})

test.each(['echo x > tests/a.js', 'rm -r tests', 'mv tests other', 'sed -i s/a/b/ tests/a.js', 'cp a tests/b'])(
  '%s is denied',
  async (command) => {
    expect(await decided('Bash', { command })).toBe('deny')
  },
)

test.each(['Edit', 'Write', 'NotebookEdit'])('%s is denied for protected files only', async (name) => {
  const path = name === 'NotebookEdit' ? 'notebook_path' : 'file_path'
  expect(await decided(name, { [path]: `${cwd}/tests/deep/a.js` })).toBe('deny')
  expect(await decided(name, { [path]: `${cwd}/src/a.js` })).toBe('allow')
})

test('any other deny rule for files applies to every command', async () => {
  const strict = createPermissions({ cwd, mode: 'bypassPermissions', deny: ['Edit(tests/**)'] })
  const call = { type: 'tool_use', id: 'c', name: 'Bash', input: { command: 'npm test' } } as const
  expect((await strict.decide({ call, tool, readOnly: false })).behavior).toBe('ask')
})
