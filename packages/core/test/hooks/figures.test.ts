// Tests R-LIM-50b: the figures of hooks are the recorded ones, so that a question that contains them is asked once.
import { expect, test } from 'vitest'
import { CallableHook, resume, type HookContext, type Permissions, type RunOptions } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices as prices, reader, run } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const usage = { input_tokens: 300, output_tokens: 40 }

test('pays a question with the figures in it once when killed after every record', async () => {
  const newOptions = () => {
    const judge = scriptedModel(() => ({ text: 'fine', usage }), { id: 'judge', maxOutputTokens: 2_000 })
    const ask = async (asks: HookContext['ask'], figures: unknown): Promise<void> => {
      const content = JSON.stringify(figures)
      await asks({ system: 'Judge.', messages: [{ role: 'user', content }], maxOutputTokens: 500, model: judge })
    }
    const permissions: Permissions = {
      denies: () => undefined,
      onlyInTurn: () => true,
      async decide({ ask: asks, figures }) {
        await ask(asks!, figures?.())
        return { behavior: 'allow' }
      },
    }
    const fake = createFakeClock({ autoAdvance: true })
    let ticks = 0
    const options: RunOptions = {
      // Time passes with every read of it.
      clock: { ...fake, now: () => fake.now() + ++ticks },
      model: scriptedModel(
        ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls('Look')),
        { maxOutputTokens: 2_000 },
      ),
      models: [judge],
      prices,
      permissions,
      tools: [reader('Look')],
      maxBudgetUsd: 100_000,
      maxTurns: 5,
      hooks: [
        new CallableHook(async (context) => ask(context.ask.bind(context), context.figures), {
          id: 'judging',
          triggers: ['beforeToolUse', 'afterToolUse', 'afterStep', 'afterExecution'],
        }),
      ],
      stopHooks: [{ id: 'stop', handle: async ({ ask: asks, figures }) => ask(asks!, figures) }],
    }
    return { judge, options }
  }
  const first = newOptions()
  const { terminal, steps } = await run([], first.options as never)
  expect([terminal.reason, first.judge.requests.length]).toEqual(['completed', 6])
  for (let count = 1; count < steps.records.length; count++) {
    const records = await killedAfter(count, newOptions().options)
    const before = records.filter(({ type, ...record }) => type === 'result' && 'key' in record && /asked\/\w+\.\d/.test(record.key)) // prettier-ignore
    const { options, judge } = newOptions()
    const ended = await resume(records, options).loop.ended
    expect([count, ended.terminal.reason, before.length + judge.requests.length]).toEqual([count, 'completed', 6])
  }
})
