// Holds R-RULE-7p and R-RULE-7r of docs/spec: a `.git` that leads elsewhere asks, and one that git itself makes does not.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { gitSummary } from '../../src/instructions/git-summary.ts'
import { temporaryFolder } from '../support/harness.ts'
import { judged } from '../../../policy/test/judge/support.ts'

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], { cwd, encoding: 'utf8', stdio: 'pipe' })

const template = mkdtempSync(join(tmpdir(), 'halting-git-folder-'))
afterAll(() => rmSync(template, { recursive: true, force: true }))
git(template, 'init', '-q', '-b', 'main')
git(template, 'config', 'user.email', 'a@example.org')
git(template, 'config', 'user.name', 'A')
mkdirSync(join(template, 'src'))
for (const name of ['a.txt', 'src/b.txt']) writeFileSync(join(template, name), 'one\n')
git(template, 'add', '.')
git(template, 'commit', '-qm', 'one')
writeFileSync(join(template, 'a.txt'), 'two\n')
git(template, 'commit', '-qam', 'two')

function repository(): string {
  const cwd = temporaryFolder()
  cpSync(template, cwd, { recursive: true, verbatimSymlinks: true })
  return cwd
}

const lines = [
  'git status',
  'git diff',
  'git log -p',
  'git branch -a',
  'git grep one',
  'git ls-files',
  'git rev-parse HEAD',
]
const asked = (cwd: string, options = {}): readonly string[] =>
  lines.filter((line) => judged(line, { cwd, ...options }) !== 'allow')

function cacheUntracked(cwd: string): void {
  for (const name of ['zz/b', 'zz/deep/c', 'd']) {
    mkdirSync(join(cwd, dirname(name)), { recursive: true })
    writeFileSync(join(cwd, name), 'x')
  }
  git(cwd, 'config', 'core.untrackedCache', 'true')
  git(cwd, 'status')
  expect(readFileSync(join(cwd, '.git/index'), 'latin1')).toContain('zz/')
}

