// Holds R-LIVE-11: how full the window is, as a session tells it.
import type { LoopEvent } from '@halting/core'
import { expect, test } from 'vitest'
import { RunFigures } from '../../src/live-session/run-figures.ts'

const noLimits = { maxTurns: null, maxBudgetUsd: null, maxTotalTokens: null, maxDurationMs: null }

function counted(contextTokens: number): LoopEvent {
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

function compacted(preTokens: number, postTokens: number): LoopEvent {
  return {
    type: 'message',
    entry: { kind: 'compact_boundary', id: 'b', messages: [], trigger: 'manual', preTokens, postTokens },
  }
}

function tokensAfter(...events: readonly LoopEvent[]): number {
  const figures = new RunFigures(noLimits, 200_000)
  for (const event of events) figures.onEvent(event)
  return figures.figures(0).contextTokens
}

test('after a compaction the window is as full as that says, and not as it was when it was counted', () => {
  // The service counted the tools too, which the compaction leaves.
  expect(tokensAfter(counted(120_000), compacted(110_000, 8_000))).toBe(18_000)
  expect(tokensAfter(counted(120_000), compacted(110_000, 8_000), counted(19_000))).toBe(19_000)
})

test('never less than what is left, and as much where nothing was counted yet', () => {
  expect(tokensAfter(counted(50_000), compacted(110_000, 8_000))).toBe(8_000)
  expect(tokensAfter(compacted(110_000, 8_000))).toBe(8_000)
})
