// Holds R-RULE-7a and R-RULE-7f of docs/spec.md: git that runs without a rule starts no program that a repository names, and prints no token of its settings.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { codingTools, temporaryFolder } from '../support/harness.ts'
import { judged } from './support.ts'

const git = (cwd: string, ...args: readonly string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' })

/** Made once: of what a test does, to make a repository takes longest. */
const template = mkdtempSync(join(tmpdir(), 'halting-git-'))
afterAll(() => rmSync(template, { recursive: true, force: true }))
git(template, 'init', '-q')
git(template, 'config', 'user.email', 'a@example.org')
git(template, 'config', 'user.name', 'A')
writeFileSync(join(template, '.gitattributes'), '*.txt filter=f diff=d\n')
writeFileSync(join(template, 'a.txt'), 'one\n')
git(template, 'add', '.')
git(template, 'commit', '-qm', 'one')
writeFileSync(join(template, 'a.txt'), 'two\n')

/** A repository with a change, and a script that leaves a mark when something runs it. */
function repository(): { readonly cwd: string; readonly mark: string; readonly evil: string } {
  const cwd = temporaryFolder()
  const mark = join(temporaryFolder(), 'mark')
  const evil = join(temporaryFolder(), 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat >/dev/null 2>&1 </dev/null\n`, { mode: 0o755 })
  cpSync(template, cwd, { recursive: true })
  return { cwd, mark, evil }
}

const lines = ['git status', 'git diff', 'git log -p', 'git show', 'git blame a.txt', 'git branch -a', 'git grep one']

const keys = [
  'core.fsmonitor',
  'core.hooksPath',
  'core.pager',
  'core.editor',
  'core.sshCommand',
  'core.askPass',
  'core.gitProxy',
  'core.alternateRefsCommand',
  'core.worktree',
  'core.attributesFile',
  'core.excludesFile',
  'diff.external',
  'diff.d.textconv',
  'diff.d.command',
  'diff.orderFile',
  'filter.f.clean',
  'filter.f.smudge',
  'filter.f.process',
  'gpg.program',
  'credential.helper',
  'alias.status',
  'pager.log',
  'pager.status',
  'sequence.editor',
  'include.path',
  'includeIf.gitdir:/.path',
  'log.showSignature',
  'merge.m.driver',
  'trailer.x.command',
  'interactive.diffFilter',
  'uploadpack.packObjectsHook',
  'remote.origin.uploadpack',
  'remote.origin.vcs',
  'blame.ignoreRevsFile',
  'mailmap.file',
  'submodule.recurse',
]

describe('a setting of the repository that names a program', () => {
  test.each(keys)('%s: the command asks, or runs without it', async (key) => {
    const { cwd, mark, evil } = repository()
    git(cwd, 'config', key, evil)
    const { use } = codingTools({}, { cwd })
    const command = lines.filter((line) => judged(line, { cwd }) === 'allow').join('\n')
    if (command !== '') await use('Bash', { command })
    expect([key, command, existsSync(mark)]).toEqual([key, command, false])
  })

  test('is one that does its harm when git is run as it is', () => {
    const harmful = ['core.fsmonitor', 'diff.external', 'diff.d.textconv', 'diff.d.command', 'filter.f.clean'].filter(
      (key) => {
        const { cwd, mark, evil } = repository()
        git(cwd, 'config', key, evil)
        for (const line of lines) spawnSync('git', line.split(' ').slice(1), { cwd })
        return existsSync(mark)
      },
    )
    expect(harmful).toHaveLength(5)
  })

  test('also in a folder below, a folder of its own, a work tree and a submodule', async () => {
    const { cwd, mark, evil } = repository()
    const inner = join(cwd, 'sub')
    mkdirSync(inner)
    git(inner, 'init', '-q')
    git(inner, 'config', 'user.email', 'a@example.org')
    git(inner, 'config', 'user.name', 'A')
    git(inner, 'commit', '-q', '--allow-empty', '-m', 'x')
    git(inner, 'config', 'core.fsmonitor', evil)
    expect(judged('git -C sub status', { cwd })).toBe('ask')
    expect(judged('cd sub && git status', { cwd })).toBe('ask')
    expect(judged('git status', { cwd })).toBe('allow')
    // As a submodule it is gone into, with an environment without our settings.
    git(cwd, 'add', 'sub')
    expect(judged('git status', { cwd })).toBe('ask')
    expect(judged('git log --oneline', { cwd })).toBe('allow')
    const { use } = codingTools({}, { cwd })
    await use('Bash', { command: 'git log --oneline' })
    expect(existsSync(mark)).toBe(false)
    spawnSync('git', ['status'], { cwd })
    expect(existsSync(mark)).toBe(true)
  })

  test('a folder that could be a bare repository asks', () => {
    const { cwd } = repository()
    const bare = join(cwd, 'innocent')
    mkdirSync(join(bare, 'objects'), { recursive: true })
    mkdirSync(join(bare, 'refs'))
    writeFileSync(join(bare, 'HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(bare, 'config'), '[core]\n\tbare = true\n\tfsmonitor = ./evil\n')
    expect(judged('git -C innocent status', { cwd })).toBe('ask')
    expect(judged('cd innocent && git log', { cwd })).toBe('ask')
  })

  test('a file of settings that is not plainly one asks', () => {
    for (const text of [
      '[core]\n\tfsmonitor = \\\n  x\n',
      '[include]path=x\n',
      'x = y\n',
      '[core "a]\n',
      '[Core]\n\tFSMonitor = x\n',
      '[core]fsmonitor=x\n',
    ]) {
      const { cwd } = repository()
      writeFileSync(join(cwd, '.git/config'), text)
      expect([text, judged('git status', { cwd })]).toEqual([text, 'ask'])
    }
  })

  test('a .git that leads to another repository asks; one of a submodule does not', () => {
    const [{ cwd }, other] = [repository(), repository()]
    const led = join(cwd, 'led')
    mkdirSync(led)
    writeFileSync(join(led, '.git'), `gitdir: ${join(other.cwd, '.git')}\n`)
    expect(judged('git -C led log', { cwd })).toBe('ask')
    git(cwd, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.cwd, 'module')
    expect(judged('git -C module log', { cwd })).toBe('allow')
    expect(judged('git status', { cwd })).toBe('ask')
  })

  test('a work tree that lies elsewhere is looked at where its settings are', () => {
    const { cwd, evil } = repository()
    const tree = join(temporaryFolder(), 'tree')
    git(cwd, 'worktree', 'add', '-q', tree)
    expect(judged('git status', { cwd: tree })).toBe('allow')
    git(cwd, 'config', 'core.fsmonitor', evil)
    expect(judged('git status', { cwd: tree })).toBe('ask')
  })
})

test('beside a command that a rule allows git keeps its settings, so more is asked about', () => {
  const { cwd } = repository()
  expect(judged('git status && make', { cwd, allow: ['Bash(make)'] })).toBe('allow')
  writeFileSync(join(cwd, '.git/hooks/post-index-change'), '#!/bin/sh\n', { mode: 0o755 })
  expect(judged('git status', { cwd })).toBe('allow')
  expect(judged('git status && make', { cwd, allow: ['Bash(make)'] })).toBe('ask')
  const other = repository().cwd
  git(other, 'config', 'core.hooksPath', '.husky')
  expect(judged('git status && make', { cwd: other, allow: ['Bash(make)'] })).toBe('allow')
  mkdirSync(join(other, '.husky'))
  writeFileSync(join(other, '.husky/post-index-change'), '')
  expect(judged('git status && make', { cwd: other, allow: ['Bash(make)'] })).toBe('ask')
})

test('the settings are turned off for what runs without a rule, and for nothing else', async () => {
  const { cwd, mark } = repository()
  const { use } = codingTools({}, { cwd })
  writeFileSync(join(cwd, '.git/hooks/pre-commit'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 })
  expect((await use('Bash', { command: 'echo "$GIT_OPTIONAL_LOCKS"' })).text).toBe('0')
  await use('Bash', { command: 'git commit -qam two' })
  expect(existsSync(mark)).toBe(true)
})

describe('what stands in the settings of git', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`

  test.each([
    ['remote.origin.url', `https://x-access-token:${token}@github.com/a/b.git`],
    ['remote.origin.url', `https://${token}@github.com/a/b.git`],
    ['remote.origin.pushurl', `https://${'z9'.repeat(26)}@dev.azure.com/a/b`],
    [`url.https://me:hunter22@example.org/.insteadOf`, 'https://example.org/'],
  ])('an address with a secret in it is printed after a question alone: %s', (key, value) => {
    const { cwd } = repository()
    git(cwd, 'remote', 'add', 'origin', 'https://example.org/a.git')
    git(cwd, 'config', key, value)
    for (const line of [
      'git remote -v',
      'git remote get-url origin',
      'git config --list',
      'git config -l --show-origin',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    for (const line of [
      "git config --get-regexp '^(remote|url)'",
      'git config get --all --regexp url',
      'git config list',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    for (const line of ['git remote', 'git config user.name', 'git config --get user.email', 'git status'])
      expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })

  test('a header with a token is printed after a question alone, also by its name', () => {
    const { cwd } = repository()
    git(cwd, 'config', 'http.https://example.org/.extraheader', 'AUTHORIZATION: basic eDp5')
    expect(judged('git config --get http.https://example.org/.extraheader', { cwd })).toBe('ask')
    expect(judged('git config --list', { cwd })).toBe('ask')
    expect(judged('git remote -v', { cwd })).toBe('allow')
  })

  test('without a secret they are printed', () => {
    const { cwd } = repository()
    git(cwd, 'remote', 'add', 'origin', 'git@github.com:a/b.git')
    git(cwd, 'remote', 'add', 'azure', 'https://organisation@dev.azure.com/organisation/a/_git/a')
    for (const line of [
      'git remote -v',
      'git config --list',
      'git remote get-url origin',
      'git config --get-regexp user',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })
})

describe('from a folder below the root of the repository', () => {
  test.each(['git log -p', 'git show', 'git diff HEAD', 'git grep one', 'git show HEAD:a.txt'])(
    '%s asks where a rule is about a file of the repository that lies elsewhere in it',
    (line) => {
      const { cwd } = repository()
      const inner = join(cwd, 'inner')
      mkdirSync(inner)
      for (const mode of ['default', 'bypassPermissions'] as const)
        expect(judged(line, { cwd: inner, mode, deny: [`Read(/${join(cwd, 'a.txt')})`] })).toBe('ask')
      expect(judged(line, { cwd: inner, deny: ['Read(//elsewhere/a.txt)'] })).toBe('allow')
    },
  )

  test('a program of git that is not described asks too', () => {
    const { cwd } = repository()
    const inner = join(cwd, 'inner')
    mkdirSync(inner)
    const options = { cwd: inner, allow: ['Bash(git:*)'], deny: [`Read(/${join(cwd, 'a.txt')})`] }
    expect(judged('git archive HEAD', options)).toBe('ask')
    expect(judged('git log -p --ext-diff', options)).toBe('ask')
  })
})
