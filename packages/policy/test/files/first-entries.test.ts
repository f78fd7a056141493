// Holds R-RULE-7d of docs/spec: an entry that vanishes while a folder is listed hides no other entry.
import { Dir, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { allEntries, entriesByBytes, firstEntries } from '../../src/files/first-entries.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const failure = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall })
const vanished = failure('ENOENT', 'lstat')

function folderOfThree(): string {
  const folder = temporaryFolder()
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), '')
  return folder
}

/** As Node's own, but fails so many times, or each time. */
function failing(error: Error, times?: number): () => number {
  const fail = (): never => {
    throw error
  }
  const spy = vi.spyOn(Dir.prototype, 'readSync')
  if (times === undefined) spy.mockImplementation(fail)
  else for (let left = times; left > 0; left -= 1) spy.mockImplementationOnce(fail)
  onTestFinished(() => spy.mockRestore())
  return () => spy.mock.calls.length
}

test('a vanishing entry hides no other entry', () => {
  const folder = folderOfThree()
  failing(vanished, 3)
  expect(
    allEntries(folder, 10)
      ?.map(({ name }) => name)
      .toSorted(),
  ).toEqual(['a', 'b', 'c'])
  failing(vanished, 3)
  const found = entriesByBytes({ bytes: Buffer.from(folder), path: folder }, 10)
  expect(found.map(({ path }) => path).toSorted()).toEqual(['a', 'b', 'c'].map((name) => join(folder, name)))
})

test('a folder whose entries keep vanishing does not count as empty', () => {
  const folder = folderOfThree()
  const tries = failing(vanished)
  expect(firstEntries(folder, 10)).toEqual({ entries: [], isAll: false })
  expect(tries()).toBe(10)
  expect(allEntries(folder, 10)).toBeUndefined()
  expect(() => entriesByBytes({ bytes: Buffer.from(folder), path: folder }, 10)).toThrow(vanished)
})

test('any other failure is thrown at once', () => {
  const folder = folderOfThree()
  const tries = failing(failure('EIO', 'scandir'), 1)
  expect(() => firstEntries(folder, 10)).toThrow('EIO')
  expect(tries()).toBe(1)
  expect(() => firstEntries(join(folder, 'd'), 10)).toThrow('ENOENT')
})
