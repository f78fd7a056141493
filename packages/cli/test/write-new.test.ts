// Holds R-SESS-9b and R-SESS-9c of docs/spec: a file of --output is written completely or not at all.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeNewFile } from '../src/export/write-new.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'halting-write-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const options = { displayName: 'it.html', isForced: false }
const isThere = 'it.html already exists. Name another file, or add --force to replace it.'

test('keeps a file that appears meanwhile, and leaves no draft', async () => {
  const path = join(folder, 'it.html')
  function* chunks(): Iterable<string> {
    yield 'ours'
    writeFileSync(path, 'theirs')
    yield ' too'
  }
  await expect(writeNewFile(path, chunks(), options)).rejects.toThrow(isThere)
  expect([readdirSync(folder), readFileSync(path, 'utf8')]).toEqual([['it.html'], 'theirs'])
})

test('lets one of many writers win, with the whole file, and reports the others', async () => {
  const path = join(folder, 'it.html')
  const written = await Promise.allSettled(
    Array.from({ length: 8 }, (_, each) => writeNewFile(path, [`${each}`, '-', `${each}`], options)),
  )
  const refusals = written.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
  expect(refusals).toEqual(Array.from({ length: 7 }, () => `UsageError: ${isThere}`))
  expect(readFileSync(path, 'utf8')).toMatch(/^(\d)-\1$/)
  expect([readdirSync(folder), statSync(path).mode & 0o777]).toEqual([['it.html'], 0o600])
})

test.each([
  { isForced: false, before: {} },
  { isForced: true, before: { 'it.html': 'before' } },
])('leaves the previous content and nothing else after a failure: $before', async ({ isForced, before }) => {
  for (const [name, text] of Object.entries(before)) writeFileSync(join(folder, name), text)
  function* chunks(): Iterable<string> {
    yield 'half'
    throw new Error('the session is gone')
  }
  await expect(writeNewFile(join(folder, 'it.html'), chunks(), { ...options, isForced })).rejects.toThrow('is gone')
  const after = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])
  expect(Object.fromEntries(after)).toEqual(before)
})

test('does not overwrite a folder, and says what it is', async () => {
  for (const isForced of [false, true])
    await expect(writeNewFile(folder, ['all'], { displayName: '.', isForced })).rejects.toThrow(
      '. is a folder. Name a file.',
    )
})

test('accepts a name of the maximum length', async () => {
  const path = join(folder, 'x'.repeat(255))
  await writeNewFile(path, ['all'], options)
  expect(readFileSync(path, 'utf8')).toBe('all')
})
