// Holds a rule of docs/spec: R-CLU-12b.
import * as fc from 'fast-check'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { UnreadBuffers } from '../../src/live/live-events.ts'

/** Reads as much as it is asked to. */
class Reader extends Writable {
  readonly #waiting: (() => void)[] = []

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    this.#waiting.push(done)
  }

  read(): void {
    this.#waiting.shift()?.()
  }
}

test('the bytes that wait for all readers stay within the bound, however slowly they read', async () => {
  const step = fc.record({ reader: fc.nat(5), bytes: fc.nat(30), reads: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const unread = new UnreadBuffers(40, 100)
      const readers = Array.from({ length: 6 }, () => new Reader({ decodeStrings: false }))
      for (const reader of readers) unread.add(reader)
      for (const { reader: index, bytes, reads } of steps) {
        const reader = readers[index]
        if (reader === undefined) continue
        if (reads) reader.read()
        else unread.write(reader, 'x'.repeat(bytes))
        await new Promise((resolve) => setImmediate(resolve))
        const waiting = readers.filter(({ destroyed }) => !destroyed).map(({ writableLength }) => writableLength)
        const sum = waiting.reduce((all, one) => all + one, 0)
        expect(sum).toBeLessThanOrEqual(100)
        // Bytes that were just read may still be counted.
        expect(unread.hasRoom && sum > 60).toBe(false)
      }
    }),
  )
})

test('the reader that is furthest behind is disconnected, and its bytes no longer count', () => {
  const unread = new UnreadBuffers(40, 100)
  const [slow, slower, other] = [new Reader(), new Reader(), new Reader()]
  for (const reader of [slow, slower, other]) unread.add(reader)
  unread.write(slow, 'x'.repeat(35))
  unread.write(slower, 'x'.repeat(40))
  expect(unread.hasRoom).toBe(false)
  unread.write(other, 'x'.repeat(30))
  expect([slow, slower, other].map(({ destroyed }) => destroyed)).toEqual([false, true, false])
  unread.write(slow, 'x'.repeat(6))
  unread.write(slow, 'x')
  expect(slow.destroyed).toBe(true)
  expect(unread.hasRoom).toBe(true)
})
