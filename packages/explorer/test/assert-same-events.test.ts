import { describe, expect, test } from 'vitest'
import { assertSameEvents } from '../src/assert-same-events.ts'
import type { RunEvent } from '@halting/core'

function eventsOf(...events: readonly unknown[]): readonly RunEvent[] {
  return events as readonly RunEvent[]
}

function compare(actual: readonly unknown[], expected: readonly unknown[]): () => void {
  return () => assertSameEvents(eventsOf(...actual), eventsOf(...expected), 'the events')
}

class Figures {
  readonly #tokens: number

  constructor(tokens: number) {
    this.#tokens = tokens
  }

  toJSON(): unknown {
    return { tokens: this.#tokens }
  }
}

describe('comparing the events of two runs', () => {
  test('treats events as the same if their JSON is the same', () => {
    const one = { type: 'lap', ranking: [1, 2, { deep: null }], at: 0 }
    expect(compare([one], [structuredClone(one)])).not.toThrow()
    expect(compare([{ ...one, gone: undefined }], [one])).not.toThrow()
    expect(compare([{ at: Number.NaN }], [{ at: Number.NaN }])).not.toThrow()
    expect(compare([{ figures: new Figures(1) }], [{ figures: new Figures(1) }])).not.toThrow()
  })

  test.each([
    ['a value', { at: 1 }, { at: 2 }],
    ['a value below', { a: [{ b: 'x' }] }, { a: [{ b: 'y' }] }],
    ['a field more', { at: 1, b: 1 }, { at: 1 }],
    ['a field of another name', { a: 1 }, { b: 1 }],
    ['a list that is longer', { a: [1, 2] }, { a: [1] }],
    ['a list where an object was', { a: [] }, { a: {} }],
    ['nothing where an object was', { a: null }, { a: {} }],
    ['what only its JSON shows', { a: new Figures(1) }, { a: new Figures(2) }],
  ])('detects a difference in %s', (_what, one, other) => {
    expect(compare([one], [other])).toThrow('the events, number 0, differs')
    expect(compare([other], [one])).toThrow('the events, number 0, differs')
  })

  test('detects an additional event', () => {
    expect(compare([{ type: 'lap' }], [])).toThrow('the events, number 0, differs')
  })

  test('allows concurrent agents to interleave, but keeps the order of each', () => {
    const of = (callId: string, number: number): unknown => ({ type: 'agent', callId, event: { number } })
    expect(compare([of('a', 1), of('b', 1), of('a', 2)], [of('b', 1), of('a', 1), of('a', 2)])).not.toThrow()
    expect(compare([of('a', 1), of('a', 2)], [of('a', 2), of('a', 1)])).toThrow('differs')
  })
})
