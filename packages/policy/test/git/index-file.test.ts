// Holds R-RULE-7r of docs/spec: the judge checks exactly the paths that git reads in an index, for any file.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { readIndexPaths } from '../../src/git/index-file.ts'
import { drawn } from '../support/deep.ts'

const root = mkdtempSync(join(tmpdir(), 'halting-index-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'index.threads=3', ...args], { cwd: root, encoding: 'utf8', stdio: 'pipe' })
git('init', '-q')

const names = Array.from({ length: 60 }, (_, at) => `${'abc'[at % 3]}/${'d/'.repeat(at % 4)}file-${at}`)
names.push(
  'x',
  'x-y',
  'z/.gitignore',
  'z/..a/b',
  'z/a..',
  'z/git/c',
  `z/${'long'.repeat(50)}/x`,
  'ü/ö',
  '.env',
  '.github/x',
)
for (const name of names) {
  mkdirSync(join(root, dirname(name)), { recursive: true })
  writeFileSync(join(root, name), name)
}
git('add', '.')

const file = join(root, '.git/index')
const inVersion = (version: string): Buffer => {
  git('update-index', '--index-version', version)
  return readFileSync(file)
}
const plain = [inVersion('2'), inVersion('4')]
git('add', '-N', '.')
writeFileSync(join(root, 'new'), '')
git('add', '-N', 'new')
const indexes = [...plain, inVersion('3'), inVersion('4')]

function foldersOf(paths: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const path of paths)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) folders.add(path.slice(0, at))
  return folders
}

/** Undefined if git rejects the index. */
function pathsByGit(bytes: Buffer): readonly string[] | undefined {
  writeFileSync(file, bytes)
  const args = ['-c', 'index.threads=3', 'ls-files', '-z', '--cached', '--sparse']
  const { status, stdout } = spawnSync('git', args, { cwd: root, timeout: 10_000 })
  return status === 0 ? stdout.toString('latin1').split('\0').slice(0, -1) : undefined
}

test('the folders of all paths are found in every version', () => {
  for (const bytes of indexes) {
    const paths = readIndexPaths(bytes, 20)
    expect(paths?.hasSubmodules).toBe(false)
    expect(paths?.folders).toEqual(foldersOf(pathsByGit(bytes) ?? []))
  }
  expect(indexes.some((bytes) => bytes.includes('IEOT'))).toBe(true)
})

test('a submodule is found', () => {
  writeFileSync(file, indexes[0] ?? '')
  git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`)
  expect(readIndexPaths(readFileSync(file), 20)?.hasSubmodules).toBe(true)
})

const places = indexes.flatMap((bytes, at) =>
  ['DIRC', 'IEOT', 'EOIE', 'TREE', 'file-', 'z/', 'a/', 'x-y'].flatMap((text) => {
    const found = bytes.indexOf(text)
    return found < 0 ? [] : [{ at, from: Math.max(0, found - 4), length: 16 }]
  }),
)

test('changed bytes never make git read unchecked paths', () => {
  let accepted = 0
  fc.assert(
    fc.property(
      fc.oneof(
        fc.constantFrom(...places),
        fc.record({ at: fc.nat(indexes.length - 1), from: fc.nat(6_000), length: fc.constant(4) }),
      ),
      fc.array(fc.tuple(fc.nat(15), fc.oneof(fc.constantFrom(0, 0x2e, 0x2f, 0x40, 0xff, 1), fc.nat(255))), {
        minLength: 1,
        maxLength: 3,
      }),
      ({ at, from, length }, changes) => {
        const bytes = Buffer.from(indexes[at] ?? '')
        for (const [offset, value] of changes) bytes[(from + (offset % length)) % bytes.length] = value
        const paths = readIndexPaths(bytes, 20)
        if (paths === undefined) return
        const byGit = pathsByGit(bytes)
        if (byGit === undefined) return
        accepted += 1
        expect(
          byGit.filter((path) => path !== '' && /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(path.replace(/\/$/, ''))),
        ).toEqual([])
        expect([...foldersOf(byGit)].filter((folder) => !paths.folders.has(folder))).toEqual([])
      },
    ),
    { numRuns: drawn(2_000) },
  )
  expect(accepted).toBeGreaterThan(drawn(2_000) / 20)
}, 300_000)
