// Tests R-BUD-13b: of several token counts of a growing conversation, the highest applies.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject, plainContext } from '../../src/entries/adapters.ts'
import type { ModelMessage, Prices } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, reader, run, type RunTestOptions } from '../support/harness.ts'
import { drawn } from '../support/deep.ts'

const cap = 2_000

/** The input tokens that each request reserved. */
async function inputs(counts: readonly number[], overrides: RunTestOptions = {}): Promise<readonly number[]> {
  const script = counts.map((input_tokens, index): ScriptedReply => {
    const usage = { input_tokens, output_tokens: 40 }
    return index === counts.length - 1 ? { text: 'done', usage } : { ...calls('Look'), usage }
  })
  const { steps } = await run([], {
    model: scriptedModel(script, { maxOutputTokens: cap }),
    tools: [reader('Look')],
    prices: dollarATokenPrices,
    maxBudgetUsd: 1_000_000,
    ...overrides,
  })
  return steps.records.flatMap((record) =>
    record.type === 'intent' && record.key.includes('model:') && isJsonObject(record.intent)
      ? [Number(record.intent['tokens']) - cap]
      : [],
  )
}

/** The result of one call, by its bytes. */
const result = 16 + 16 + 64 + 'read'.length

describe('a count that falls although the conversation only grew', () => {
  test('is ignored: the highest count applies, plus the bytes of everything after it', async () => {
    const [, second, third = 0, fourth = 0] = await inputs([3_000, 2_000, 2_100, 1])
    expect(second).toBe(3_000 + 40 + result)
    // Includes the reply to the second request and two results by their bytes.
    expect(third).toBeGreaterThan(3_000 + 40 + 2 * result)
    expect(fourth).toBeGreaterThan(third)
  })

  test('is forgotten once a later count is higher', async () => {
    const [, , , fourth] = await inputs([3_000, 2_000, 3_100, 1])
    expect(fourth).toBe(3_100 + 40 + result)
  })

  test('is accepted when old results were pruned before it', async () => {
    let cleared = false
    const context = {
      ...plainContext,
      clear: ({ state }: { readonly state: { readonly spent: { readonly request: number } } }) => {
        if (cleared || state.spent.request !== 2) return undefined
        cleared = true
        return { calls: ['call_0_0'], freedTokens: 900 }
      },
    }
    const [, , third] = await inputs([3_000, 2_000, 1], { context })
    expect([cleared, third]).toEqual([true, 2_000 + 40 + result])
  })
})

test('never passes the limit with a service whose count sometimes falls', async () => {
  const prices: Prices = {
    cost: (_model, usage) => (usage.input_tokens + 5 * usage.output_tokens) / 1_000,
    worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + 5 * outputTokens) / 1_000,
  }
  /** The service counts a third of the bytes, the same each time for each message. Sometimes it omits some. */
  const tokensOf = (messages: readonly ModelMessage[]): number => 900 + Math.floor(JSON.stringify(messages).length / 3)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 10, max: 200 }),
      fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 20_000 }),
      async (maxBudgetUsd, falls, size) => {
        let [highest, looks] = [0, 0]
        const model = scriptedModel(
          ({ messages, maxOutputTokens }, index) => {
            const counted = tokensOf(messages)
            // A count that falls is below the previously reported one.
            const share = index % 3 === 2 ? (falls[index % falls.length] ?? 0) / 100 : 0
            const input_tokens = share === 0 ? counted : Math.max(1, Math.floor(highest * (1 - share)))
            highest = Math.max(highest, input_tokens)
            return { ...calls('Look'), usage: { input_tokens, output_tokens: maxOutputTokens } }
          },
          { maxOutputTokens: 1_200 },
        )
        const { terminal } = await run([], {
          model,
          clock: createFakeClock({ autoAdvance: true }),
          prices,
          maxBudgetUsd,
          maxTurns: 30,
          // Large results come first and small ones later, so that late results are a small part of the total.
          tools: [reader('Look', () => 'x'.repeat(looks++ === 0 ? size : 10))],
        })
        expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd + 1e-9)
      },
    ),
    { numRuns: drawn(400) },
  )
})
