// Spec R-RULE-1c: without a sandbox, in bypassPermissions, commands ask if deny rules for files cannot be checked for them.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import type { PermissionRequest } from '@halting/core'
import { afterAll, expect, test } from 'vitest'
import { filesUnknown, filesUnknownHere, notAllowed } from '../../src/permissions/permission-texts.ts'

const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'unjudged-')))
afterAll(() => rmSync(cwd, { recursive: true, force: true }))

const deny = ['Read(.env)']
const permissionsOf = (options: Partial<PermissionOptions>) =>
  createPermissions({ cwd, mode: 'bypassPermissions', deny, whenAsked: 'deny', ...options })

function requestOf(command: string, more: Partial<PermissionRequest> = {}): PermissionRequest {
  return {
    call: { type: 'tool_use', id: 'c', name: 'Bash', input: { command } },
    tool: { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' },
    readOnly: false,
    ...more,
  }
}

const sandboxed = { holds: () => true }

test.each<readonly [string, Partial<PermissionOptions>, 'allow' | 'deny']>([
  ['make', {}, 'deny'],
  ['node x.js', {}, 'deny'],
  ['npm test', {}, 'deny'],
  ['git commit -m x', {}, 'deny'],
  ['LD_PRELOAD=./x.so ls', {}, 'deny'],
  ['PATH=.:$PATH; ls', {}, 'deny'],
  ['ls && make', {}, 'deny'],
  ['timeout 5 make', {}, 'deny'],
  ['find . -name x | xargs make', {}, 'deny'],
  // Commands that can be analyzed run.
  ['ls -l', {}, 'allow'],
  ['cat README.md > copy && rm -f copy', {}, 'allow'],
  ['mkdir -p a/b && touch a/b/c && mv a/b/c a/d', {}, 'allow'],
  ['echo hi; true', {}, 'allow'],
  // A rule vouches for its part, and for no other.
  ['make', { allow: ['Bash(make:*)'] }, 'allow'],
  ['timeout 5 make all', { allow: ['Bash(make:*)'] }, 'allow'],
  ['make && npm test', { allow: ['Bash(make:*)'] }, 'deny'],
  ['make && npm test', { allow: ['Bash'] }, 'allow'],
  // Without a deny rule for files, with a deny rule for commands only, and in a sandbox the mode is unaffected.
  ['make', { deny: [] }, 'allow'],
  ['make', { deny: ['Bash(rm:*)'] }, 'allow'],
  ['make', { deny: ['Edit(src/**)'] }, 'deny'],
  ['make', { sandbox: sandboxed }, 'allow'],
])('%s with %j: %s', async (command, options, behavior) => {
  expect((await permissionsOf(options).decide(requestOf(command))).behavior).toBe(behavior)
})

test('the denial names the part, the rule that would allow it, and the sandbox', async () => {
  const permissions = permissionsOf({})
  const request = requestOf('ls && npm run build > out.txt && make')
  expect(await permissions.decide(request)).toEqual({
    behavior: 'deny',
    message: notAllowed(
      `${filesUnknown('npm run build', 'it runs a program')} The rules Bash(npm run build), Bash(make) would allow it.`,
    ),
  })
  expect(permissions.remedyFor(request)).toEqual({ rules: ['Bash(npm run build)', 'Bash(make)'] })
  const allowing = permissionsOf({ allow: ['Bash(npm run build)', 'Bash(make)'] })
  expect(await allowing.decide(request)).toEqual({ behavior: 'allow' })
})

test('explain shows the decision part by part', () => {
  const { behavior, parts } = permissionsOf({}).explain('ls && make')
  expect([behavior, parts]).toEqual([
    'ask',
    [
      { part: 'ls', behavior: 'allow', because: 'the mode bypassPermissions' },
      {
        part: 'make',
        behavior: 'ask',
        because: filesUnknownHere('it runs a program'),
        wouldAllow: 'Bash(make)',
      },
    ],
  ])
})

test('an opaque command runs without a question if a hook allows it', async () => {
  expect(await permissionsOf({}).decide(requestOf('make', { hookDecision: 'allow' }))).toEqual({ behavior: 'allow' })
})
