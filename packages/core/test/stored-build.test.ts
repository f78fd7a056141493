import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { array, assert, constantFrom, option, property, record } from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeBuild, storedBuild } from '../../../scripts/stored-build.mjs'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-stored-build-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const names = ['one.ts', 'two.ts', 'three.ts']
const paths = (): readonly string[] => names.map((name) => join(folder, name))
const file = (): string => join(folder, 'store/build.json')
/** A build that began long after its files were written. */
const later = (): number => Date.now() + 60_000

/** The result of a build of the files as they are: their contents, null for a missing one. */
function make(): readonly (string | null)[] {
  const present = readdirSync(folder)
  return names.map((name) => (present.includes(name) ? readFileSync(join(folder, name), 'utf8') : null))
}

function write(name: string, content: string | null): void {
  if (content === null) rmSync(join(folder, name), { force: true })
  else writeFileSync(join(folder, name), content)
}

describe('a stored build', () => {
  test('equals a new build of these files, or is not used, whatever changed', () => {
    const change = record({
      name: constantFrom(...names),
      content: option(constantFrom('', 'a', 'b', '\u00e9', '\ud83d\ude00')),
      key: constantFrom('1', '2'),
    })
    let reused = 0
    const takenOrMade = (key: string): unknown => {
      const stored = storedBuild(file(), key)
      if (stored === undefined) storeBuild(file(), key, paths(), later(), [key, ...make()])
      else reused++
      return stored ?? [key, ...make()]
    }
    assert(
      property(array(change, { maxLength: 12 }), (changes) => {
        rmSync(file(), { force: true })
        for (const { name, content, key } of changes) {
          write(name, content)
          expect(takenOrMade(key)).toEqual([key, ...make()])
        }
      }),
      { numRuns: 100 },
    )
    expect(reused).toBeGreaterThan(10)
  })

  test('is rebuilt when its file is damaged or missing', () => {
    write('one.ts', 'a')
    storeBuild(file(), 'key', paths(), later(), 'made')
    const whole = readFileSync(file())
    expect(storedBuild(file(), 'key')).toBe('made')
    for (const length of [0, 1, whole.length >> 1, whole.length - 1]) {
      writeFileSync(file(), whole.subarray(0, length))
      expect(storedBuild(file(), 'key')).toBeUndefined()
    }
    rmSync(file())
    expect(storedBuild(file(), 'key')).toBeUndefined()
  })

  test('is not stored when a file changed during the build, whatever its modification time', () => {
    write('one.ts', 'a')
    storeBuild(file(), 'key', paths(), later(), 'before')
    const startedAt = Date.now()
    write('two.ts', 'changed')
    utimesSync(join(folder, 'two.ts'), 1, 1)
    storeBuild(file(), 'key', paths(), startedAt, 'of one half')
    expect(storedBuild(file(), 'key')).toBeUndefined()
    // No other file is left there.
    expect(readdirSync(join(folder, 'store'))).toEqual([])
  })
})
