// Holds R-IF-3, R-IF-3a, R-IF-4, R-LIM-76 and R-LIM-77 of docs/spec for several limits at once: they are checked in the order of the loop.
import { describe, expect, test } from 'vitest'
import { noProgress } from '@halting/core'
import { trajectoryOf, type Trajectory } from '../../src/what-if/trajectory.ts'
import { whatIf, type WhatIf } from '../../src/what-if/what-if.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { randomOf, liveRun, worldOf } from '../support/what-if-world.ts'

const names = [
  'maxTurns',
  'maxDurationMs',
  'maxBudgetUsd',
  'maxRunUsd',
  'maxToolCalls',
  'maxTotalTokens',
  'noProgress',
] as const

/** A live run is charged the worst case for a request that its time limit cuts off, which the record of the whole run does not have. */
function isCutInFlight(trajectory: Trajectory, { reason, kept }: WhatIf): boolean {
  if (reason !== 'time_limit') return false
  return trajectory.turns.some(({ payments }) =>
    payments.some(({ beganMs, endMs }) => beganMs < kept.activeMs && kept.activeMs <= endMs),
  )
}

const seeds = Array.from({ length: drawn(1_500) }, (_, seed) => seed)

describe('the answer for two or three limits equals a live run with them', () => {
  test.each(seeds)('seed %i', async (seed) => {
    const options = worldOf(seed)
    const draw = randomOf(seed + 5_000)
    const whole = await liveRun(options())
    const trajectory = trajectoryOf(whole.records)
    const { summary, costUsd, totalTokens, durationMs } = whole.terminal
    for (let time = 0; time < 6; time++) {
      const drawnMs = 1 + draw(durationMs + 20)
      const values = {
        maxTurns: 1 + draw(summary.turns + 1),
        // A run that takes exactly the permitted time can end either way.
        maxDurationMs: drawnMs === durationMs ? drawnMs + 1 : drawnMs,
        maxBudgetUsd: 1 + draw(Math.floor(costUsd) + 100),
        maxRunUsd: 1 + draw(Math.floor(costUsd) + 100),
        maxToolCalls: 1 + draw(2 * summary.turns),
        maxTotalTokens: 1 + draw(totalTokens + 100),
        noProgress: true,
      }
      const chosen = new Set<(typeof names)[number]>()
      for (const count = 2 + draw(2); chosen.size < count;) chosen.add(names[draw(names.length)] ?? 'maxTurns')
      const limits = Object.fromEntries([...chosen].map((name) => [name, values[name]]))
      const { noProgress: isGuarded, ...others } = limits
      const guards = isGuarded === undefined ? {} : { stopWhen: noProgress() }
      const { terminal } = await liveRun({ ...options(), ...others, ...guards })
      const answer = whatIf(trajectory, limits)
      const { kept, isAtTheLatest } = answer
      const about = `${seed} ${JSON.stringify(limits)}`
      expect([about, answer.reason, kept.turns, kept.activeMs, isAtTheLatest]).toEqual([
        about,
        terminal.reason,
        terminal.summary.turns,
        terminal.durationMs,
        false,
      ])
      // What the same run spent is recorded, without the possible additional cost of a failed request.
      const isSameAfterTurn = answer.verdict === 'same' && answer.toldAfterTurn !== null
      if (isCutInFlight(trajectory, answer) || isSameAfterTurn) continue
      expect([about, kept.costUsd, kept.tokens]).toEqual([about, terminal.costUsd, terminal.totalTokens])
    }
  })
})
