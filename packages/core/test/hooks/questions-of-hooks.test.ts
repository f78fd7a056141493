// Tests R-HOOK-16 to R-HOOK-16c: the questions of a hook to a model are paid, counted and recorded like any other request.
import { describe, expect, test } from 'vitest'
import { isJsonObject, textOf, type CompactionReply } from '../../src/entries/adapters.ts'
import {
  CallableHook,
  ModelError,
  replay,
  resume,
  type HookContext,
  type HookTrigger,
  type RunOptions,
  type Model,
  type Permissions,
  type StopHookInput,
} from '../../src/index.ts'
import { accountOf, trajectoryOf } from '@halting/analysis'
import type { StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, hook, json, reader, run, tick, until } from '../support/harness.ts'
import { killedAfter, killedBefore } from '../support/kill-process.ts'

const cap = 2_000
const question = (text: string) =>
  ({ system: 'Judge.', messages: [{ role: 'user', content: text }], maxOutputTokens: 500 }) as const
/** The maximum that a question of one word can be billed for. */
const questionTokens = 1_000 + 6 + (16 + 7) + 500

const reservedBy = (records: readonly StepRecord[]): readonly unknown[] =>
  records.flatMap((record) =>
    record.type === 'intent' && record.key.includes('hook:') && isJsonObject(record.intent)
      ? [record.intent['tokens']]
      : [],
  )

const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })
const verdict: ScriptedReply = { text: 'fine', usage: usage(300, 40) }

