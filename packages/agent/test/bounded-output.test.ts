import { BoundedOutput } from '@halting/agent'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

describe('BoundedOutput', () => {
  test('B1: never exceeds its limit, and returns short text unchanged', () => {
    fc.assert(
      fc.property(fc.nat(400), fc.array(fc.string({ unit: 'binary', maxLength: 300 })), (limit, chunks) => {
        const output = new BoundedOutput(limit)
        for (const chunk of chunks) output.append(chunk)
        const all = chunks.join('')
        const shown = output.toString()
        expect(output.length).toBe(all.length)
        expect(shown.length).toBeLessThanOrEqual(limit)
        expect(shown === all).toBe(all.length <= limit)
      }),
    )
  })

  test('has the head and tail of the whole text, and the right number in between', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 400 }),
        fc.array(fc.string({ minLength: 1, maxLength: 900 }), { minLength: 3 }),
        (limit, some) => {
          const chunks = [...some, '-'.repeat(limit)]
          const all = chunks.join('')
          const output = new BoundedOutput(limit)
          for (const chunk of chunks) output.append(chunk)
          const [, head = '', count, tail = ''] =
            /^(.*)\n\n\[\.\.\. (\d+) characters left out \.\.\.\]\n\n(.*)$/s.exec(output.toString()) ?? []
          expect(all.startsWith(head) && all.endsWith(tail)).toBe(true)
          expect(head.length + Number(count) + tail.length).toBe(all.length)
          expect(head.length + tail.length).toBeGreaterThan(limit - 90)
        },
      ),
    )
  })

  test('never splits a character', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 400 }), (limit, count) => {
        const output = new BoundedOutput(limit)
        output.append('😀'.repeat(count))
        expect(output.toString()).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/)
      }),
    )
  })
})
