// Holds rules of docs/spec: R-BUD-13b: of counts of a conversation that only grew the highest holds.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJsonObject, plainContext } from '../../src/entries/adapters.ts'
import type { ModelMessage, Prices } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, reader, run, type Given } from '../support/harness.ts'
import { drawn } from '../support/deep.ts'

const cap = 2_000

/** What each request reserved of input. */
async function inputs(counts: readonly number[], given: Given = {}): Promise<readonly number[]> {
  const script = counts.map((input_tokens, index): ScriptedReply => {
    const usage = { input_tokens, output_tokens: 40 }
    return index === counts.length - 1 ? { text: 'done', usage } : { ...calls('Look'), usage }
  })
  const { steps } = await run([], {
    model: scriptedModel(script, { maxOutputTokens: cap }),
    tools: [reader('Look')],
    prices: dollarATokenPrices,
    maxBudgetUsd: 1_000_000,
    ...given,
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
  test('is not believed: the highest one holds, with the bytes of all that came since', async () => {
    const [, second, third = 0, fourth = 0] = await inputs([3_000, 2_000, 2_100, 1])
    expect(second).toBe(3_000 + 40 + result)
    // The reply to the second request and two results are in it by their bytes.
    expect(third).toBeGreaterThan(3_000 + 40 + 2 * result)
    expect(fourth).toBeGreaterThan(third)
  })

  test('is forgotten where a later count is higher again', async () => {
    const [, , , fourth] = await inputs([3_000, 2_000, 3_100, 1])
    expect(fourth).toBe(3_100 + 40 + result)
  })

  test('is believed where old results gave way before it', async () => {
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

test('no service whose count falls now and then passes the limit', async () => {
  const prices: Prices = {
    cost: (_model, usage) => (usage.input_tokens + 5 * usage.output_tokens) / 1_000,
    worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + 5 * outputTokens) / 1_000,
  }
  /** It counts a third of the bytes, and of every message the same each time; now and then it leaves some out. */
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
            const told = tokensOf(messages)
            // What falls, falls below what was told before.
            const share = index % 3 === 2 ? (falls[index % falls.length] ?? 0) / 100 : 0
            const input_tokens = share === 0 ? told : Math.max(1, Math.floor(highest * (1 - share)))
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
          // Much is read at first, and little later: what comes late is no more than a small part of all.
          tools: [reader('Look', () => 'x'.repeat(looks++ === 0 ? size : 10))],
        })
        expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd + 1e-9)
      },
    ),
    { numRuns: drawn(400) },
  )
})