/** The judging model replies with its question; the model of the run looks once and answers. */
function world(
  ask: (context: HookContext | StopHookInput) => Promise<unknown>,
  triggers: HookTrigger[] = ['beforeToolUse'],
) {
  const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'answer' : calls('Look')),
    { maxOutputTokens: cap },
  )
  const options: RunOptions = {
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
  test('counts in cost, tokens and the figures by model, and not in the usage of the run', async () => {
    const received: CompactionReply[] = []
    const { options, judge } = world(async (context) => {
      const reply = await context.ask?.({ ...question('may it?'), model: judge })
      if (reply !== undefined) received.push(reply)
    })
    const { terminal, state, steps } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 15 + 340 + 15, 370])
    expect(received.map((reply) => (reply.kind === 'answered' ? textOf(reply.message.content) : reply.kind))).toEqual([
      'fine',
    ])
    expect(terminal.summary).toMatchObject({ requests: 2, turns: 2, usage: { input_tokens: 20 } })
    expect(terminal.summary.modelUsage['judge']).toMatchObject({ costUsd: 340 })
    expect(state.spent.totalTokens).toBe(370)
    expect(judge.requests.map(({ system, maxOutputTokens, tools }) => [system, maxOutputTokens, tools])).toEqual([
      ['Judge.', 500, []],
    ])
    const keys = steps.records.flatMap((record) =>
      'key' in record && record.key.includes('hook:') ? [record.key] : [],
    )
    expect(keys.map((key) => key.replace(/^.*hook:/, '').replace(/asked\/\w+\./, 'asked/Q.'))).toEqual([
      'beforeToolUse:1:0:call_0_0:judging',
      'beforeToolUse:1:0:call_0_0:judging/asked/Q.1',
      'beforeToolUse:1:0:call_0_0:judging/asked/Q.1',
      'beforeToolUse:1:0:call_0_0:judging/asked',
    ])
    const account = accountOf(json(steps.records) as never)
    expect(account.phases.find(({ phase }) => phase === 'hooks')).toMatchObject({
      requests: 1,
      tokens: 340,
      costUsd: 340,
    })
    const payments = trajectoryOf(json(steps.records) as never).turns.flatMap((turn) => turn.payments)
    expect(payments.reduce((sum, { nanos }) => sum + nanos, 0)).toBe(370e9)
  })

  test('fails with the new name of a limit that was renamed', async () => {
    const received: CompactionReply[] = []
    const { options, judge } = world(async (context) => {
      const { system, messages } = question('may it?')
      const former = { system, messages, maxTokens: 500, model: judge }
      const reply = await context.ask?.(former)
      if (reply !== undefined) received.push(reply)
    })
    const { terminal } = await run([], options as never)
    expect([terminal.reason, judge.requests.length]).toEqual(['completed', 0])
    expect(received).toMatchObject([
      { kind: 'failed', error: { message: 'A question has maxOutputTokens, not maxTokens.' } },
    ])
  })

  test('reserves before it asks, and settles after', async () => {
    const { options, judge } = world(async (context) => context.ask?.({ ...question('may it?'), model: judge }))
    const { terminal, steps } = await run([], { ...options, maxBudgetUsd: 100_000 } as never)
    expect([terminal.reason, terminal.committedUsd]).toEqual(['completed', 370])
    expect(reservedBy(steps.records)).toEqual([questionTokens])
  })

  test('gets an error when the budget has no room for it, and nothing is asked', async () => {
    const received: unknown[] = []
    const { options, judge } = world(async (context) => {
      received.push(await context.ask?.({ ...question('x'.repeat(50_000)), model: judge }))
    })
    const { terminal } = await run([], { ...options, maxBudgetUsd: 20_000 } as never)
    expect([received, judge.requests.length, terminal.reason, terminal.costUsd]).toEqual([
      [{ kind: 'over_budget' }],
      0,
      'completed',
      30,
    ])
  })

  test('never overshoots, whatever the service bills, omits or breaks', async () => {
    const bills: readonly ScriptedReply[] = [
      { text: 'all of it', usage: usage(questionTokens - 500, 500) },
      { error: { kind: 'connection', message: 'gone' } },
      { text: 'negative usage', usage: { input_tokens: -1, output_tokens: 0 } },
      verdict,
    ]
    for (const maxBudgetUsd of [3_000, 9_000, 11_000, 20_000, 40_000]) {
      for (const bill of bills) {
        const judge = scriptedModel(() => bill, { id: 'judge', maxOutputTokens: cap })
        const { options } = world(
          async (context) => {
            await Promise.all([1, 2, 3].map(async (each) => context.ask?.({ ...question(`${each}`), model: judge })))
          },
          ['beforeStep', 'beforeToolUse', 'afterToolUse', 'afterExecution'],
        )
        const { terminal, state } = await run([], { ...options, models: [judge], maxBudgetUsd } as never)
        expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
        expect(terminal.committedUsd).toBe((state.spent.nanos + state.spent.unknownNanos) / 1e9)
      }
    }
  })

  test('gets the answer to its own question next to others of its event, also when a resume asks in another order', async () => {
    const answers = async (context: HookContext | StopHookInput, order: readonly string[]) => {
      const replies = await Promise.all(
        order.map(async (each) => {
          const reply = await context.ask?.({ ...question(each), model: echo })
          return [each, reply?.kind === 'answered' ? textOf(reply.message.content) : reply?.kind]
        }),
      )
      received.push(Object.fromEntries(replies))
    }
    let received: unknown[] = []
    const echo = scriptedModel(({ messages }) => ({ text: `on ${textOf(messages[0]?.content ?? '')}`, usage: usage(9, 1) }), { id: 'judge', maxOutputTokens: cap }) // prettier-ignore
    const optionsFor = (order: readonly string[]) => ({
      ...world((context) => answers(context, order)).options,
      models: [echo],
    })
    const records = await killedBefore(
      (record) => 'key' in record && record.key.endsWith('/asked'),
      optionsFor(['a', 'b', 'a']),
    )
    const requestCount = echo.requests.length
    expect(records.filter(({ type }) => type === 'result').length).toBeGreaterThan(2)
    received = []
    const { terminal } = await resume(records, optionsFor(['b', 'a', 'a'])).loop.ended
    expect([received, terminal.reason]).toEqual([[{ a: 'on a', b: 'on b' }], 'completed'])
    expect([requestCount, echo.requests.length]).toEqual([3, 3])
    expect(terminal.costUsd).toBe(30 + 30)
  })

  test('is retried, gets an error when the model failed, and completes when it broke the stream', async () => {
    const received: (string | undefined)[] = []
    const judge = scriptedModel([
      { error: { kind: 'overloaded', message: 'busy', status: 529 } },
      verdict,
      { error: { kind: 'authentication_failed', message: 'no', status: 401 } },
    ], { id: 'judge', maxOutputTokens: cap }) // prettier-ignore
    const { options } = world(async (context) => {
      for (const each of ['one', 'two']) received.push((await context.ask?.({ ...question(each), model: judge }))?.kind)
    })
    const { terminal, events } = await run([], { ...options, models: [judge] } as never)
    expect([received, terminal.reason, terminal.costUsd]).toEqual([['answered', 'failed'], 'completed', 370])
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(1)
  })

  test('may not ask forever, ask an invalid question, ask another model, or ask after its end', async () => {
    const received: CompactionReply[] = []
    let late: HookContext | undefined
    const { options, judge } = world(async (context) => {
      if (!('trigger' in context)) return
      late = context
      // Plain JavaScript code can pass any value.
      const invalidQuestions = [
        undefined,
        null,
        7,
        {},
        { system: 'x', messages: [{}] },
        { system: 'x', messages: [1n] },
      ] as never[]
      for (const each of invalidQuestions) received.push(await context.ask(each))
      received.push(await context.ask({ ...question('x'), model: scriptedModel([], { id: 'unnamed' }) }))
      for (let time = 0; time < 110; time++) {
        const reply = await context.ask({ ...question('again'), model: judge })
        if (reply.kind !== 'answered') received.push(reply)
      }
    })
    const { terminal } = await run([], options as never)
    expect(terminal.reason).toBe('completed')
    expect(new Set(received.map(({ kind }) => kind))).toEqual(new Set(['failed']))
    expect(judge.requests.length).toBeLessThanOrEqual(100)
    expect(judge.requests.length).toBeGreaterThan(90)
    const requestCount = judge.requests.length
    expect(await late?.ask({ ...question('late'), model: judge })).toMatchObject({ kind: 'failed' })
    expect(judge.requests.length).toBe(requestCount)
  })

  test('that ends before its question is awaited, and its cost counts', async () => {
    const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
    const slow: Model = {
      ...judge,
      async call(request, scope) {
        await tick()
        return judge.call(request, scope)
      },
    }
    const { options } = world(async (context) => {
      void context.ask?.({ ...question('in passing'), model: slow })
      await Promise.resolve()
      // By now the question was asked.
      await until(() => true)
    })
    const { terminal } = await run([], { ...options, models: [slow] } as never)
    expect([terminal.reason, judge.requests.length, terminal.costUsd]).toEqual(['completed', 1, 370])
  })

  test('that asked nothing is refused at once when it asks after its end', async () => {
    let late: HookContext | undefined
    const { options } = world(async (context) => {
      if ('trigger' in context) late = context
    })
    const { terminal } = await run([], options as never)
    expect(await Promise.race([late?.ask(question('late')), tick().then(() => 'nothing came')])).toMatchObject({
      kind: 'failed',
    })
    expect(terminal.costUsd).toBe(30)
  })

  test('draws on the same budget in a subagent, at its end as at its start', async () => {
    const child = { name: 'Agent', description: '', inputSchema: { type: 'object' }, readOnly: true, spawn: () => ({ prompt: 'sub' }) } as const // prettier-ignore
    const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
    const model = scriptedModel(({ messages }): ScriptedReply => messages[0]?.content === 'go' && messages.length === 1 ? calls('Agent') : 'said', { maxOutputTokens: cap }) // prettier-ignore
    const options: RunOptions = {
      model,
      models: [judge],
      prices,
      tools: [child],
      maxBudgetUsd: 100_000,
      clock: createFakeClock({ autoAdvance: true }),
      hooks: [hook('beforeAgent', async (context) => void (await context.ask({ ...question('begin'), model: judge })))],
      stopHooks: [{ id: 'end', of: 'agents', handle: async ({ ask }) => void (await ask?.({ ...question('end'), model: judge })) }], // prettier-ignore
    }
    const { terminal, steps } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 45 + 2 * 340])
    expect(json((await replay(steps.records, options)).terminal)).toEqual(json(terminal))
  })

  test('works for permission rules too, once the message with the call is complete', async () => {
    const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
    const { options } = world(async () => {})
    let early = 0
    const permissions: Permissions = {
      denies: () => undefined,
      onlyInTurn: () => true,
      async decide({ ask }) {
        if (ask === undefined) early++
        const reply = await ask?.({ ...question('may it?'), model: judge })
        return reply?.kind === 'answered' ? { behavior: 'allow' } : { behavior: 'deny', message: 'nobody said so' }
      },
    }
    const runOptions = { ...options, hooks: [], models: [judge], permissions }
    const { terminal, steps, events } = await run([], runOptions as never)
    expect([terminal.reason, terminal.costUsd, early]).toEqual(['completed', 370, 0])
    expect(events.filter((event) => event.type === 'tool_end').map(({ status }) => status)).toEqual(['done'])
    expect(json((await replay(steps.records, runOptions)).terminal)).toEqual(json(terminal))
  })
})

