// The cached lookups of one judgement equal uncached ones, and the next judgement looks up again.
import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { realPath as realPathNow } from '@halting/journal/files'
import { assert, constantFrom, array, integer, oneof, property, record, tuple } from 'fast-check'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  withoutLookupCache,
  cachedPerJudgement,
  realPath,
  statOf,
  withLookupCache,
} from '../../src/files/lookup-cache.ts'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { bashCall } from '../judge/support.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const names = constantFrom('a', 'b', 'c', '..', '.', 'file')
const path = array(names, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'))
const made = oneof(
  record({ at: path, kind: constantFrom('folder', 'file'), to: path }),
  record({ at: path, kind: constantFrom('link', 'link to root', 'link to process'), to: path }),
)

function make(
  root: string,
  { at, kind, to }: { readonly at: string; readonly kind: string; readonly to: string },
): void {
  const place = join(root, at)
  if (!place.startsWith(`${root}/`)) return
  try {
    if (kind === 'folder') mkdirSync(place)
    else if (kind === 'file') writeFileSync(place, '')
    else symlinkSync(kind === 'link' ? to : kind === 'link to root' ? join(root, to) : '/proc/self/root', place)
  } catch {
    // Something else exists there, or the folder does not.
  }
}

test('cached lookups find the same real paths as uncached ones', () => {
  assert(
    property(
      array(made, { maxLength: 12 }),
      array(tuple(path, integer({ min: 0, max: 1 })), { maxLength: 20 }),
      (all, asked) => {
        const root = join(temporaryFolder(), 'root')
        mkdirSync(root)
        for (const one of all) make(root, one)
        const paths = asked.map(([text, isJoined]) => (isJoined === 1 ? join(root, text) : `${root}/${text}`))
        const found = withLookupCache(() => paths.map((one) => [realPath(one), realPath(one), statOf(one)?.ino]))
        expect(found).toEqual(paths.map((one) => [realPathNow(one), realPathNow(one), statOf(one)?.ino]))
        rmSync(root, { recursive: true })
      },
    ),
    { numRuns: 25 },
  )
})

test('a link that is replaced between two commands is noticed', () => {
  const cwd = temporaryFolder()
  const outside = temporaryFolder()
  const link = join(cwd, 'notes')
  writeFileSync(join(cwd, 'open.txt'), '')
  writeFileSync(join(outside, 'closed.txt'), '')
  writeFileSync(join(cwd, '.env'), '')
  const permissions = createPermissions({ cwd, deny: ['Read(.env)'] })
  const behaviorWith = (target: string): unknown => {
    rmSync(link, { force: true })
    symlinkSync(target, link)
    const decision = permissions.decide(bashCall('cat notes'))
    return 'behavior' in decision ? decision.behavior : undefined
  }
  expect(existsSync(link)).toBe(false)
  for (let round = 0; round < 3; round += 1) {
    expect(behaviorWith('open.txt')).toBe('allow')
    expect(behaviorWith(join(outside, 'closed.txt'))).toBe('ask')
    expect(behaviorWith('.env')).toBe('deny')
  }
  expect(readlinkSync(link)).toBe('.env')
})

test('cached lookups do not outlive their judgement', () => {
  const folder = temporaryFolder()
  const place = join(folder, 'link')
  let count = 0
  const counted = cachedPerJudgement((_one: string, _by: string) => (count += 1))
  const look = (): readonly [string, number] =>
    withLookupCache(() => [realPath(place), counted('a', 'b') + counted('a', 'b')])
  expect(look()).toEqual([place, 2])
  symlinkSync(folder, place)
  expect(look()).toEqual([folder, 4])
  // Also if a judgement fails.
  expect(() =>
    withLookupCache(() => {
      realPath(place)
      throw new Error('no')
    }),
  ).toThrow('no')
  rmSync(place)
  expect(look()).toEqual([place, 6])
  expect([counted('a', 'b'), counted('a', 'b')]).toEqual([4, 5])
})

test('a port that creates a file during a judgement sees it', () => {
  const place = join(temporaryFolder(), 'made')
  withLookupCache(() => {
    expect(statOf(place)).toBeUndefined()
    const seen = withoutLookupCache(() => (writeFileSync(place, ''), statOf(place)?.isFile()))
    expect(seen).toBe(true)
    // Cached results remain until the judgement ends.
    expect(statOf(place)).toBeUndefined()
  })
  expect(statOf(place)?.isFile()).toBe(true)
})
