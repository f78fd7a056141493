import { describe, expect, it } from 'vitest'
import { alignTurns } from '../../../src/page/compare/align.ts'
import { changeText, comparedFigures, differencesOf, divergenceText } from '../../../src/page/compare/differences.ts'
import { turnsOf } from '../../../src/page/compare/turns.ts'
import { runWith, viewWith, type TestTurn } from '../support/views.ts'

const turnsFrom = (given: readonly TestTurn[]): ReturnType<typeof turnsOf> =>
  turnsOf(viewWith('a', [runWith(given)]), undefined)

const divergence = (one: readonly TestTurn[], other: readonly TestTurn[]): string => {
  const [first, second] = [turnsFrom(one), turnsFrom(other)]
  return divergenceText(alignTurns(first, second).pairs, first, second)
}

const call = (...calls: readonly string[]): TestTurn => ({ calls })

describe('turns of a session', () => {
  it('have their own figures and the running totals, over all runs', () => {
    const view = viewWith('a', [
      runWith([{ calls: ['Bash npm test'], costUsd: 0.5 }, call()]),
      runWith([{ calls: ['Read x!'], costUsd: 0.25 }], null, 2),
    ])
    expect(
      turnsOf(view, undefined).map(({ run, turn, calls, costUsd, soFar }) => ({ run, turn, calls, costUsd, soFar })),
    ).toEqual([
      {
        run: 1,
        turn: 1,
        calls: [{ tool: 'Bash', label: 'Bash npm test', inputDigest: 'Bash npm test#', status: 'done' }],
        costUsd: 0.5,
        soFar: { tokens: 100, costUsd: 0.5, ms: 1_000 },
      },
      { run: 1, turn: 2, calls: [], costUsd: 0.01, soFar: { tokens: 200, costUsd: 0.51, ms: 2_000 } },
      {
        run: 2,
        turn: 1,
        calls: [{ tool: 'Read', label: 'Read x', inputDigest: 'Read x#', status: 'failed' }],
        costUsd: 0.25,
        soFar: { tokens: 300, costUsd: 0.76, ms: 3_000 },
      },
    ])
    expect(turnsOf(view, 2)).toMatchObject([{ run: 2, soFar: { tokens: 100, costUsd: 0.25, ms: 1_000 } }])
  })
})

describe('where two runs diverge', () => {
  it.each([
    [[call()], [call()], 'All turns made the same calls, with the same inputs and the same outcomes: 1 turn.'],
    [[], [], 'Neither session has a turn.'],
    [
      [call('Read a'), call('Bash a'), call()],
      [call('Read a'), call('Bash b', 'Bash c'), call()],
      'They differ after 1 turn with the same calls: turn 2 of the first and turn 2 of the second made different calls. The first: Bash a. The second: Bash b, Bash c.',
    ],
    [
      [call('Bash a'), call()],
      [call('Bash a!'), call()],
      'They differ at the first turn: turn 1 of the first and turn 1 of the second had different outcomes. The first: Bash a (done). The second: Bash a (failed).',
    ],
    [
      [call('Write a #1')],
      [call('Write a #2')],
      'They differ at the first turn: turn 1 of the first and turn 1 of the second made the same calls with different inputs. The first: Write a (done). The second: Write a (done).',
    ],
    [
      [call('Read a'), call('Bash a')],
      [call('Read a')],
      'They differ after 1 turn with the same calls: the second made no more turns, and the first made 1 more turn.',
    ],
    [
      [call('Read a')],
      [call('Edit b'), call('Read a')],
      'They differ at the first turn: turn 1 of the second has no counterpart. It was: Edit b.',
    ],
  ])('is described in words: %#', (one, other, text) => {
    expect(divergence(one, other)).toBe(text)
  })

  it('includes a different model, a different result and a compaction', () => {
    const first = turnsFrom([{ calls: ['Bash a'] }])
    const second = turnsFrom([{ calls: ['Bash a!'], model: 'gpt', isCompacted: true }])
    const [pair] = alignTurns(first, second).pairs
    expect(pair && differencesOf(pair, first, second)).toEqual(['outcomes', 'model', 'compaction'])
  })
})

describe('figures of two sessions', () => {
  it('are shown with their differences and without inherited figures', () => {
    const one = viewWith('a', [runWith([call('Bash a'), call()])])
    const other = viewWith('b', [runWith([call()], 'max_turns', 5), runWith([{ calls: [], costUsd: 0.01 }], null)])
    expect(comparedFigures([one, other], [undefined, 1]).map((each) => Object.values(each).join(' | '))).toEqual([
      'ending | completed | max_turns | different',
      'dollars | $0.0200 | $0.0100 | −50 %',
      'turns | 2 | 1 | −50 %',
      'requests | 2 | 1 | −50 %',
      'tokens | 200 | 100 | −50 %',
      'time | 2.0 s | 1.0 s | −50 %',
    ])
    expect(comparedFigures([one, other], [undefined, undefined])[0]?.second).toBe('none')
  })

  it('do not compare dollars where a model has no price', () => {
    const one = viewWith('a', [runWith([call()])])
    const other = { ...one, row: { ...one.row, unpriced: ['x'] } }
    expect(comparedFigures([one, other], [undefined, undefined])[1]).toEqual({
      name: 'dollars',
      first: '$0.0100',
      second: '$0.0100 + ?',
      change: 'a model has no known price',
    })
  })

  it.each([
    [5, 5, 'the same'],
    [0, 5, 'from nothing'],
    [10, 12, '+20 %'],
    [10, 20, '2.0 times'],
    [10, 0, '−100 %'],
    [1_000, 1_001, 'a little more'],
  ])('%d and %d: %s', (first, second, text) => {
    expect(changeText(first, second)).toBe(text)
  })
})