describe('an abort during a question', () => {
  test.each(['heeds', 'ignores'])('charges it at its worst case and ends the run when the hook %s it', async (how) => {
    const judge = scriptedModel([{ hang: true }], { id: 'judge', maxOutputTokens: cap })
    const { options, model } = world(async (context) => {
      await context.ask?.({ ...question('may it?'), model: judge })
      if (how === 'ignores') await new Promise(() => {})
    })
    const going = begin([], { ...options, models: [judge], maxBudgetUsd: 100_000 } as never)
    await until(() => judge.requests.length === 1)
    going.loop.abort()
    const { terminal, steps } = await going.end()
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd, model.requests.length]).toEqual([
      'aborted_tools',
      15,
      15 + questionTokens,
      1,
    ])
    const replayed = await replay(steps.records, { ...options, models: [judge] })
    expect(json(replayed.terminal)).toEqual(json(terminal))
  })
})

test('pays no question twice when killed after every record; a replay has the same result', async () => {
  const optionsFor = () => {
    const judge = scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap })
    const ask = async (context: Pick<HookContext, 'ask'>, text: string): Promise<void> => {
      await Promise.all([context.ask({ ...question(text), model: judge }), context.ask({ ...question(`${text} too`), model: judge })]) // prettier-ignore
      await context.ask({ ...question(`${text} at last`), model: judge })
    }
    const { options } = world(async (context) => ask(context as HookContext, 'a hook'), ['beforeToolUse', 'afterToolUse', 'afterExecution']) // prettier-ignore
    return {
      judge,
      options: { ...options, models: [judge], maxBudgetUsd: 100_000, stopHooks: [{ id: 'stop', handle: async (input: StopHookInput) => ask(input as never, 'the end') }] }, // prettier-ignore
    }
  }
  const completeRun = await run([], optionsFor().options as never)
  const { terminal, steps, state } = completeRun
  expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 30 + 12 * 340])
  expect(json((await replay(steps.records, optionsFor().options)).terminal)).toEqual(json(terminal))
  for (let count = 1; count < steps.records.length; count++) {
    const records = await killedAfter(count, optionsFor().options)
    const { options, judge } = optionsFor()
    const resumed = resume(records, options)
    const ended = await resumed.loop.ended
    const lost = ended.terminal.committedUsd - ended.terminal.costUsd
    expect([count, ended.terminal.reason]).toEqual([count, 'completed'])
    const before = records.filter((record) => record.type === 'result' && /asked\/\w+\.\d/.test(record.key)).length
    // An attempt in flight when the process died is charged, and made again.
    const open = records.filter((record) => record.type === 'intent' && isJsonObject(record.intent) && record.intent['granted'] === true && !records.some((each) => each.type === 'result' && each.key === record.key)).length // prettier-ignore
    expect([count, before + judge.requests.length]).toEqual([count, 12])
    expect(lost === 0).toBe(open === 0)
    expect(accountOf(json(resumed.steps.records) as never).totals.committedUsd).toBe(ended.terminal.committedUsd)
    expect(ended.state.spent.modelUsage['judge']?.nanos).toBe(state.spent.modelUsage['judge']?.nanos)
  }
})

