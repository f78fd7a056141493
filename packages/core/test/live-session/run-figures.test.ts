// Tests R-LIVE-11, how full the window is as reported by a session, and R-FIG-3a, the spending of the whole tree.
import type { RunEvent } from '../../src/state/events.ts'
import { describe, expect, test } from 'vitest'
import { RunFigures } from '../../src/live-session/run-figures.ts'

const noLimits = {
  maxTurns: null,
  maxBudgetUsd: null,
  maxTotalTokens: null,
  maxDurationMs: null,
  maxRunUsd: null,
  maxToolCalls: null,
}

function counted(contextTokens: number): RunEvent {
  const nothing = {
    settledUsd: 0,
    unknownUsd: 0,
    reservedUsd: 0,
    leftUsd: null,
    settledTokens: 0,
    reservedTokens: 0,
    waitingRequests: 0,
    leftTokens: null,
  }
  return { type: 'figures', ...nothing, contextTokens, contextWindow: 200_000, usedMs: 1, leftMs: null }
}

function compacted(preTokens: number, postTokens: number): RunEvent {
  return {
    type: 'message',
    entry: { kind: 'compact_boundary', id: 'b', messages: [], trigger: 'manual', preTokens, postTokens },
  }
}

function tokensAfter(...events: readonly RunEvent[]): number {
  const figures = new RunFigures(noLimits, 200_000)
  for (const event of events) figures.onEvent(event)
  return figures.figures(0).contextTokens
}

test("reports the window after a compaction by the compaction's figure, and not by the earlier count", () => {
  // The service counted the tools too, which the compaction does not remove.
  expect(tokensAfter(counted(120_000), compacted(110_000, 8_000))).toBe(18_000)
  expect(tokensAfter(counted(120_000), compacted(110_000, 8_000), counted(19_000))).toBe(19_000)
})

test('reports at least what is left, and as much when nothing was counted yet', () => {
  expect(tokensAfter(counted(50_000), compacted(110_000, 8_000))).toBe(8_000)
  expect(tokensAfter(compacted(110_000, 8_000))).toBe(8_000)
})

describe('while agents work', () => {
  const limits = {
    maxTurns: null,
    maxBudgetUsd: 1,
    maxTotalTokens: 100_000,
    maxDurationMs: 60_000,
    maxRunUsd: null,
    maxToolCalls: null,
  }
  /** The event as the loop reports it from inside an agent, this many levels below. */
  const ofAgent = (event: RunEvent, levels = 1): RunEvent =>
    levels === 0 ? event : ofAgent({ type: 'agent', callId: `call_${levels}`, agentType: 'Agent', event }, levels - 1)
  const spent: RunEvent = {
    type: 'figures',
    settledUsd: 0.0028,
    unknownUsd: 0,
    reservedUsd: 0.05,
    leftUsd: 0.9472,
    settledTokens: 900,
    reservedTokens: 4_000,
    leftTokens: 95_100,
    waitingRequests: 2,
    contextTokens: 77,
    contextWindow: 8_000,
    usedMs: 5_000,
    leftMs: 55_000,
  }

  test.each([1, 3])(
    'shows the figures of the whole run, %i levels below, and the window of the run itself',
    (levels) => {
      const figures = new RunFigures(limits, 200_000)
      figures.begin(limits, 0)
      expect(figures.onEvent(counted(40_000))).toBe(true)
      expect(figures.onEvent(ofAgent(spent, levels))).toBe(true)
      expect(figures.figures(figures.knownUsd)).toMatchObject({
        settledUsd: 0.0028,
        sessionUsd: 0.0028,
        reservedUsd: 0.05,
        leftUsd: 0.9472,
        settledTokens: 900,
        reservedTokens: 4_000,
        leftTokens: 95_100,
        waitingRequests: 2,
        contextTokens: 40_000,
        contextWindow: 200_000,
        usedMs: 5_000,
        leftMs: 55_000,
      })
      // The next stop is computed from the same figures.
      expect(figures.left).toMatchObject({ usd: 0.9472, tokens: 95_100, ms: 55_000 })
    },
  )

  test('ignores everything else that an agent reports', () => {
    const figures = new RunFigures(limits, 200_000)
    figures.begin(limits, 0)
    figures.onEvent(counted(40_000))
    const before = figures.figures(0)
    expect([
      figures.onEvent(ofAgent({ type: 'turn_start', request: 9, turn: 9 })),
      figures.onEvent(ofAgent(compacted(30_000, 10))),
    ]).toEqual([false, false])
    expect(figures.figures(0)).toEqual(before)
  })
})
