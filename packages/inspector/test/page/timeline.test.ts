import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { axisOf, panned, rangeShowing, ticks, usualScale, wholeRange, zoomed } from '../../src/page/session/axis.ts'
import { barsOf } from '../../src/page/session/draw-lanes.ts'
import { itemAt, lanesOf, parentOf, type Lane } from '../../src/page/session/lanes.ts'
import { itemOfPart, matchingItems, partOf, placeIn } from '../../src/page/session/selection.ts'
import type { TimelineItem } from '@halting/analysis/view'
import { isDeep } from '../../../agent/test/support/deep.ts'
import { generatedSession } from '../support/generated-session.ts'

const scopes = ['', 'agent:1:0:a/', 'agent:1:0:a/agent:1:0:b/'] as const

/** Items by their start, as in a view, of all kinds and in nested agents. */
const anyItems = fc
  .array(
    fc.record({
      kind: fc.constantFrom<TimelineItem['kind']>('turn', 'attempt', 'tool', 'hook', 'wait', 'lap', 'ending'),
      scope: fc.constantFrom(...scopes),
      startMs: fc.nat(500),
      ms: fc.option(fc.nat(200)),
      status: fc.constantFrom('', 'done', 'failed'),
    }),
    { maxLength: 60 },
  )
  .map((made): readonly TimelineItem[] =>
    made
      .toSorted((a, b) => a.startMs - b.startMs)
      .map(({ kind, scope, startMs, ms, status }, id) => ({
        id,
        kind,
        scope,
        startMs,
        status,
        request: 1,
        label: `${kind} ${id}`,
        tokens: 0,
        costUsd: 0,
        part: null,
        endMs: ms === null ? null : startMs + ms,
        firstRecord: id,
        lastRecord: id,
      })),
  )
const allOpen = new Set<string>(scopes)

describe('the lanes of a timeline', () => {
  it('have each unfolded item once, in lanes without overlaps', () => {
    fc.assert(
      fc.property(anyItems, fc.constantFrom('time' as const, 'records' as const), (items, scale) => {
        const axis = axisOf(items, scale)
        const lanes = lanesOf(items, axis, allOpen)
        expect(lanes.flatMap(({ ids }) => [...ids]).toSorted((a, b) => a - b)).toEqual(items.map(({ id }) => id))
        for (const lane of lanes.filter(({ id }) => !id.endsWith('marks')))
          for (let index = 1; index < lane.ids.length && lanes.length < 24; index++)
            expect(lane.starts[index]).toBeGreaterThanOrEqual(lane.ends[index - 1] ?? 0)
      }),
    )
  })

  it('leave out the steps of a folded agent, nested ones too', () => {
    const { items } = generatedSession({ turns: 5 }).view.runs[0]!
    const axis = axisOf(items, 'time')
    const folded = lanesOf(items, axis, new Set())
    expect(folded.map(({ label }) => label)).toEqual(['turns', 'model', 'tools', 'tools', 'agents', 'hooks', 'marks'])
    const unfolded = lanesOf(items, axis, new Set(['agent:5:0:call/']))
    expect(unfolded.map(({ label }) => label)).toEqual([
      'turns',
      'model',
      'tools',
      'tools',
      'agents',
      '› model',
      '› tools',
      'hooks',
      'marks',
    ])
    expect(parentOf('agent:1:0:a/agent:1:0:b/')).toBe('agent:1:0:a/')
    expect(parentOf('agent:1:0:a/')).toBe('')
  })

  it('are drawn with no more bars than pixels, which cover every visible item and show each failure', () => {
    fc.assert(
      fc.property(
        anyItems,
        fc.integer({ min: 20, max: 400 }),
        fc.nat(400),
        fc.integer({ min: 1, max: 300 }),
        (items, width, from, span) => {
          const axis = axisOf(items, 'time')
          const range = { from, to: from + span }
          for (const lane of lanesOf(items, axis, allOpen)) {
            const bars = barsOf(lane, range, { left: 0, width })
            expect(bars.length).toBeLessThanOrEqual(width)
            const drawn = new Set(bars.flatMap(({ index, count }) => [...lane.ids.subarray(index, index + count)]))
            const seen = [...lane.ids].filter(
              (_, index) => (lane.ends[index] ?? 0) >= range.from && (lane.starts[index] ?? 0) <= range.to,
            )
            expect(seen.filter((id) => !drawn.has(id))).toEqual([])
            for (const { index, count, isWrong } of bars)
              expect(isWrong).toBe([...lane.ids.subarray(index, index + count)].some((id) => isFailedItem(items[id]!)))
          }
        },
      ),
    )
  })

  it('have a few hundred bars for very many items', () => {
    const turns = isDeep ? 20_000 : 2_000
    const { items } = generatedSession({ turns }).view.runs[0]!
    expect(items.length).toBeGreaterThan(5 * turns)
    const axis = axisOf(items, 'time')
    for (const lane of lanesOf(items, axis, new Set()))
      expect(barsOf(lane, wholeRange(axis), { left: 0, width: 1_000 }).length).toBeLessThanOrEqual(500)
  })

  it('find the item at a position, or none', () => {
    const lane = laneOfTurns()
    expect(itemAt(lane, 150, 0)).toBe(lane.ids[1])
    expect(itemAt(lane, 10_000, 5)).toBe(undefined)
    expect(itemAt(lane, -3, 5)).toBe(lane.ids[0])
  })
})