describe('the time limit of a question', () => {
  const asked: CompactionReply[] = []
  /** A judge that never answers, or only once. */
  function timed(answers: readonly (ScriptedReply | Error)[], timeoutMs: number, clock = createFakeClock()) {
    asked.length = 0
    let calls = 0
    const signals: AbortSignal[] = []
    const judge: Model = {
      ...scriptedModel(() => verdict, { id: 'judge', maxOutputTokens: cap }),
      call(request, context) {
        signals.push(context.signal)
        const answer = answers[calls++]
        if (answer === undefined) return new Promise(() => undefined)
        if (answer instanceof Error) return Promise.reject(answer)
        return scriptedModel(() => answer, { id: 'judge' }).call(request, context)
      },
    }
    const { options } = world(async (context) => {
      const reply = await context.ask?.({ ...question('may it?'), model: judge, timeoutMs })
      if (reply !== undefined) asked.push(reply)
    })
    return { options: { ...options, models: [judge], clock }, signals, clock }
  }
  const kinds = () => asked.map((reply) => (reply.kind === 'failed' ? reply.error.kind : reply.kind))

  test('is enforced: the call is aborted at its end, and the run continues with what it may have cost', async () => {
    const { options, signals, clock } = timed([], 5_000)
    const going = begin([], options)
    await until(() => signals.length === 1)
    expect([clock.now() < 5_000, signals[0]?.aborted]).toEqual([true, false])
    await clock.advance(5_000)
    const { terminal, steps } = await going.end()
    expect([terminal.reason, kinds(), signals.map(({ aborted }) => aborted)]).toEqual([
      'completed',
      ['timeout'],
      [true],
    ])
    expect(terminal.committedUsd).toBeGreaterThan(terminal.costUsd)
    const again = await replay(json(steps.records) as never, options)
    expect(again.terminal).toEqual(terminal)
    expect(signals).toHaveLength(1)
  })

  test('covers all attempts, and rejects an invalid figure', async () => {
    const overloaded = new ModelError({ kind: 'overloaded', message: 'busy', retryable: true })
    const late = timed([overloaded, verdict], 100)
    const going = begin([], late.options)
    await until(() => going.events.some(({ type }) => type === 'retry'))
    for (let count = 0; count < 5; count++) {
      await tick()
      await late.clock.advance(60_000)
    }
    expect([(await going.end()).terminal.reason, kinds(), late.signals.length]).toEqual(['completed', ['timeout'], 1])
    for (const none of [0, -1, Number.NaN, Infinity]) {
      const { options, signals } = timed([verdict], none, createFakeClock({ autoAdvance: true }))
      await run([], options)
      expect([none, kinds(), signals.map(({ aborted }) => aborted)]).toEqual([none, ['answered'], [false]])
    }
  })

  test('is enforced when the budget is shared and cannot grow, and nothing is charged', async () => {
    const { options, signals, clock } = timed([verdict], 5_000)
    let isHanging = false
    const grown: AbortSignal[] = []
    const lease = {
      name: 'the budget of acme',
      usd: 0,
      async growTo(usd: number, { signal }: { readonly signal: AbortSignal }) {
        grown.push(signal)
        // It ignores an abort, too.
        if (isHanging) await new Promise(() => undefined)
        lease.usd = usd
      },
    }
    const [own] = options.hooks ?? []
    const asks = new CallableHook(
      async (context) => {
        isHanging = true
        lease.usd = 0
        await own?.handle(context)
        isHanging = false
      },
      { id: 'judging', triggers: ['beforeToolUse'] },
    )
    const going = begin([], { ...options, hooks: [asks], lease })
    await until(() => isHanging && grown.length === 2)
    await clock.advance(5_000)
    const { terminal, steps } = await going.end()
    expect([terminal.reason, kinds(), signals, grown[1]?.aborted]).toEqual(['completed', ['over_budget'], [], true])
    expect(terminal.committedUsd).toBe(terminal.costUsd)
    const again = await replay(json(steps.records) as never, { ...options, hooks: [asks], lease })
    expect(again.terminal).toEqual(terminal)
  })

  test('does not end an answer in time, and does not delay an abort', async () => {
    const quick = timed([verdict], 5_000)
    expect((await run([], quick.options)).terminal.reason).toBe('completed')
    expect(kinds()).toEqual(['answered'])
    const { options, signals, clock } = timed([], 500_000)
    const going = begin([], options)
    await until(() => signals.length === 1)
    going.loop.abort('user')
    await tick()
    // The grace time of a model that ignores an abort.
    await clock.advance(60_000)
    expect([(await going.end()).terminal.reason, signals[0]?.aborted]).toEqual(['aborted_tools', true])
  })
})
