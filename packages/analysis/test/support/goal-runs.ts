import type { Goal, GoalFiles, GoalVerdict, RunOptions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { calls, dollarATokenPrices, json, run, tool } from '../../../core/test/support/harness.ts'

export const passed: GoalVerdict = { met: true, exitCode: 0 }
export const failed = (report = '1 failed'): GoalVerdict => ({ met: false, exitCode: 1, report })

type Verdict = GoalVerdict | (() => GoalVerdict | Promise<GoalVerdict>)

/** A goal whose checks have these results in order; the last one is repeated. */
export function goalOf(...verdicts: readonly Verdict[]): Goal {
  let checks = 0
  return {
    name: 'npm test',
    check: () => {
      const verdict = verdicts[Math.min(checks++, verdicts.length - 1)] ?? passed
      return typeof verdict === 'function' ? verdict() : verdict
    },
  }
}

/** Options for a run whose model edits and answers alternately, so that each answer follows a change. */
export function workingOptions(): RunOptions {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)?.content
    const isResult = typeof last !== 'string' && last?.some(({ type }) => type === 'tool_result') === true
    return { ...(isResult ? { text: 'Done.' } : calls('Edit')), usage: { input_tokens: 10, output_tokens: 5 } }
  })
  const clock = createFakeClock({ autoAdvance: true })
  return { model, clock, tools: [tool('Edit', 'edited')], prices: dollarATokenPrices }
}

/** Such a run with these goals, and its records as a session file stores them. */
export async function goalRun(given: Partial<RunOptions>) {
  const { terminal, steps, events } = await run([], { ...workingOptions(), ...given } as never)
  return { terminal, events, records: json(steps.records) as never as readonly StepRecord[] }
}

/** Files for the checks that give these results, whatever happens. */
export function filesOf(tampered: readonly string[], changedTests: readonly string[] = []): GoalFiles {
  return {
    begin: () => ({ tampered, end: () => ({ memo: { at: 1 }, changedByChecks: [], changedTests }) }),
  }
}
