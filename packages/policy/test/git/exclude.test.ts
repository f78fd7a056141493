// Holds R-LEARN-1a of docs/spec: personal rules are not a change of the project.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { changeTrust } from '../../src/trust/trust-store.ts'
import { realPath } from '@halting/journal/files'
import { settingsWriter } from '../../src/settings/store-permissions.ts'
import { expect, onTestFinished, test } from 'vitest'

const rule = {
  type: 'addRules',
  behavior: 'allow',
  rules: [{ toolName: 'Bash', ruleContent: 'npm test' }],
} as const

/** A temporary folder is never trusted, so these folders are elsewhere. */
function place(): { readonly root: string; readonly home: string } {
  const base = join(homedir(), '.cache/halting-tests')
  mkdirSync(base, { recursive: true })
  const root = realPath(mkdtempSync(join(base, 'exclude-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const home = join(root, 'home')
  mkdirSync(home)
  return { root, home }
}

function git(cwd: string, ...args: readonly string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'protocol.file.allow=always']
  return execFileSync('git', [...author, ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function repository(path: string): string {
  mkdirSync(path, { recursive: true })
  git(path, 'init', '-q')
  writeFileSync(join(path, 'a.txt'), 'a\n')
  git(path, 'add', '.')
  git(path, 'commit', '-qm', 'a')
  return path
}

/** As for a person who answers "for this project, for me". */
async function storeRuleIn(cwd: string, home: string): Promise<void> {
  const owner = { cwd, home, env: {} }
  await changeTrust(
    owner,
    (records) => void records.set(realPath(cwd), { trusted: true, since: '2026-01-01T00:00:00.000Z', offers: [] }),
  )
  await settingsWriter(owner)([{ ...rule, destination: 'localSettings' }])
  expect(
    existsSync(join(cwd, '.halting/settings.local.json')) || existsSync(join(cwd, '.claude/settings.local.json')),
  ).toBe(true)
}

const line = '**/.halting/settings.local.json'

test('a personal file does not appear in git status, and no tracked file changes', async () => {
  const { root, home } = place()
  const cwd = repository(join(root, 'project'))
  const exclude = join(cwd, '.git/info/exclude')
  writeFileSync(exclude, '# mine\n*.swp')
  chmodSync(exclude, 0o640)
  await storeRuleIn(cwd, home)
  await storeRuleIn(cwd, home)
  expect([git(cwd, 'status', '--porcelain'), readFileSync(exclude, 'utf8')]).toEqual(['', `# mine\n*.swp\n${line}\n`])
  expect(statSync(exclude).mode & 0o777).toBe(0o640)
})

test.each([
  ['a folder of the project', (at: string) => join(repository(at), 'packages/one')],
  [
    'a work tree',
    (at: string) => {
      git(repository(join(at, 'main')), 'worktree', 'add', '-q', '../tree')
      return join(at, 'tree')
    },
  ],
  [
    'a submodule',
    (at: string) => {
      const inner = repository(join(at, 'inner'))
      const outer = repository(join(at, 'outer'))
      git(outer, 'submodule', 'add', '-q', inner, 'part')
      git(outer, 'commit', '-qm', 'part')
      return join(outer, 'part')
    },
  ],
  [
    'one without info/',
    (at: string) => {
      const cwd = repository(at)
      rmSync(join(cwd, '.git/info'), { recursive: true, force: true })
      return cwd
    },
  ],
])('no tracked file changes, and git status shows nothing, in %s', async (_what, made) => {
  const { root, home } = place()
  const cwd = made(join(root, 'project'))
  mkdirSync(cwd, { recursive: true })
  await storeRuleIn(cwd, home)
  expect(git(cwd, 'status', '--porcelain')).toBe('')
})

test('a personal file of another program does not appear in git status either', async () => {
  const { root, home } = place()
  const cwd = repository(join(root, 'project'))
  mkdirSync(join(cwd, '.claude'))
  writeFileSync(join(cwd, '.claude/settings.local.json'), '{}')
  await storeRuleIn(cwd, home)
  expect(git(cwd, 'status', '--porcelain')).toBe('')
})

test('a shared file remains visible as a change', async () => {
  const { root, home } = place()
  const cwd = repository(join(root, 'project'))
  const owner = { cwd, home, env: {} }
  await changeTrust(
    owner,
    (records) => void records.set(realPath(cwd), { trusted: true, since: '2026-01-01T00:00:00.000Z', offers: [] }),
  )
  await settingsWriter(owner)([{ ...rule, destination: 'projectSettings' }])
  expect(git(cwd, 'status', '--porcelain')).toBe('?? .halting/\n')
})

test('no other file is written: neither through a link, nor in a repository that a folder only names', async () => {
  const { root, home } = place()
  const linked = repository(join(root, 'linked'))
  const elsewhere = join(root, 'elsewhere')
  writeFileSync(elsewhere, 'theirs\n')
  rmSync(join(linked, '.git/info'), { recursive: true, force: true })
  mkdirSync(join(linked, '.git/info'))
  symlinkSync(elsewhere, join(linked, '.git/info/exclude'))
  await storeRuleIn(linked, home)
  const other = repository(join(root, 'other'))
  rmSync(join(other, '.git/info'), { recursive: true, force: true })
  const naming = join(root, 'naming')
  mkdirSync(naming)
  writeFileSync(join(naming, '.git'), `gitdir: ${join(other, '.git')}\n`)
  await storeRuleIn(naming, home)
  expect([readFileSync(elsewhere, 'utf8'), lstatSync(join(linked, '.git/info/exclude')).isSymbolicLink()]).toEqual([
    'theirs\n',
    true,
  ])
  expect(existsSync(join(other, '.git/info'))).toBe(false)
})

test('the rule is stored even without a repository, and if the file is not text', async () => {
  const { root, home } = place()
  const plain = join(root, 'plain')
  mkdirSync(plain)
  await storeRuleIn(plain, home)
  const odd = repository(join(root, 'odd'))
  writeFileSync(join(odd, '.git/info/exclude'), Buffer.from([0xff, 0x0a]))
  await storeRuleIn(odd, home)
  expect(readFileSync(join(odd, '.git/info/exclude'))).toEqual(Buffer.from([0xff, 0x0a]))
})
