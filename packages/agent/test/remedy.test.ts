// Holds R-RULE-9, R-RULE-9a and R-LEARN-6c of docs/spec.
import { createCodingTools } from '@halting/agent'
import { createPermissions, type PermissionOptions, type Remedy } from '@halting/policy'
import type { PermissionRequest } from '@halting/core'
import { expect, test } from 'vitest'
import { temporaryFolder, toolNamed } from './support/harness.ts'

/** The suggested remedy, and the decision about the call with it. */
function remedy(
  name: string,
  input: object,
  options: Partial<PermissionOptions> = {},
): { readonly suggested: Remedy | undefined; readonly behavior: string } {
  const cwd = temporaryFolder()
  const permissions = createPermissions({ cwd, whenAsked: 'deny', ...options })
  const tool = toolNamed(createCodingTools({ cwd }), name)
  const request: PermissionRequest = { call: { type: 'tool_use', id: 'call_1', name, input }, tool, readOnly: false }
  const suggested = permissions.remedyFor(request)
  const cured = createPermissions({ cwd, whenAsked: 'deny', ...options, ...suggested, allow: suggested?.rules ?? [] })
  const decision = cured.decide(request)
  return { suggested, behavior: 'behavior' in decision ? decision.behavior : 'a promise' }
}

test.each([
  ['Write', { file_path: 'a.txt', content: '' }, { rules: ['Edit(/a.txt)'] }],
  ['Write', { file_path: 'a [1]*.txt', content: '' }, { rules: [String.raw`Edit(/a \[1]\*.txt)`] }],
  ['Write', { file_path: 'a\\b.txt', content: '' }, { rules: [String.raw`Edit(/a\\b.txt)`] }],
  ['Grep', { pattern: 'a', path: '/opt' }, { rules: ['Read(//opt)'] }],
  ['Bash', { command: 'npm test' }, { rules: ['Bash(npm test)'] }],
  ['Bash', { command: 'npm test && git push > log' }, { rules: ['Bash(npm test)', 'Bash(git push)', 'Edit(/log)'] }],
  ['Bash', { command: 'eval "$x"' }, { rules: ['Bash'] }],
] as const)('%s %j is allowed by the suggested rule', (name, input, expected) => {
  expect(remedy(name, input)).toEqual({ suggested: expected, behavior: expected === undefined ? 'deny' : 'allow' })
})

test('the rule suggested for a file in the root allows only that file', () => {
  const cwd = temporaryFolder()
  const tool = toolNamed(createCodingTools({ cwd }), 'Write')
  const permissions = createPermissions({ cwd, allow: ['Edit(/a.txt)'] })
  const behaviorFor = (path: string): unknown =>
    permissions.decide({
      call: { type: 'tool_use', id: 'call_1', name: 'Write', input: { file_path: path, content: '' } },
      tool,
      readOnly: false,
    })
  expect(behaviorFor('a.txt')).toMatchObject({ behavior: 'allow' })
  expect(behaviorFor('src/a.txt')).toMatchObject({ behavior: 'ask' })
})

test.each(['*', '**', 'a*', '?', '[a-z].txt', 'src/*', 'src/**', '/opt/*', '/**', '~/*'])(
  'the rule suggested for a file named %s is about no other file',
  (name) => {
    const cwd = temporaryFolder()
    const permissions = createPermissions({ cwd })
    const requestFor = (tool: string, path: string): PermissionRequest => ({
      call: { type: 'tool_use', id: 'call_1', name: tool, input: { file_path: path, content: '' } },
      tool: toolNamed(createCodingTools({ cwd }), tool),
      readOnly: tool === 'Read',
    })
    const rules = ['Write', 'Read'].flatMap((tool) => permissions.remedyFor(requestFor(tool, name))?.rules ?? [])
    expect(rules).not.toEqual([])
    const allowed = createPermissions({ cwd, allow: rules })
    expect(allowed.decide(requestFor('Write', name))).toMatchObject({ behavior: 'allow' })
    for (const other of ['a', 'ab', 'a.txt', 'src/a', 'src/a/b', '/opt/a', '/a', '/etc/passwd', '~/a'])
      expect(allowed.decide(requestFor('Write', other))).toMatchObject({ behavior: 'ask' })
    expect(allowed.decide(requestFor('Read', '/etc/passwd'))).toMatchObject({ behavior: 'ask' })
  },
)

