// Tests R-SET-6 and R-SET-10: limits that a person lowers, raises or removes while background agents have requests in flight.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { replay } from '../../src/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems } from '../../src/testing/index.ts'
import { drawn } from '../support/deep.ts'
import { agent, start } from '../support/background.ts'
import { begin, calls, dollarATokenPrices as prices, json, tool, until } from '../support/harness.ts'

const usage = { input_tokens: 300, output_tokens: 200 }
const costOfOne = 500
const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null })
const change = fc.record(
  { maxBudgetUsd: limit(20_000), maxTotalTokens: limit(20_000), maxTurns: limit(12), maxDurationMs: limit(2_000) },
  { requiredKeys: [] },
)
const step = fc.oneof(
  change.map((limits) => ({ kind: 'set', limits }) as const),
  fc.constant({ kind: 'answer' } as const),
  fc.integer({ min: 1, max: 900 }).map((ms) => ({ kind: 'time', ms }) as const),
)

test('the run ends, and no request is made without room in the current budget, whatever is set and when', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const clock = createFakeClock()
      const open: (() => void)[] = []
      const holdReply = (): Promise<void> => new Promise((resolve) => void open.push(resolve))
      let callCount = 0
      const beyond: unknown[] = []
      const model = scriptedModel(
        ({ messages }) => {
          callCount++
          // The minimum cost of answered requests and of those in flight.
          const most = budgetInForce()
          if (callCount * costOfOne > most) beyond.push([callCount, most])
          const replies = messages.filter(({ role }) => role === 'assistant').length
          const isAgent = JSON.stringify(messages[0]).includes('sub')
          if (!isAgent && replies === 0)
            return { ...calls(start('sub'), start('sub'), 'Look'), usage, before: holdReply }
          return replies < 3
            ? { ...calls('Look'), usage, before: holdReply }
            : { text: 'done', usage, before: holdReply }
        },
        { maxOutputTokens: 500 },
      )
      const options = { tools: [agent(), tool('Look', 'seen')], prices, maxBudgetUsd: 15_000, clock }
      const going = begin([], { ...options, model })
      // A setting applies once the main loop has taken it (R-SET-10).
      const budgetInForce = (): number => {
        const set = going.events.flatMap((event) =>
          event.type === 'settings' ? [event.change.limits?.maxBudgetUsd] : [],
        )
        const last = set.findLast((usd) => usd !== undefined)
        return last === undefined ? 15_000 : (last ?? Infinity)
      }
      const settled = async (): Promise<void> => {
        for (let turn = 0; turn < 50; turn++) await Promise.resolve()
      }
      await until(() => callCount > 0)
      for (const each of steps) {
        if (each.kind === 'set') going.loop.set({ limits: each.limits })
        if (each.kind === 'time') await clock.advance(each.ms)
        if (each.kind === 'answer') open.shift()?.()
        await settled()
      }
      const over = { is: false }
      const ending = going.end().then((ended) => {
        over.is = true
        return ended
      })
      for (let turn = 0; turn < 400 && !over.is; turn++) {
        open.shift()?.()
        await settled()
        await clock.advance(1_000)
      }
      expect([over.is, beyond]).toEqual([true, []])
      const { terminal, state, steps: driver } = await ending
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      expect(terminal.committedUsd).toBeGreaterThanOrEqual(terminal.costUsd)
      const again = await replay(json(driver.records) as never, { ...options, model })
      expect(again.terminal).toEqual(terminal)
    }),
    { numRuns: drawn(1_000) },
  )
})