const isFailedItem = ({ kind, status }: TimelineItem): boolean => kind !== 'ending' && status === 'failed'

function laneOfTurns(): Lane {
  const { items } = generatedSession({ turns: 3 }).view.runs[0]!
  return lanesOf(items, axisOf(items, 'time'), new Set())[0]!
}

describe('the axis of a timeline', () => {
  const axis = axisOf(generatedSession({ turns: 10 }).view.runs[0]!.items, 'time')

  it('stays within its bounds, however one zooms and pans', () => {
    const step = fc.oneof(
      fc.record({
        about: fc.integer({ min: -100, max: 1_200 }),
        factor: fc.double({ min: 0.01, max: 100, noNaN: true }),
      }),
      fc.record({ by: fc.integer({ min: -2_000, max: 2_000 }) }),
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let range = wholeRange(axis)
        for (const each of steps)
          range = 'by' in each ? panned(range, axis, each.by) : zoomed(range, axis, each.about, each.factor)
        expect(range.from).toBeGreaterThanOrEqual(0)
        expect(range.to).toBeLessThanOrEqual(axis.length + 1e-6)
        expect(range.to - range.from).toBeGreaterThanOrEqual(1 - 1e-6)
      }),
    )
  })

  it('keeps the zoomed position fixed, and shows the selection', () => {
    expect(zoomed({ from: 0, to: 1_000 }, axis, 500, 0.5)).toEqual({ from: 250, to: 750 })
    expect(rangeShowing({ from: 0, to: 100 }, axis, 20, 50)).toEqual({ from: 0, to: 100 })
    const { from, to } = rangeShowing({ from: 0, to: 100 }, axis, 500, 540)
    expect([from <= 500, to >= 540, to - from]).toEqual([true, true, 100])
  })

  it('counts records where no time passed', () => {
    const [first] = generatedSession().view.runs[0]!.items
    expect(usualScale([{ ...first!, startMs: 0, endMs: 0 }])).toBe('records')
    expect(ticks({ from: 0, to: 100 }, 5)).toEqual([0, 20, 40, 60, 80, 100])
    expect(ticks({ from: 0.5, to: 3.5 }, 8, 1)).toEqual([1, 2, 3])
  })
})

describe('the selection in a run', () => {
  const { items } = generatedSession({ turns: 7 }).view.runs[0]!

  it('is found from its part of the transcript, and the other way round', () => {
    const call = items.find(({ kind, part }) => kind === 'tool' && part !== null)!
    expect(itemOfPart(items, call.part!)).toBe(call.id)
    expect(partOf(items, call.id)).toBe(call.part)
    const hook = items.find(({ kind }) => kind === 'hook')!
    expect(partOf(items, hook.id)).toBe(items[hook.id - 1]?.part)
    expect(itemOfPart(items, 10_000)).toBe(undefined)
  })

  it('can be searched for by all its words in any order', () => {
    expect([...matchingItems(items, 'FAILED edit')].map((id) => items[id]?.label)).toEqual(['Edit file-7.ts'])
    expect(matchingItems(items, ' ').length).toBe(items.length)
    const some = Int32Array.from([2, 5, 9])
    expect([2, 3, 9, 10].map((id) => placeIn(some, id))).toEqual([0, 1, 2, 3])
  })
})
