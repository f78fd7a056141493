// What needs approval if a sandbox confines commands (spec R-BOX-2, R-BOX-7, R-BOX-8).
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import type { PermissionRequest } from '@halting/core'
import { expect, test } from 'vitest'

const holds = (command: string): boolean => !command.startsWith('docker')

const outside = { holds: (_command: string): boolean => false }

async function behaviorOf(command: string, options: Partial<PermissionOptions> = {}): Promise<string> {
  const permissions = createPermissions({ cwd: '/project', sandbox: { holds }, ...options })
  const call = { type: 'tool_use', id: 'c', name: 'Bash', input: { command } } as const
  // True: the rules read only these fields of a request.
  const request = { call, tool: { name: 'Bash' }, readOnly: false } as unknown as PermissionRequest
  return (await permissions.decide(request)).behavior
}

test.each([
  ['npm install', {}, 'allow'],
  ['python3 build.py && ./configure', {}, 'allow'],
  ['docker run x', {}, 'ask'],
  ['npm install', { sandbox: outside }, 'ask'],
  ['npm install', { ask: ['Bash(npm:*)'] }, 'ask'],
  ['npm install', { deny: ['Bash(npm:*)'] }, 'deny'],
  ['npm install', { mode: 'plan' }, 'deny'],
  // Deny rules for commands cannot be checked here; the kernel enforces those for files.
  ['eval "$x"', { deny: ['Bash(rm:*)'] }, 'ask'],
  ['eval "$x"', { deny: ['Read(.env)'] }, 'allow'],
  ['eval "$x"', { deny: ['Read(.env)'], mode: 'bypassPermissions' }, 'allow'],
  ['eval "$x"', { deny: ['Read(.env)'], mode: 'bypassPermissions', sandbox: outside }, 'ask'],
] as const)('%s with %j: %s', async (command, options, expected) => {
  expect(await behaviorOf(command, options)).toBe(expected)
})
