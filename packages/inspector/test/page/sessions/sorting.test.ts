import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSorted, mergedInPlace, sorted, sortingBy, usualSorting } from '../../../src/page/sessions/sorting.ts'
import { rowWith, someRows } from '../support/rows.ts'

const keys = (rows: readonly { readonly key: string }[]): readonly string[] => rows.map(({ key }) => key)

describe('rows in a displayed order', () => {
  it('keep their order when sessions are added and change, without losing or repeating any', () => {
    fc.assert(
      fc.property(someRows, fc.nat(40), (rows, stood) => {
        const before = keys(sorted(rows.slice(0, stood), usualSorting))
        const changed = rows.map((row, index) => (index % 2 === 0 ? { ...row, changedAt: 3e12 } : row))
        const after = keys(mergedInPlace(before, changed, usualSorting))
        expect(after.filter((key) => before.includes(key))).toEqual(before)
        expect(after.toSorted()).toEqual(keys(rows).toSorted())
      }),
    )
  })

  it('are sorted like all others where nothing was displayed before', () => {
    fc.assert(
      fc.property(someRows, (rows) => {
        expect(mergedInPlace([], rows, usualSorting)).toEqual(sorted(rows, usualSorting))
      }),
    )
  })

  it('have new rows where the sorting puts them', () => {
    const sorting = { by: 'turns', isDown: false } as const
    const rows = [1, 5, 9, 4].map((turns) => rowWith({ key: `t${turns}`, turns }))
    expect(keys(mergedInPlace(['t1', 't5', 't9'], rows, sorting))).toEqual(['t1', 't4', 't5', 't9'])
  })

  it('are recognized as out of order', () => {
    const sorting = { by: 'turns', isDown: false } as const
    const rows = [1, 5].map((turns) => rowWith({ key: `t${turns}`, turns }))
    expect([isSorted(rows, sorting), isSorted(rows.toReversed(), sorting)]).toEqual([true, false])
  })
})

describe('selecting a column', () => {
  it('sorts words upward and figures downward at first, and reverses the next time', () => {
    const title = sortingBy('title', usualSorting)
    expect([title, sortingBy('title', title), sortingBy('costUsd', title)]).toEqual([
      { by: 'title', isDown: false },
      { by: 'title', isDown: true },
      { by: 'costUsd', isDown: true },
    ])
  })

  it('puts rows without a value last in both directions', () => {
    const rows = [null, 5, 7].map((changedAt) => rowWith({ key: String(changedAt), changedAt }))
    const order = (isDown: boolean): readonly string[] => keys(sorted(rows, { by: 'changedAt', isDown }))
    expect([order(true), order(false)]).toEqual([
      ['7', '5', 'null'],
      ['5', '7', 'null'],
    ])
  })
})
