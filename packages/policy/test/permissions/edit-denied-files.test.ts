// Holds R-EASK-4a of docs/spec.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { bashCall } from '../judge/support.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const edits = () => ({ kind: 'bubblewrap', file: '/usr/bin/bwrap', canDisableUserNamespaces: true }) as const
const means = () => ({ kind: 'landlock', perl: '/usr/bin/perl', version: 6 }) as const

function kindOf(command: string, deny: readonly string[]): string {
  const cwd = temporaryFolder()
  execFileSync('git', ['init', '-q'], { cwd })
  mkdirSync(join(cwd, 'secret'))
  for (const name of ['.env', 'secret/key', 'a.ts']) writeFileSync(join(cwd, name), 'x')
  const permissions = createPermissions({
    cwd,
    mode: 'acceptEdits',
    deny,
    wall: { means, edits, reads: () => false },
  })
  const decision = permissions.decide(bashCall(command))
  if (decision instanceof Promise) throw new Error('rules decide at once')
  const kind = permissions.confinementOf({ callId: 'call_1', command })?.kind
  return decision.behavior === 'allow' ? (kind ?? 'unconfined') : decision.behavior
}

test.each([
  ['find . -name .env -exec cat {} \\;', 'edit', 'read'],
  ['cat a.ts', 'read', 'read'],
  ['grep -r x .', 'edit', 'read'],
  ['make', 'edit', 'edit'],
  ['git log -p', 'ask', 'read'],
  ['git show HEAD:.env', 'deny', 'read'],
  ['git diff HEAD~1 -- src; make', 'ask', 'edit'],
  ['git archive HEAD', 'ask', 'edit'],
  ['git status', 'read', 'read'],
])('%s runs confined without access to denied files, or asks', (command, withRules, without) => {
  expect([kindOf(command, ['Read(.env)', 'Read(secret/**)']), kindOf(command, [])]).toEqual([withRules, without])
})