describe('what git and everyday tools create is allowed', () => {
  const made: Readonly<Record<string, (cwd: string) => string | void>> = {
    'packed references and objects': (cwd) => void git(cwd, 'gc', '-q'),
    'a commit graph in layers': (cwd) => {
      git(cwd, 'commit-graph', 'write', '--reachable', '--split')
      git(cwd, 'commit', '-q', '--allow-empty', '-m', 'x')
      git(cwd, 'commit-graph', 'write', '--reachable', '--split=no-merge')
    },
    'an index of several packs': (cwd) => {
      git(cwd, 'repack', '-q')
      git(cwd, 'commit', '-q', '--allow-empty', '-m', 'x')
      git(cwd, 'repack', '-q')
      git(cwd, 'multi-pack-index', 'write')
    },
    'an index in version 4': (cwd) => void git(cwd, 'update-index', '--index-version', '4'),
    'a shared index': (cwd) => {
      git(cwd, 'update-index', '--split-index')
      writeFileSync(join(cwd, 'c.txt'), 'three\n')
      git(cwd, 'add', '.')
    },
    'an index with offsets for threads': (cwd) => {
      for (let at = 0; at < 300; at += 1) writeFileSync(join(cwd, 'src', `f-${at}`), `${at}`)
      git(cwd, '-c', 'index.threads=3', '-c', 'index.version=4', 'add', '.')
      expect(readFileSync(join(cwd, '.git/index')).includes('IEOT')).toBe(true)
    },
    'a cache of untracked files': (cwd) => cacheUntracked(cwd),
    'a sparse index': (cwd) => void git(cwd, 'sparse-checkout', 'set', '--cone', '--sparse-index'),
    'a stash': (cwd) => {
      writeFileSync(join(cwd, 'a.txt'), 'three\n')
      git(cwd, 'stash', '-q')
    },
    'a search for a bad commit': (cwd) => void git(cwd, 'bisect', 'start', 'HEAD', 'HEAD~1'),
    'a detached HEAD and a replaced commit': (cwd) => {
      git(cwd, 'checkout', '-q', '--detach')
      git(cwd, 'replace', 'HEAD', 'HEAD~1')
    },
    'a shallow clone': (cwd) => {
      const clone = join(temporaryFolder(), 'clone')
      git(cwd, 'clone', '-q', '--depth=1', `file://${cwd}`, clone)
      return clone
    },
    'a clone that shares its objects by hard links': (cwd) => {
      const clone = join(temporaryFolder(), 'clone')
      git(cwd, 'clone', '-q', cwd, clone)
      return clone
    },
    'a second work tree': (cwd) => {
      const tree = join(temporaryFolder(), 'tree')
      git(cwd, 'worktree', 'add', '-q', tree)
      return tree
    },
    'the first of two work trees': (cwd) => void git(cwd, 'worktree', 'add', '-q', join(temporaryFolder(), 'tree')),
    'a work tree of a bare repository': (cwd) => {
      const folder = temporaryFolder()
      git(cwd, 'clone', '-q', '--bare', cwd, join(folder, 'bare.git'))
      git(join(folder, 'bare.git'), 'config', '--unset', 'core.bare')
      git(join(folder, 'bare.git'), 'worktree', 'add', '-q', join(folder, 'tree'))
      return join(folder, 'tree')
    },
    'hooks that are linked to scripts': (cwd) => {
      writeFileSync(join(cwd, 'src/check'), '#!/bin/sh\n', { mode: 0o755 })
      symlinkSync('../../src/check', join(cwd, '.git/hooks/pre-commit'))
    },
    'a folder of hooks that is linked to one of the project': (cwd) => {
      mkdirSync(join(cwd, 'scripts'))
      writeFileSync(join(cwd, 'scripts/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
      rmSync(join(cwd, '.git/hooks'), { recursive: true })
      symlinkSync('../scripts', join(cwd, '.git/hooks'))
    },
    'the lock of an editor': (cwd) => symlinkSync('somebody@host.1:1', join(cwd, '.git/.#COMMIT_EDITMSG')),
    'a commondir that says what holds without it': (cwd) => writeFileSync(join(cwd, '.git/commondir'), '.\n'),
    'no index yet': (cwd) => {
      rmSync(join(cwd, '.git'), { recursive: true })
      git(cwd, 'init', '-q')
    },
  }

  test.each(Object.entries(made))('%s', (_name, make) => {
    const cwd = repository()
    const folder = make(cwd) ?? cwd
    expect(asked(folder)).toEqual([])
    // Once more, from the cached result.
    expect(asked(folder)).toEqual([])
  })

  test('the socket of a file monitor', async () => {
    const cwd = repository()
    const server = createServer().listen(join(cwd, '.git/fsmonitor--daemon.ipc'))
    await new Promise((resolve) => server.once('listening', resolve))
    expect(asked(cwd)).toEqual([])
    server.close()
  })
})

describe('what leads elsewhere asks', () => {
  const outside = (text: string): string => {
    const file = join(temporaryFolder(), 'outside')
    writeFileSync(file, text)
    return file
  }
  const elsewhere: Readonly<Record<string, (cwd: string, at: (name: string) => string) => void>> = {
    'a link that dangles': (_, at) => symlinkSync('/nowhere', at('info/grafts')),
    'a link within the repository': (_, at) => symlinkSync('HEAD', at('OTHER')),
    'a link deep below references': (_, at) => {
      mkdirSync(at('refs/heads/x/y'), { recursive: true })
      symlinkSync(outside('x'), at('refs/heads/x/y/z'))
    },
    'a link in a folder whose name is not UTF-8': (_, at) => {
      const folder = Buffer.from(`${at('refs/heads/')}\u00FF`, 'latin1')
      mkdirSync(folder)
      symlinkSync('/nowhere', Buffer.concat([folder, Buffer.from('/x')]))
    },
    'a hook that is linked to a file that is no program': (_, at) => symlinkSync(outside('x'), at('hooks/x')),
    'a folder of hooks that is linked to other files': (_, at) => {
      rmSync(at('hooks'), { recursive: true })
      symlinkSync(temporaryFolder(), at('hooks'))
      writeFileSync(at('hooks/x'), 'x')
    },
    'a folder of hooks that is linked to nothing': (_, at) => {
      rmSync(at('hooks'), { recursive: true })
      symlinkSync('/nowhere', at('hooks'))
    },
    'a hook that is linked to itself': (_, at) => symlinkSync('x', at('hooks/x')),
    'a lock of an editor where it could be a work tree': (_, at) => {
      mkdirSync(at('worktrees'))
      symlinkSync('/nowhere', at('worktrees/.#X'))
    },
    'a second name of a file': (_, at) => linkSync(outside('x'), at('info/grafts')),
    'a pipe': (_, at) => void execFileSync('mkfifo', [at('shallow')]),
    'a pipe in place of .git': (cwd) => {
      rmSync(join(cwd, '.git'), { recursive: true })
      execFileSync('mkfifo', [join(cwd, '.git')])
    },
    'a dangling link in place of .git': (cwd) => {
      rmSync(join(cwd, '.git'), { recursive: true })
      symlinkSync('/nowhere', join(cwd, '.git'))
    },
    'a folder in place of the settings': (_, at) => {
      rmSync(at('config'))
      mkdirSync(at('config'))
    },
    'settings that are too large': (_, at) => appendFileSync(at('config'), `#${'x'.repeat(1_100_000)}`),
    'a work tree with another common folder': (cwd, at) => {
      git(cwd, 'worktree', 'add', '-q', join(temporaryFolder(), 'tree'))
      writeFileSync(at('worktrees/tree/commondir'), join(repository(), '.git'))
    },
    'objects by HTTP': (_, at) => writeFileSync(at('objects/info/http-alternates'), 'https://example.org\n'),
    'a table of references elsewhere': (_, at) => {
      mkdirSync(at('reftable'))
      writeFileSync(
        at('reftable/tables.list'),
        '../../../other/.git/reftable/0x000000000001-0x000000000002-12345678.ref\n',
      )
    },
    'a chain of commit graphs elsewhere': (_, at) => {
      mkdirSync(at('objects/info/commit-graphs'))
      writeFileSync(at('objects/info/commit-graphs/commit-graph-chain'), `${'0'.repeat(40)}/../../../x\n`)
    },
    'an index of packs elsewhere': (cwd, at) => {
      git(cwd, 'repack', '-q')
      git(cwd, 'multi-pack-index', 'write')
      const file = at('objects/pack/multi-pack-index')
      const bytes = readFileSync(file)
      bytes.write('../', bytes.indexOf('pack-'), 'latin1')
      chmodSync(file, 0o644)
      writeFileSync(file, bytes)
    },
    'a link to .gitmodules': (cwd) => symlinkSync(outside('x'), join(cwd, '.gitmodules')),
    'a chain of commit graphs that are none': (_, at) => {
      mkdirSync(at('objects/info/commit-graphs'))
      linkSync(outside('word\n'.repeat(50)), at('objects/info/commit-graphs/commit-graph-chain'))
    },
    'HEAD that names no reference': (_, at) => writeFileSync(at('HEAD'), 'x\n'),
    'HEAD in capital letters': (_, at) => writeFileSync(at('HEAD'), 'REF: refs/heads/main\n'),
    'HEAD behind many blanks': (_, at) => writeFileSync(at('HEAD'), `ref:${' '.repeat(300)}refs/heads/main\n`),
    'no objects': (_, at) => rmSync(at('objects'), { recursive: true }),
  }

  test.each(Object.entries(elsewhere))('%s', (_name, make) => {
    const cwd = repository()
    make(cwd, (name) => join(cwd, '.git', name))
    expect(asked(cwd)).toEqual(lines)
  })

  test('asks in a second work tree, in a submodule, and in a line with a command that a rule allows', () => {
    const cwd = repository()
    const tree = join(temporaryFolder(), 'tree')
    git(cwd, 'worktree', 'add', '-q', tree)
    symlinkSync('/nowhere', join(cwd, '.git/shallow'))
    expect(asked(tree)).toEqual(lines)
    const outer = repository()
    git(outer, 'submodule', '--quiet', 'add', repository(), 'module')
    expect(judged('git log', { cwd: join(outer, 'module') })).toBe('allow')
    symlinkSync('/nowhere', join(outer, '.git/modules/module/shallow'))
    expect(judged('git log', { cwd: join(outer, 'module') })).toBe('ask')
    expect(judged('git log; make', { cwd: tree, allow: ['Bash(make)'] })).toBe('ask')
  })

  test('asks about more folders than are checked', () => {
    const cwd = repository()
    for (let at = 0; at < 10_100; at += 1) mkdirSync(join(cwd, '.git/refs/heads', String(at)))
    expect(judged('git log', { cwd })).toBe('ask')
  })

  test('detects a change although the listing is cached', () => {
    const cwd = repository()
    const old = new Date(Date.now() - 60_000)
    for (const name of readdirSync(cwd, { recursive: true, encoding: 'utf8' })) utimesSync(join(cwd, name), old, old)
    expect(asked(cwd)).toEqual([])
    symlinkSync('/nowhere', join(cwd, '.git/refs/heads/x'))
    expect(asked(cwd)).toEqual(lines)
    rmSync(join(cwd, '.git/refs/heads/x'))
    expect(asked(cwd)).toEqual([])
    renameSync(join(cwd, '.git/objects/info'), join(cwd, '.git/elsewhere'))
    symlinkSync('../elsewhere', join(cwd, '.git/objects/info'))
    expect(asked(cwd)).toEqual(lines)
  })
})

test('also asks in bypassPermissions if there are rules about files', () => {
  const cwd = repository()
  const options = { mode: 'bypassPermissions', deny: ['Read(//elsewhere/x)'] } as const
  expect(asked(cwd, options)).toEqual([])
  symlinkSync('/elsewhere/x', join(cwd, '.git/shallow'))
  expect(asked(cwd, options)).toEqual(lines)
  expect(asked(cwd, { mode: 'bypassPermissions' })).toEqual([])
  const other = repository()
  git(other, 'config', 'filter.x.clean', 'cat /elsewhere/x')
  expect(asked(other, options)).toEqual(lines)
})

describe('the first message', () => {
  test('has the changes of a repository', async () => {
    const cwd = repository()
    writeFileSync(join(cwd, 'a.txt'), 'three\n')
    expect(await gitSummary(cwd, process.env)).toContain('a.txt')
  })

  test.each<[string, (cwd: string) => void]>([
    ['with another common folder', (cwd) => writeFileSync(join(cwd, '.git/commondir'), join(template, '.git'))],
    ['with another work tree', (cwd) => void git(cwd, 'config', 'core.worktree', template)],
    ['with settings that are not readable', (cwd) => appendFileSync(join(cwd, '.git/config'), '[x\n')],
    [
      'with an index of other files',
      (cwd) => {
        const index = readFileSync(join(cwd, '.git/index'), 'latin1')
        writeFileSync(join(cwd, '.git/index'), index.replace('src/b.txt', '../x/b.tx'), 'latin1')
      },
    ],
  ])('mentions nothing of a repository %s', async (_name, make) => {
    const cwd = repository()
    make(cwd)
    expect(await gitSummary(cwd, process.env)).toBeUndefined()
  })
})

describe('an index that leads elsewhere', () => {
  const replaced = (cwd: string, from: string, to: string): void => {
    const file = join(cwd, '.git/index')
    const text = readFileSync(file, 'latin1')
    expect(text).toContain(from)
    writeFileSync(file, text.replaceAll(from, to), 'latin1')
  }
  const readers = [
    'git status',
    'git diff',
    'git grep one',
    'git ls-files',
    'git check-attr -a a.txt',
    'git check-ignore a.txt',
  ]
  const askedOfIndex = (cwd: string): readonly string[] => readers.filter((line) => judged(line, { cwd }) !== 'allow')

  test.each(['../x/b', '/rc/b', 'sr/../b', '.git/b', '.GIT/b', './rc/b', 'src//b'])('as by %s asks', (name) => {
    const cwd = repository()
    replaced(cwd, 'src/b.txt', name.padEnd(9, 't'))
    expect(askedOfIndex(cwd)).toEqual(readers)
    expect(judged('git log', { cwd })).toBe('allow')
  })

  test.each([2, 3, 4])('is found in version %i', (version) => {
    const cwd = repository()
    writeFileSync(join(cwd, 'zz'), 'x')
    git(cwd, 'update-index', '--index-version', String(version))
    // Version 3 has entries with further flags.
    git(cwd, 'add', '-N', 'zz')
    expect(askedOfIndex(cwd)).toEqual([])
    replaced(cwd, 'src/b.txt', '../x/b.tx')
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test('as by offsets for threads asks', () => {
    const cwd = repository()
    for (let at = 0; at < 300; at += 1) writeFileSync(join(cwd, 'src', `f-${at}`), `${at}`)
    git(cwd, '-c', 'index.threads=3', 'add', '.')
    const bytes = readFileSync(join(cwd, '.git/index'))
    const at = bytes.indexOf('IEOT')
    bytes.writeUInt32BE(bytes.readUInt32BE(at + 20) + 8, at + 20)
    writeFileSync(join(cwd, '.git/index'), bytes)
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test.each([
    ['zz\0', '..\0'],
    ['zz/\0', '../\0'],
    ['zz\0', '/z\0'],
  ])('as by its cache of untracked files asks: %j as %j', (from, to) => {
    const cwd = repository()
    cacheUntracked(cwd)
    expect(askedOfIndex(cwd)).toEqual([])
    replaced(cwd, from, to)
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test('with more folders in its cache of untracked files than it counts asks', () => {
    const cwd = repository()
    cacheUntracked(cwd)
    const bytes = readFileSync(join(cwd, '.git/index'))
    const at = bytes.indexOf('.gitignore\0', bytes.indexOf('UNTR')) + 11
    bytes[at] = (bytes[at] ?? 0) - 1
    writeFileSync(join(cwd, '.git/index'), bytes)
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test.each([0, 3, 11, 40, 200])('that is truncated after %i bytes asks', (bytes) => {
    const cwd = repository()
    writeFileSync(join(cwd, '.git/index'), readFileSync(join(cwd, '.git/index')).subarray(0, bytes))
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test.each(['src', 'src/\u00FC', 'src/deep/er'])('a tracked folder that is a link asks: %s', (folder) => {
    const cwd = repository()
    mkdirSync(join(cwd, folder, 'below'), { recursive: true })
    writeFileSync(join(cwd, folder, 'below/c'), 'x')
    git(cwd, 'add', '.')
    expect(askedOfIndex(cwd)).toEqual([])
    renameSync(join(cwd, folder), join(cwd, 'real'))
    symlinkSync(join(cwd, 'real'), join(cwd, folder))
    expect(askedOfIndex(cwd)).toEqual(readers)
  })

  test('of a repository with SHA-256 is read as well', () => {
    const cwd = temporaryFolder()
    git(cwd, 'init', '-q', '--object-format=sha256')
    mkdirSync(join(cwd, 'src'))
    writeFileSync(join(cwd, 'src/b.txt'), 'x')
    git(cwd, 'add', '.')
    expect(askedOfIndex(cwd)).toEqual([])
    replaced(cwd, 'src/b.txt', '../x/b.tx')
    expect(askedOfIndex(cwd)).toEqual(readers)
  })
})
