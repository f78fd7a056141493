import { describe, expect, it } from 'vitest'
import { RowList } from '../../src/page/data/store.ts'
import { rowWith } from './support/rows.ts'

const row = (key: string, turns = 1) => rowWith({ key, turns })
const shownRows = (list: RowList): unknown => list.all.map(({ key, turns }) => [key, turns])

describe('the rows of the list', () => {
  it('follow changes in place and leave others as they are', () => {
    const list = new RowList()
    list.begin()
    list.take([row('a'), row('b'), row('c')])
    list.end()
    const [, b] = list.all
    list.change([row('a', 2), row('d')], ['c', 'never'])
    expect(shownRows(list)).toEqual([
      ['a', 2],
      ['b', 1],
      ['d', 1],
    ])
    expect(list.all[1]).toBe(b)
  })

  it('are the current ones once the list was read again', () => {
    const list = new RowList()
    for (const keys of [
      ['a', 'b', 'c'],
      ['c', 'a'],
    ]) {
      list.begin()
      list.take(keys.map((key) => row(key)))
      list.end()
    }
    expect(shownRows(list)).toEqual([
      ['a', 1],
      ['c', 1],
    ])
  })

  it('include changes that arrived in the meantime, and not the older rows of the read', () => {
    const list = new RowList()
    list.begin()
    list.take([row('a'), row('went')])
    list.change([row('a', 2), row('late', 2), row('came')], ['went', 'gone'])
    list.take([row('late'), row('gone')])
    list.end()
    expect(shownRows(list)).toEqual([
      ['a', 2],
      ['late', 2],
      ['came', 1],
    ])
  })

  it('stay where the list could not be read to its end', () => {
    const list = new RowList()
    list.begin()
    list.take([row('a'), row('b')])
    list.end()
    list.begin()
    list.take([row('b', 2)])
    list.giveUp()
    expect(shownRows(list)).toEqual([
      ['a', 1],
      ['b', 2],
    ])
  })
})
