import type { RunOptions, StandingBudgets } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'
import { calls, dollarATokenPrices, json, reader, run } from '../../../core/test/support/harness.ts'

/** A daily budget that is partly reserved by others until this number of requests was made; nothing is left afterwards. */
export function dayBudget({
  requests,
  waits = 0,
}: {
  readonly requests: number
  readonly waits?: number
}): StandingBudgets {
  const name = '$20 a day'
  let asked = 0
  const answer = (usd: number) => {
    const isLeft = ++asked <= requests
    if (isLeft) return { kind: 'taken', usd, settle: () => {} } as const
    const figures = { limitUsd: 20, settledUsd: 19.8, unknownUsd: 0, reservedUsd: 0 }
    return { kind: 'refused', budget: { name, ...figures, resetsAt: '2026-11-30T00:00:00+01:00' } } as const
  }
  return {
    names: [name],
    countsFor: () => true,
    async take({ usd }, { onWait }) {
      if (asked >= waits) return answer(usd)
      onWait({ budget: name, reservedUsd: 7 - asked, holders: 2 })
      await Promise.resolve()
      return answer(usd)
    },
  }
}

/** A run that reads repeatedly under a standing budget, with its records as a session file stores them. */
export async function standingRun(standing: StandingBudgets, more: Partial<RunOptions> = {}) {
  const clock = createFakeClock({ autoAdvance: true })
  const usage = { input_tokens: 100, output_tokens: 10 }
  const looks = Array.from({ length: 9 }, () => ({ ...calls('Look'), usage }))
  const options = { tools: [reader('Look')], prices: dollarATokenPrices, clock, standing, ...more }
  const { terminal, steps } = await run(looks, options as never)
  return { terminal, records: json(steps.records) as never as readonly StepRecord[] }
}
