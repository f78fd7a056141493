// Holds R-HAND-6 of docs/spec.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readAtMost } from '../src/tools/read-at-most.ts'
import { codingTools } from './support/harness.ts'

/** A file of this size, which returns at most `piece` bytes at once. */
function fileOf(bytes: number, piece = Infinity) {
  const given = { bytes: 0 }
  const read = async (buffer: Buffer, offset: number, length: number): Promise<{ readonly bytesRead: number }> => {
    const bytesRead = Math.min(length, piece, bytes - given.bytes)
    buffer.fill(7, offset, offset + bytesRead)
    given.bytes += bytesRead
    return { bytesRead }
  }
  return { given, read }
}

test.each([
  [0, 0, 100],
  [100, 100, 100],
  [100, 0, 100],
  [100, 40, 100],
  [60, 100, 100],
  [200_000, 0, 300_000],
])('reads %i bytes of a file that reports %i', async (bytes, size, most) => {
  for (const piece of [7, Infinity]) {
    const read = await readAtMost(fileOf(bytes, piece), size, most)
    expect([read?.length, read?.every((byte) => byte === 7)]).toEqual([bytes, true])
  }
})

test.each([0, 10, 100])('reads no more than the limit of an endless file that reports %i', async (size) => {
  const file = fileOf(Infinity)
  expect(await readAtMost(file, size, 100)).toBeUndefined()
  expect(file.given.bytes).toBe(101)
})

test.runIf(existsSync('/proc/self/pagemap'))('rejects an Edit of an endless kernel file', async () => {
  const { use } = codingTools({ editBytes: 100_000 })
  const edited = await use('Edit', { file_path: '/proc/self/pagemap', old_string: 'a', new_string: 'b' })
  expect([edited.isError, edited.text]).toEqual([true, expect.stringContaining('/proc/self/pagemap')])
})
