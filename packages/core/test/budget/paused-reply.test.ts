// Tests R-BUD-13c: a reply that is sent back unchanged has room for what services add around it.
import { expect, test } from 'vitest'
import type { ModelMessage, Prices } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { run } from '../support/harness.ts'

/** A tenth of a cent for each token, in and out. */
const prices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + usage.output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}

/** An exact service: each word is a token, and each message adds four. */
function tokensOf(messages: readonly ModelMessage[]): number {
  const words = (text: string): number => text.split(' ').length
  return messages.reduce((sum, { content }) => {
    if (typeof content === 'string') return sum + 4 + words(content)
    return sum + 4 + content.reduce((all, block) => all + (block.type === 'text' ? words(block.text) : 0), 0)
  }, 0)
}

test.each(Array.from({ length: 120 }, (_each, index) => 3_300 + 10 * index))(
  'an exact service that pauses stays within a budget of %i tokens',
  async (budget) => {
    const model = scriptedModel(
      ({ messages, maxOutputTokens }, index) => {
        // The longest possible reply: every reserved token is used.
        const text = Array.from({ length: index === 0 ? 40 : maxOutputTokens }, () => 'w').join(' ')
        const usage = { input_tokens: tokensOf(messages), output_tokens: index === 0 ? 40 : maxOutputTokens }
        return { text, usage, stopReason: 'pause_turn' }
      },
      { maxOutputTokens: 1_100 },
    )
    const { terminal } = await run([], { model, prices, maxBudgetUsd: budget / 1_000 })
    expect(terminal.committedUsd).toBeLessThanOrEqual(budget / 1_000)
  },
)
