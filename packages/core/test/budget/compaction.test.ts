// Tests R-CTX-2, R-CTX-5: the cost of a compaction is in the figures of the run.
import { describe, expect, test } from 'vitest'
import { plainContext, type Compaction } from '../../src/entries/adapters.ts'
import { StopSignal, type ContextManager, type Guard } from '../../src/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, reader, run } from '../support/harness.ts'

const usage = (input_tokens: number, output_tokens: number) => ({
  input_tokens,
  output_tokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})
const tooLong: ScriptedReply = { error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }
const compaction = (trigger: Compaction['trigger']): Compaction => ({
  trigger,
  async run({ ask }) {
    await ask({ model: small(), system: '', messages: [{ role: 'user', content: 'summarize' }] })
    return { kind: 'compacted', messages: [{ role: 'user', content: 'summary' }], preTokens: 100, postTokens: 10 }
  },
})
const small = () => scriptedModel([{ text: 'summary', usage: usage(300, 40) }], { id: 'small' })

/** Compacts once: before the first request, or when the service reports that it is too long. */
function once(trigger: 'auto' | 'reactive' | 'collapse'): ContextManager {
  let left = 1
  const take = (): Compaction | undefined => (left-- > 0 ? compaction(trigger) : undefined)
  const layer = { auto: 'beforeRequest', reactive: 'compact', collapse: 'drain' } as const
  return { ...plainContext, autoCompact: true, models: [small()], [layer[trigger]]: take }
}

describe('the requests of a compaction', () => {
  test.each([
    ['auto', ['answer']],
    ['reactive', [tooLong, 'answer']],
    ['collapse', [tooLong, 'answer']],
  ] as const)(
    'count in cost, tokens and the figures by model when %s, and not in the usage of the run',
    async (trigger, script) => {
      const { terminal, state } = await run(script, { context: once(trigger), prices: dollarATokenPrices })
      const { reason, costUsd, committedUsd, summary } = terminal
      expect([reason, costUsd, committedUsd, state.spent.totalTokens]).toEqual(['completed', 355, 355, 355])
      expect([summary.compacted, summary.usage, summary.modelUsage]).toEqual([
        true,
        usage(10, 5),
        { small: { usage: usage(300, 40), costUsd: 340 }, scripted: { usage: usage(10, 5), costUsd: 15 } },
      ])
    },
  )

  test('count for a cost guard, before the next request', async () => {
    const dear: Guard = {
      name: 'dear',
      evaluate: ({ costUsd, totalTokens }) =>
        costUsd > 0 ? new StopSignal({ reason: 'cost_limit', context: { costUsd, totalTokens } }) : undefined,
    }
    const { terminal, model } = await run([tooLong, 'never'], {
      context: once('reactive'),
      prices: dollarATokenPrices,
      stopWhen: dear,
    })
    expect([terminal.reason, terminal.signal.context, model.requests.length]).toEqual([
      'max_budget_usd',
      { costUsd: 340, totalTokens: 340 },
      1,
    ])
  })
})

test("estimates the tokens of the next request anew after a compaction, without the provider's count but with its ratio", async () => {
  const estimates: number[] = []
  let left = 1
  const context: ContextManager = {
    ...plainContext,
    autoCompact: true,
    beforeRequest({ estimatedTokens }) {
      estimates.push(estimatedTokens)
      return estimatedTokens > 1_000 && left-- > 0 ? compaction('auto') : undefined
    },
  }
  const counted: ScriptedReply = { ...calls('Look'), usage: usage(50_000, 20) }
  const script = [counted, { ...calls('Look'), usage: usage(0, 0) }, 'done']
  await run(script, { context, tokens: { estimate: () => 7 }, tools: [reader('Look')] })
  // 7 for each text, 4 around a message and 8 around a result; system prompt and tools are a text each.
  const [fixed, text, result] = [7 + 7, 4 + 7, 4 + 8 + 7]
  // The known ratio between the provider's count and our estimate still applies: up to 8 times.
  expect(estimates).toEqual([fixed + text, 50_000 + 20 + result, 8 * (fixed + text + text + result)])
})