test.each([
  ['Write', { file_path: '/', content: '' }],
  ['Write', { file_path: '/opt', content: '' }],
  ['Edit', { file_path: '~', old_string: 'a', new_string: 'b' }],
  ['Grep', { pattern: 'key', path: '/' }],
  ['Glob', { pattern: '**/id_*', path: '~' }],
  ['Read', { file_path: '~/..' }],
  ['WebFetch', { url: 'https://*/', prompt: 'what' }],
  ['WebFetch', { url: 'https://*.example.com/', prompt: 'what' }],
  ['Bash', { command: 'npm run x:*' }],
  ['Bash', { command: 'echo a > /opt' }],
  ['Bash', { command: 'wc -l < /opt' }],
])('%s %j suggests no rule: it would not allow the call, or much more than that', (name, input) => {
  const cwd = temporaryFolder()
  const tool = toolNamed(createCodingTools({ cwd }), name)
  const request: PermissionRequest = { call: { type: 'tool_use', id: 'call_1', name, input }, tool, readOnly: false }
  expect(createPermissions({ cwd }).decide(request)).toEqual({
    behavior: 'ask',
    message: expect.not.stringContaining('would allow it') as string,
  })
})

test('plan mode is left for the default mode, with the rules that this needs', () => {
  expect(remedy('Bash', { command: 'npm test' }, { mode: 'plan' })).toEqual({
    suggested: { rules: ['Bash(npm test)'], mode: 'default' },
    behavior: 'allow',
  })
})

test('suggests nothing if a deny or an ask rule applies', () => {
  const write = { file_path: 'a.txt', content: '' }
  expect(remedy('Write', write, { deny: ['Edit(./a.txt)'] }).suggested).toBeUndefined()
  expect(remedy('Write', write, { ask: ['Edit'] }).suggested).toBeUndefined()
})

// R-ASK-7
test.each([
  ['Write', { file_path: 'a.txt', content: '' }, {}, { type: 'mode', blockedPath: 'a.txt' }],
  ['Write', { file_path: '/etc/a.txt', content: '' }, {}, { type: 'workingDir', blockedPath: '/etc/a.txt' }],
  ['Write', { file_path: 'a.txt', content: '' }, { ask: ['Edit'] }, { type: 'rule' }],
  ['Bash', { command: 'npm test' }, {}, { type: 'other' }],
  ['Bash', { command: 'npm test' }, { ask: ['Bash(npm *)'] }, { type: 'rule' }],
  ['Bash', { command: 'x=$(cat l); $x b' }, { deny: ['Bash(rm *)'] }, { type: 'safetyCheck' }],
] as const)('%s %j with %j: asks about what matters', (name, input, options, expected) => {
  const cwd = temporaryFolder()
  const permissions = createPermissions({ cwd, ...options })
  const tool = toolNamed(createCodingTools({ cwd }), name)
  const request: PermissionRequest = { call: { type: 'tool_use', id: 'call_1', name, input }, tool, readOnly: false }
  expect(permissions.decide(request)).toMatchObject({ behavior: 'ask' })
  const cause = permissions.cause?.(request)
  const { blockedPath } = cause ?? {}
  expect({ ...cause, ...(blockedPath !== undefined && { blockedPath: blockedPath.replace(`${cwd}/`, '') }) }).toEqual(
    expected,
  )
  expect(permissions.cause?.({ ...request, hookDecision: 'ask' })).toEqual({
    type: expected.type === 'rule' ? 'rule' : 'hook',
  })
})
