// Tests `npm run release` in a small temporary repository: what it rejects, what it writes, and that it publishes nothing unless requested.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packages, publishedPackages } from '../../../scripts/packages.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const repository = 'https://forge.example/you/halting'
const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-release-')))
const textOf = (path: string): string => readFileSync(join(home, path), 'utf8')

function write(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

const git = (...parameters: readonly string[]): string =>
  execFileSync('git', parameters, {
    cwd: home,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  }).trim()

/** `npm` is a program that records its arguments: nothing here reaches a registry. */
function release(...parameters: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', ...parameters], {
    cwd: home,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: `${join(home, '.tmp', 'bin')}:${process.env['PATH']}`,
      npm_log: join(home, '.tmp', 'npm'),
    },
  })
  return { status, stdout, stderr }
}

const commit = (message: string): void => {
  git('add', '--all')
  git('commit', '--quiet', '--message', message)
}

const changelog = `# Changelog

## [Unreleased]

### Added

- One thing.
- Another.

### Fixed

- A third.

## [0.1.0] - 2026-11-21

### Added

- The first version.
`

beforeAll(() => {
  const copied = [
    'scripts/release.mjs',
    'scripts/release-texts.mjs',
    'scripts/packages.mjs',
    'package-lock.json',
    'package.json',
  ]
  for (const path of [...copied, ...packages.map((name) => `packages/${name}/package.json`)])
    cpSync(join(root, path), join(home, path))
  write('CHANGELOG.md', changelog)
  write('.gitignore', '.tmp/\n')
  write('.ci/run', '#!/bin/sh\ntest ! -e .tmp/broken\n')
  write('.tmp/bin/npm', '#!/bin/sh\necho "$*" >> "$npm_log"\n')
  for (const path of ['.ci/run', '.tmp/bin/npm']) chmodSync(join(home, path), 0o755)
  git('init', '--quiet', '--initial-branch', 'main')
  git('config', 'user.name', 'Somebody')
  git('config', 'user.email', 'somebody@forge.example')
  commit('Begin')
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

describe('refuses to release and changes nothing', () => {
  test.each([
    ['no version', [], 'Name one version'],
    ['no repository', ['0.2.0'], 'Name the repository'],
    [
      'an address that is not a repository',
      ['0.2.0', '--repository', 'https://forge.example'],
      'not the https address',
    ],
    [
      'an address of another protocol',
      ['0.2.0', '--repository', 'git@forge.example:you/halting'],
      'not the https address',
    ],
    [
      'a password in the address',
      ['0.2.0', '--repository', 'https://me:secret@forge.example/you/halting'],
      'must not hold a password',
    ],
    ['an invalid version', ['two', '--repository', repository], 'two is not a version'],
    ['a number that begins with a zero', ['0.02.0', '--repository', repository], '0.02.0 is not a version'],
    ['a prerelease number with a zero', ['0.2.0-01', '--repository', repository], '0.2.0-01 is not a version'],
    ['an empty part of a prerelease', ['0.2.0-beta..1', '--repository', repository], 'is not a version'],
    ['a number too large for npm', ['99999999999999999999.0.0', '--repository', repository], 'is not a version'],
    ['the current version', ['0.1.0', '--repository', repository], 'not above 0.1.0'],
    ['a prerelease of the current version', ['0.1.0-beta.1', '--repository', repository], 'not above 0.1.0'],
    ['an unknown flag', ['0.2.0', '--force'], "Unknown option '--force'"],
    [
      'a release without checks',
      ['0.2.0', '--repository', repository, '--skip-checks'],
      '--skip-checks is for --dry-run alone',
    ],
    ['a dry run that publishes', ['0.2.0', '--repository', repository, '--dry-run', '--publish'], 'exclude each other'],
  ])('%s', (_what, parameters, sentence) => {
    const { status, stderr, stdout } = release(...parameters)
    expect(stderr).toContain(sentence)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).not.toContain('secret')
    expect(git('status', '--porcelain')).toBe('')
  })

  test('uncommitted changes', () => {
    write('new.txt', 'x')
    try {
      expect(release('0.2.0', '--repository', repository)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('?? new.txt'),
      })
    } finally {
      rmSync(join(home, 'new.txt'))
    }
  })

  test('checks that fail', () => {
    write('.tmp/broken', '')
    try {
      const { status, stderr } = release('0.2.0', '--repository', repository)
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: expect.stringContaining('.ci/run failed. Nothing was changed'),
      })
      expect(git('status', '--porcelain')).toBe('')
    } finally {
      rmSync(join(home, '.tmp', 'broken'))
    }
  })
})

