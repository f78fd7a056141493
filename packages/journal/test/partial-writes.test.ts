import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendingTo } from '../src/journal-handle.ts'

/** The most bytes that one write accepts. */
const most = { bytes: 0 }

// A kernel may accept only a part of the data, and returns the number of bytes.
const { writeSync } = fs
beforeAll(() => {
  fs.writeSync = ((file: number, data: string | Uint8Array, at?: number | null): number => {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    const from = at ?? 0
    return writeSync(file, bytes.subarray(from, from + most.bytes))
  }) as typeof writeSync
  syncBuiltinESMExports()
})

const folder = fs.mkdtempSync(join(tmpdir(), 'halting-partial-'))
afterAll(() => {
  fs.writeSync = writeSync
  syncBuiltinESMExports()
  fs.rmSync(folder, { recursive: true })
})

test('writes a complete text, however little each write accepts', async () => {
  let files = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (texts, bytes) => {
        most.bytes = bytes
        const path = join(folder, `${files++}`)
        const handle = await appendingTo(path)
        // If the file system may hang, the thread pool writes.
        for (const text of texts) if (handle.appendNow?.(text) !== true) await handle.appendFile(text)
        await handle.close()
        expect(fs.readFileSync(path, 'utf8')).toBe(texts.join(''))
      },
    ),
  )
})
