// Tests R-SESS-9d of docs/spec: a journal is read in chunks, one ahead. Each byte arrives once and in order, however
// the disk splits them.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FileHandle } from 'node:fs/promises'
import { CutFileError, ReadAheadBuffer } from '../../src/files/read-ahead-buffer.ts'

/** A file that returns a limited number of bytes per read. The limits repeat. */
function fileOf(content: Buffer, most: readonly number[]): Pick<FileHandle, 'read'> {
  let position = 0
  let reads = 0
  const read = async (buffer: Buffer, at: number, length: number): Promise<{ bytesRead: number; buffer: Buffer }> => {
    const end = Math.min(content.length, position + Math.min(length, most[reads++ % most.length] ?? length))
    // Until then, a reused buffer has its old content.
    await Promise.resolve()
    const bytesRead = content.copy(buffer, at, position, end)
    position = end
    return { bytesRead, buffer }
  }
  // The buffer uses nothing else of the file.
  return { read } as unknown as Pick<FileHandle, 'read'>
}

test('returns each byte once and in order, for any rest of a chunk and any short read', async () => {
  const given = fc.record({
    content: fc.uint8Array({ maxLength: 120 }),
    most: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
    leaves: fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
    pieceBytes: fc.integer({ min: 1, max: 16 }),
    roomBytes: fc.nat(12),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ content, most, leaves, pieceBytes, roomBytes }) => {
      const pieces = new ReadAheadBuffer(fileOf(Buffer.from(content), most), {
        pieceBytes,
        roomBytes,
        leastBytes: content.length,
      })
      const taken: Buffer[] = []
      let left: Buffer = Buffer.alloc(0)
      for (let count = 0; ; count++) {
        const bytes = await pieces.next(left)
        if (bytes === undefined) break
        expect(bytes.length).toBeGreaterThan(left.length)
        const end = Math.max(0, bytes.length - (leaves[count % leaves.length] ?? 0))
        // A chunk is valid only until the next one is requested.
        taken.push(Buffer.from(bytes.subarray(0, end)))
        left = bytes.subarray(end)
      }
      expect(Buffer.concat([...taken, left]).equals(content)).toBe(true)
    }),
  )
})

const sizes = { pieceBytes: 8, roomBytes: 0, leastBytes: 0 }

test('reports a file that ends before its size as truncated', async () => {
  for (const content of ['1\n34567\n9', '123456789']) {
    const pieces = new ReadAheadBuffer(fileOf(Buffer.from(content), [8]), { ...sizes, leastBytes: 10 })
    const all = async (left: Buffer): Promise<void> => {
      const bytes = await pieces.next(left)
      if (bytes !== undefined) await all(bytes)
    }
    await expect(all(Buffer.alloc(0))).rejects.toThrow(CutFileError)
  }
})

test('rejects only the read of the chunk that failed', async () => {
  const broken = { read: () => Promise.reject(new Error('EIO')) } as unknown as Pick<FileHandle, 'read'>
  const asked = new ReadAheadBuffer(broken, sizes)
  await expect(asked.next(Buffer.alloc(0))).rejects.toThrow('EIO')
  // An unhandled rejection would end the process.
  const unasked = new ReadAheadBuffer(broken, sizes)
  await new Promise((resolve) => setImmediate(resolve))
  await unasked.stop()
})
