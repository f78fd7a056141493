import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  flagDimensions,
  rowsShown,
  noFilter,
  withFlag,
  withRange,
  withWord,
  withWords,
  type SessionFilter,
} from '../../../src/page/sessions/filter.ts'
import { listStateOf, queryOf } from '../../../src/page/sessions/query.ts'
import { standingOf } from '../../../src/page/sessions/row-kinds.ts'
import { compareRows, columnNames, usualSorting } from '../../../src/page/sessions/sorting.ts'
import { rowWith, someRows } from '../support/rows.ts'

const none: ReadonlySet<string> = new Set()

const someRange = fc
  .record({ from: fc.option(fc.nat(1_000), { nil: undefined }), below: fc.option(fc.nat(9_000), { nil: undefined }) })
  .map(({ from, below }) => ({ ...(from === undefined ? {} : { from }), ...(below === undefined ? {} : { below }) }))

/** Applies a filter that sets one dimension on top of another filter. */
const someStep: fc.Arbitrary<(filter: SessionFilter) => SessionFilter> = fc.oneof(
  fc
    .constantFrom('repair', 'REPAIR it', '/one', 'k1', '')
    .map((text) => (filter: SessionFilter) => ({ ...filter, text })),
  fc
    .subarray(['completed', 'max_turns', 'open'])
    .map((words) => (filter: SessionFilter) => withWords(filter, 'ending', words)),
  fc.subarray(['done', 'failed']).map((words) => (filter: SessionFilter) => withWords(filter, 'standing', words)),
  fc.subarray(['gpt', 'claude-opus-5']).map((words) => (filter: SessionFilter) => withWords(filter, 'model', words)),
  fc.subarray(['/work/one', '/work']).map((words) => (filter: SessionFilter) => withWords(filter, 'folder', words)),
  someRange.map((range) => (filter: SessionFilter) => withRange(filter, 'turns', range)),
  someRange.map((range) => (filter: SessionFilter) => withRange(filter, 'changedAt', range)),
  fc.constantFrom(...flagDimensions).map((flag) => (filter: SessionFilter) => withFlag(filter, flag, true)),
)

const someFilter = fc
  .array(someStep, { maxLength: 6 })
  .map((steps) => steps.reduce<SessionFilter>((filter, step) => step(filter), noFilter))

describe('a filter of sessions', () => {
  it('matches all rows when nothing is set', () => {
    fc.assert(
      fc.property(someRows, (rows) => {
        expect(rowsShown(rows, noFilter, none)).toEqual(rows)
      }),
    )
  })

  it('commutes: two filters in either order show the same rows', () => {
    const outliers = new Set(['k0', 'k3'])
    fc.assert(
      fc.property(someRows, someFilter, someFilter, (rows, first, second) => {
        const pass = (filter: SessionFilter, given: typeof rows): typeof rows => rowsShown(given, filter, outliers)
        expect(pass(first, pass(second, rows))).toEqual(pass(second, pass(first, rows)))
      }),
    )
  })

  it('shows fewer rows with every dimension that is set', () => {
    fc.assert(
      fc.property(someRows, someFilter, (rows, filter) => {
        const shown = rowsShown(rows, filter, none)
        expect(rowsShown(shown, filter, none, 'ending')).toEqual(shown)
      }),
    )
  })

  it('round trips through the address', () => {
    fc.assert(
      fc.property(someFilter, fc.constantFrom(...columnNames), fc.boolean(), (filter, by, isDown) => {
        const said = listStateOf(queryOf({ filter, sorting: { by, isDown } }))
        expect(said).toEqual({ filter: { ...filter, text: filter.text.trim() }, sorting: { by, isDown } })
      }),
    )
  })

  it('is left out of the address where it is empty', () => {
    expect(queryOf({ filter: noFilter, sorting: usualSorting })).toBe('')
    expect(listStateOf('')).toEqual({ filter: noFilter, sorting: usualSorting })
  })

  it.each([
    'costUsd=x..y',
    'costUsd=5',
    'only=nothing',
    'sort=nothing',
    '%E0%A4%A',
    'ending=',
    '&&&=',
    'turns=1e999..',
  ])('takes the known part of %j', (query) => {
    const { filter } = listStateOf(query)
    expect([...(filter.flags ?? []), ...Object.keys(filter.ranges)]).toEqual([])
  })

  it('includes the start of a range and excludes its end', () => {
    const filter = withRange(noFilter, 'turns', { from: 2, below: 4 })
    const shown = [1, 2, 3, 4].filter((turns) => rowsShown([rowWith({ turns })], filter, none).length > 0)
    expect(shown).toEqual([2, 3])
  })

  it('includes the folders below a folder, but no folder with the same prefix', () => {
    const filter = withWord(noFilter, 'folder', '/work/one')
    const shown = ['/work/one', '/work/one/below', '/work/one-more', '/work'].filter(
      (cwd) => rowsShown([rowWith({ cwd })], filter, none).length > 0,
    )
    expect(shown).toEqual(['/work/one', '/work/one/below'])
  })

  it('excludes rows without a time from a range of time', () => {
    const filter = withRange(noFilter, 'changedAt', { from: 0 })
    expect(rowsShown([rowWith({ changedAt: null })], filter, none)).toEqual([])
  })

  it('toggles a word', () => {
    const once = withWord(noFilter, 'ending', 'completed')
    expect(once.words).toEqual({ ending: ['completed'] })
    expect(withWord(once, 'ending', 'completed')).toEqual(noFilter)
  })
})

describe('the status of a session', () => {
  it.each([
    [rowWith(), 'done'],
    [rowWith({ ending: 'max_turns', exitCode: 3 }), 'limit'],
    [rowWith({ ending: 'hook_stopped', exitCode: 4 }), 'stopped'],
    [rowWith({ ending: 'needs_approval', exitCode: 5 }), 'waiting'],
    [rowWith({ ending: 'model_error', exitCode: 1 }), 'failed'],
    [rowWith({ ending: 'aborted_tools', exitCode: 130 }), 'interrupted'],
    [rowWith({ ending: 'aborted_tools', exitCode: 143 }), 'interrupted'],
    [rowWith({ ending: 'abandoned', exitCode: null }), 'interrupted'],
    [rowWith({ ending: null, exitCode: null, isLive: true }), 'running'],
    [rowWith({ ending: null, exitCode: null }), 'open'],
    [rowWith({ problem: 'torn' }), 'unread'],
  ])('%#', (row, standing) => {
    expect(standingOf(row)).toBe(standing)
  })
})

describe('the order of sessions', () => {
  it('is total: sorting twice, or in reverse, agrees', () => {
    fc.assert(
      fc.property(someRows, fc.constantFrom(...columnNames), fc.boolean(), (rows, by, isDown) => {
        const order = { by, isDown }
        const once = rows.toSorted((a, b) => compareRows(a, b, order))
        const twice = rows.toReversed().toSorted((a, b) => compareRows(a, b, order))
        expect(twice).toEqual(once)
      }),
    )
  })
})
