// Holds R-CALIB-6 of docs/spec: the least limits under which a run is the same are the lowest at which what-if says so.
import { describe, expect, test } from 'vitest'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { runNeeds } from '../../src/calibration/calibrate-trajectories.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { liveRun, worldOf } from '../support/what-if-world.ts'

const seeds = Array.from({ length: drawn(1_500) }, (_, seed) => seed)

let tight = 0

describe('a run is the same with the least limits and different below them', () => {
  test.each(seeds)('seed %i', async (seed) => {
    const { records } = await liveRun(worldOf(seed)())
    const trajectory = trajectoryOf(records)
    const { usd, tokens, activeMs, turns } = runNeeds(trajectory, [])
    const verdictOf = (limits: Parameters<typeof whatIf>[1]): string => whatIf(trajectory, limits).verdict
    expect(verdictOf({ maxRunUsd: usd, maxTotalTokens: tokens, maxDurationMs: activeMs, maxTurns: turns })).toBe('same')
    expect(verdictOf({ maxTurns: turns - 1 })).toBe('stops')
    expect(verdictOf({ maxDurationMs: activeMs - 1 })).toBe('stops')
    // A failed request would have failed with less as well; and a limit equal to the whole usage is no tighter.
    const hasFailed = trajectory.turns.some(({ payments }) => payments.some(({ isAtWorst }) => isAtWorst))
    const payments = trajectory.turns.flatMap((turn) => turn.payments)
    const usedTokens = payments.reduce((sum, each) => sum + each.tokens, 0)
    const usedNanos = payments.reduce((sum, each) => sum + each.nanos, 0)
    expect(tokens).toBeGreaterThanOrEqual(usedTokens)
    expect(usd).toBeGreaterThanOrEqual(usedNanos / 1e9)
    // A tenth of a millionth of a dollar: nano-dollars are rounded.
    const lessUsd = Math.round((usd ?? 0) * 1e9) - 100
    const less = [
      ...(hasFailed || lessUsd < usedNanos ? [] : [verdictOf({ maxRunUsd: lessUsd / 1e9 })]),
      ...(hasFailed || tokens - 1 < usedTokens ? [] : [verdictOf({ maxTotalTokens: tokens - 1 })]),
    ]
    tight += less.length
    expect(less).not.toContain('same')
  })

  test('many runs need more than they used', () => expect(tight).toBeGreaterThan(seeds.length / 4))
})
