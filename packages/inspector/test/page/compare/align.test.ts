import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignTurns, type AlignableTurn, type Pair } from '../../../src/page/compare/align.ts'

/** `'Bash a, Read b'` is a turn of two calls; `''` is an answer. */
const turn = (text: string): AlignableTurn => ({
  calls: text === '' ? [] : text.split(', ').map((label) => ({ tool: label.split(' ')[0] ?? '', label })),
})
const turns = (...texts: readonly string[]): readonly AlignableTurn[] => texts.map(turn)
const pairLines = (pairs: readonly Pair[]): readonly string[] =>
  pairs.map(({ first, second, kind }) => `${first ?? '–'} ${second ?? '–'} ${kind}`)

const someTurns = fc.array(
  fc.subarray(['Bash a', 'Bash b', 'Read a', 'Edit a'], { maxLength: 3 }).map((calls) => turn(calls.join(', '))),
  { maxLength: 12 },
)

describe('aligned turns', () => {
  it('are identical where two runs are the same', () => {
    fc.assert(
      fc.property(someTurns, (run) => {
        expect(alignTurns(run, run).pairs).toEqual(
          run.map((_, place) => ({ first: place, second: place, kind: 'same' })),
        )
      }),
    )
  })

  it.each([1_000_000, 4])('are the same pairs when the sides are exchanged (%d cells)', (cells) => {
    const inOrder = (pairs: readonly Pair[]): readonly string[] => pairLines(pairs).toSorted()
    fc.assert(
      fc.property(someTurns, someTurns, (one, other) => {
        const back = alignTurns(other, one, cells, 3).pairs.map(({ first, second, kind }): Pair => {
          if (kind === 'only-first') return { first: second, second: first, kind: 'only-second' }
          return { first: second, second: first, kind: kind === 'only-second' ? 'only-first' : kind }
        })
        expect(inOrder(back)).toEqual(inOrder(alignTurns(one, other, cells, 3).pairs))
      }),
    )
  })

  it.each([1_000_000, 4])('have every turn of both runs once, in order (%d cells)', (cells) => {
    fc.assert(
      fc.property(someTurns, someTurns, (one, other) => {
        const { pairs } = alignTurns(one, other, cells, 3)
        expect(pairs.flatMap(({ first }) => first ?? [])).toEqual(one.map((_, place) => place))
        expect(pairs.flatMap(({ second }) => second ?? [])).toEqual(other.map((_, place) => place))
      }),
    )
  })

  it('leave a gap for a turn that only one run has', () => {
    const one = turns('Read a', 'Bash a', 'Edit a', '')
    const other = turns('Read a', 'Edit a', '')
    expect(pairLines(alignTurns(one, other).pairs)).toEqual(['0 0 same', '1 – only-first', '2 1 same', '3 2 same'])
    expect(pairLines(alignTurns(other, one).pairs)).toEqual(['0 0 same', '– 1 only-second', '1 2 same', '2 3 same'])
  })

  it('are paired where the tool is the same and its input differs', () => {
    const pairs = alignTurns(turns('Read a', 'Bash a', ''), turns('Read a', 'Bash b', '')).pairs
    expect(pairLines(pairs)).toEqual(['0 0 same', '1 1 changed', '2 2 same'])
  })

  it('are not paired where nothing matches', () => {
    const pairs = alignTurns(turns('Read a'), turns('Bash a')).pairs
    expect(pairLines(pairs)).toEqual(['0 – only-first', '– 0 only-second'])
  })

  it('are the same where calls of one turn are in another order', () => {
    expect(pairLines(alignTurns(turns('Read a, Bash b'), turns('Bash b, Read a')).pairs)).toEqual(['0 0 same'])
  })

  it('are aligned in pieces where there are many, and say so', () => {
    const long = Array.from({ length: 4_000 }, (_, index) => turn(`Bash ${index}`))
    const other = [turn('Read x'), ...long.slice(1, -1), turn('Read y')]
    const { pairs, pieces } = alignTurns(long, other)
    expect(pieces).toBe(1_500)
    expect(pairs.filter(({ kind }) => kind === 'same')).toHaveLength(3_998)
  })

  it('need no pieces for equal turns at both ends, however many', () => {
    const long = Array.from({ length: 20_000 }, (_, index) => turn(`Bash ${index}`))
    const { pairs, pieces } = alignTurns(long, long.toSpliced(10_000, 1))
    expect([pieces, pairs.filter(({ kind }) => kind !== 'same')]).toEqual([
      null,
      [{ first: 10_000, second: null, kind: 'only-first' }],
    ])
  })
})
