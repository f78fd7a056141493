import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPermissions, type PermissionOptions, type RulePermissions } from '../../src/permissions/permissions.ts'
import type { WallPort } from '../../src/permissions/rule-book.ts'
import type { EditMeans } from '../../src/sandbox/edit-means.ts'
import { bashCall } from '../judge/support.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const bubblewrap: EditMeans = { kind: 'bubblewrap', file: '/usr/bin/bwrap', canDisableUserNamespaces: true }

/** A machine on which both kinds of confinement work. */
export function wallWith(edits: EditMeans = bubblewrap): WallPort {
  return {
    means: () => ({ kind: 'landlock', perl: '/usr/bin/perl', version: 7 }),
    edits: () => edits,
    reads: (path) => /^\/(?:usr|bin|etc\/hosts)(?:\/|$)/.test(path),
  }
}

/** A folder with a repository of one commit, in its own home folder. */
export function project(): string {
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  for (const folder of ['src', '.github/workflows', 'node_modules/.bin'])
    mkdirSync(join(cwd, folder), { recursive: true })
  for (const file of ['a.ts', 'b.ts', 'src/c.ts', '.github/workflows/ci.yml', 'node_modules/.bin/eslint'])
    writeFileSync(join(cwd, file), '')
  const git = (...words: readonly string[]): void => {
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...words], { cwd, stdio: 'ignore' })
  }
  git('init', '--initial-branch=main')
  git('commit', '--allow-empty', '-m', 'first')
  return cwd
}

export function open(cwd: string, options: Partial<PermissionOptions> = {}): RulePermissions {
  return createPermissions({ cwd, wall: wallWith(), mode: 'acceptEdits', ...options })
}

/** The outcome of a line: that it asks, with the reason, or its confinement. `git` means that its git folder is writable. */
export function outcome(
  permissions: RulePermissions,
  command: string,
  more: Readonly<Record<string, boolean>> = {},
): string {
  const request = bashCall(command)
  const { call } = request
  const decision = permissions.decide({ ...request, call: { ...call, input: { command, ...more } } })
  if (decision instanceof Promise) throw new Error('rules decide at once')
  if (decision.behavior !== 'allow') return decision.behavior
  const confinement = permissions.confinementOf({ callId: call.id, command })
  if (confinement === undefined) return 'as it is'
  return confinement.kind === 'edit' && confinement.writesGit ? 'edit, git' : confinement.kind
}
