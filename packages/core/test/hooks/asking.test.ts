// Holds rules of docs/spec.md: R-HOOK-16 to R-HOOK-16c: what a hook asks a model is paid, counted and on record like any other request.
import { describe, expect, test } from 'vitest'
import { isJsonObject, textOf, type CompactionReply } from '../../src/adapters/index.ts'
import {
  CallableHook,
  createMemorySteps,
  loop,
  replay,
  resume,
  startRun,
  type HookContext,
  type HookTrigger,
  type LoopOptions,
  type StopHookInput,
} from '../../src/index.ts'
import { accountOf } from '../../src/adapters/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, json, reader, run } from '../support/harness.ts'
import { killedAfter } from '../support/killed.ts'

const cap = 2_000
const question = (text: string) =>
  ({ system: 'Judge.', messages: [{ role: 'user', content: text }], maxTokens: 500 }) as const
const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })
const verdict: ScriptedReply = { text: 'fine', usage: usage(300, 40) }

/** The model that judges answers with what it was asked; the run's own looks once and answers. */
function world(ask: (context: HookContext | StopHookInput) => Promise<unknown>, triggers: HookTrigger[] = ['beforeToolUse']) {
  const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls('Look')),
    { maxOutputTokens: cap },
  )
  const options: LoopOptions = {
    model,
    models: [judge],
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [reader('Look')],
    hooks: [
      new CallableHook(
        async (context) => {
          await ask(context)
        },
        { id: 'judging', triggers },
      ),
    ],
  }
  return { judge, model, options }
}

describe('a hook that asks a model', () => {
  test('is in cost, tokens and the figures by model, and not in the usage of the run', async () => {
    const heard: CompactionReply[] = []
    const { options, judge } = world(async (context) => {
      const reply = await context.ask?.({ ...question('may it?'), model: judge })
      if (reply !== undefined) heard.push(reply)
    })
    const { terminal, state, steps } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 15 + 340 + 15, 370])
    expect(heard.map((reply) => (reply.kind === 'answered' ? textOf(reply.message.content) : reply.kind))).toEqual([
      'fine',
    ])
    expect(terminal.summary).toMatchObject({ requests: 2, turns: 2, usage: { input_tokens: 20 } })
    expect(terminal.summary.modelUsage['judge']).toMatchObject({ costUsd: 340 })
    expect(state.spent.totalTokens).toBe(370)
    expect(judge.requests.map(({ system, maxTokens, tools }) => [system, maxTokens, tools])).toEqual([
      ['Judge.', 500, []],
    ])
    const keys = steps.records.flatMap((record) => ('key' in record && record.key.includes('hook:') ? [record.key] : []))
    expect(keys.map((key) => key.replace(/^.*hook:/, '').replace(/asked\/\w+\./, 'asked/Q.'))).toEqual([
      'beforeToolUse:1:0:call_0_0:judging',
      'beforeToolUse:1:0:call_0_0:judging/asked/Q.1',
      'beforeToolUse:1:0:call_0_0:judging/asked/Q.1',
      'beforeToolUse:1:0:call_0_0:judging/asked',
    ])
    const account = accountOf(json(steps.records) as never)
    expect(account.phases.find(({ phase }) => phase === 'hooks')).toMatchObject({ requests: 1, tokens: 340, costUsd: 340 })
  })
})