test('a dry run prints what it would do, and changes nothing', () => {
  const { status, stdout } = release('0.2.0', '--repository', repository, '--dry-run', '--skip-checks')
  expect(status).toBe(0)
  expect(stdout).toContain('Added: 2, Fixed: 1')
  expect(stdout).toMatch(/would build, commit and tag v0\.2\.0\n$/)
  expect([git('status', '--porcelain'), git('tag')]).toEqual(['', ''])
})

test('a release has its version everywhere, the repository, its changelog entry and a tag, and prints how to publish', () => {
  const { status, stdout, stderr } = release('0.2.0', '--repository', `${repository}.git`)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (const name of packages) {
    const manifest = JSON.parse(textOf(`packages/${name}/package.json`)) as Readonly<Record<string, unknown>>
    expect(manifest['version']).toBe('0.2.0')
    const ours = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((field) =>
      Object.entries((manifest[field] ?? {}) as Record<string, string>).filter(([id]) => id.startsWith('@halting/')),
    )
    expect(ours.filter(([, version]) => version !== '0.2.0')).toEqual([])
    expect(manifest['repository']).toEqual(
      publishedPackages.includes(name)
        ? { type: 'git', url: `git+${repository}.git`, directory: `packages/${name}` }
        : undefined,
    )
  }
  const lock = JSON.parse(textOf('package-lock.json')) as {
    version: string
    packages: Record<string, { version?: string }>
  }
  expect([lock.version, lock.packages['packages/core']?.version]).toEqual(['0.2.0', '0.2.0'])
  const date = new Date().toISOString().slice(0, 10)
  expect(textOf('CHANGELOG.md')).toBe(
    changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [0.2.0] - ${date}\n`),
  )
  expect([git('log', '-1', '--format=%s'), git('tag', '--points-at', 'HEAD')]).toEqual(['Release 0.2.0', 'v0.2.0'])
  expect(git('status', '--porcelain')).toBe('')
  const lines = publishedPackages.map((name) => `  npm publish --workspace=packages/${name} --access public\n`)
  expect(stdout).toContain(`Publish with:\n${lines.join('')}`)
  expect(textOf('.tmp/npm')).toBe('run --silent build\nrun --silent shape\n')
})

test('rejects a second release with nothing unreleased, and --publish publishes', () => {
  expect(release('0.3.0', '--repository', repository)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('says nothing under "## [Unreleased]"'),
  })
  write(
    'CHANGELOG.md',
    textOf('CHANGELOG.md').replace('## [Unreleased]\n', '## [Unreleased]\n\n### Fixed\n\n- More.\n'),
  )
  commit('Fix more')
  rmSync(join(home, '.tmp', 'npm'))
  expect(release('0.3.0', '--repository', repository, '--publish')).toMatchObject({ status: 0, stderr: '' })
  const asked = textOf('.tmp/npm').trim().split('\n')
  expect(asked.slice(2)).toEqual(
    publishedPackages.map((name) => `publish --workspace=packages/${name} --access public`),
  )
})

test('tags a prerelease separately, and lists the rest after a failed publication', () => {
  write(
    'CHANGELOG.md',
    textOf('CHANGELOG.md').replace('## [Unreleased]\n', '## [Unreleased]\n\n### Fixed\n\n- More.\n'),
  )
  write('.tmp/bin/npm', '#!/bin/sh\ncase "$*" in *packages/models*) exit 1 ;; esac\n')
  commit('Fix more')
  const { status, stdout, stderr } = release('1.0.0-beta.1', '--repository', repository, '--publish')
  const lines = publishedPackages.map(
    (name) => `  npm publish --workspace=packages/${name} --access public --tag next\n`,
  )
  expect(status).toBe(2)
  expect(stderr).toContain(`1 of ${lines.length} packages are published. Continue with:\n${lines.slice(1).join('')}`)
  expect(stdout).not.toContain('git push')
})

test('rejects a repository that git cannot read or commit to, with a sentence', () => {
  git('config', 'user.name', '')
  const anonymous = release('2.0.0', '--repository', repository)
  expect(anonymous).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^release: git var failed: /),
  })
  rmSync(join(home, '.git'), { recursive: true })
  const without = release('2.0.0', '--repository', repository, '--dry-run', '--skip-checks')
  expect(without).toMatchObject({ status: 2, stderr: expect.stringMatching(/^release: git .*not a git repository/) })
})

test('writes package.json files as they are formatted', () => {
  for (const name of packages) {
    const text = readFileSync(join(root, `packages/${name}/package.json`), 'utf8')
    expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`)
  }
})
