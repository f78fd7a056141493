import { describe, expect, it } from 'vitest'
import { fenceOf, findOutliers } from '../../../src/page/sessions/outliers.ts'
import { rowWith } from '../support/rows.ts'

const usual = [1, 2, 2, 3, 3, 4, 4, 8].map((dollars, index) => rowWith({ key: `u${index}`, costUsd: dollars / 100 }))

describe('outliers', () => {
  it('are absent among similar sessions', () => {
    expect(findOutliers(usual)).toEqual([])
  })

  it('cost far more than the others, and state the usual range', () => {
    expect(findOutliers([...usual, rowWith({ key: 'dear', costUsd: 3 })])).toEqual([
      {
        key: 'dear',
        rule: 'far',
        why: 'Unusually high: dollars $3.00; half of the sessions are between $0.0200 and $0.0400.',
      },
    ])
  })

  it('may be far below, unless they are still running', () => {
    const short = rowWith({ key: 'short', costUsd: 0.0001 })
    const running = rowWith({ key: 'running', costUsd: 0.0001, ending: null, exitCode: null, isLive: true })
    expect(findOutliers([...usual, short, running]).map(({ key }) => key)).toEqual(['short'])
  })

  it('are not derived from figures of fewer than eight sessions', () => {
    expect(findOutliers([rowWith({ key: 'x', costUsd: 100 }), rowWith()])).toEqual([])
    expect(fenceOf(usual.slice(1), 'costUsd')).toBeUndefined()
  })

  it('are at least twice the usual value where all others agree', () => {
    const same = Array.from({ length: 9 }, (_, index) => rowWith({ key: `s${index}` }))
    const outliers = findOutliers([...same, rowWith({ key: 'more', turns: 5 }), rowWith({ key: 'twice', turns: 7 })])
    expect(outliers.map(({ key }) => key)).toEqual(['twice'])
  })

  it('use the quartiles that a manual computation gives', () => {
    const powers = [1, 2, 4, 8, 16, 32, 64, 128, 256].map((turns, index) => rowWith({ key: `p${index}`, turns }))
    const fence = fenceOf(powers, 'turns')
    expect(fence?.quartiles.map((each) => Math.round(each * 1e6) / 1e6)).toEqual([4, 64])
    // 1.5 times the interquartile range: a factor of 16 to the power of 1.5.
    expect([fence?.low, fence?.high].map((each) => Math.round((each ?? 0) * 1e6) / 1e6)).toEqual([0.0625, 4096])
  })

  it.each([
    [rowWith({ ending: 'model_error', exitCode: 1 }), 'failed-with-cost', 'It failed (model_error) and cost $0.0100.'],
    [
      rowWith({ ending: null, exitCode: null }),
      'open',
      'Its last run has no ending after 3 turns, and no process works on it.',
    ],
    [rowWith({ calls: 10, failedCalls: 6 }), 'failed-calls', '6 of 10 tool calls failed.'],
  ])('give their reason: %#', (row, rule, why) => {
    expect(findOutliers([row])).toEqual([{ key: 'a', rule, why }])
  })

  it.each([
    rowWith({ ending: 'model_error', exitCode: 1, costUsd: 0 }),
    rowWith({ ending: null, exitCode: null, isLive: true }),
    rowWith({ calls: 100, failedCalls: 6 }),
    rowWith({ calls: 4, failedCalls: 4 }),
    rowWith({ problem: 'torn', ending: null, exitCode: null }),
    rowWith({ ending: null, exitCode: null, runs: 1, copiedRuns: 1 }),
  ])('exclude other rows: %#', (row) => {
    expect(findOutliers([row])).toEqual([])
  })
})
