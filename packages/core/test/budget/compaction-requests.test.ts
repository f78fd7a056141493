// Tests R-CTX-5 to R-CTX-8, R-BUD-4: requests of a compaction are paid like any other request.
import { describe, expect, test } from 'vitest'
import {
  isJsonObject,
  plainContext,
  type Compaction,
  type CompactionReply,
  type CompactionRequest,
} from '../../src/entries/adapters.ts'
import {
  ConfigurationError,
  createMemorySteps,
  streamRun,
  replay,
  resume,
  startRun,
  type ContextManager,
  type RunOptions,
  type Prices,
} from '../../src/index.ts'
import type { StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices as prices,
  hook,
  json,
  reader,
  run,
  until,
  isLive,
} from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const cap = 2_000
const question: CompactionRequest = {
  system: 'Summarize.',
  messages: [{ role: 'user', content: 'all of it' }],
  maxOutputTokens: 500,
}
/** The maximum that the question can be billed for: 1,000 around it, its bytes, and its cap. */
const questionTokens = 1_000 + 10 + (16 + 9) + 500

const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })
const summary: ScriptedReply = { text: 'a summary', usage: usage(300, 40) }

/** A compaction that asks a model `asks` times, and records the replies. */
function summarizing(
  trigger: Compaction['trigger'],
  compactionReplies: CompactionReply[] = [],
  asks: readonly CompactionRequest[] = [question],
): Compaction {
  return {
    trigger,
    async run({ ask }) {
      let text = ''
      for (const request of asks) {
        const reply = await ask(request)
        compactionReplies.push(reply)
        if (reply.kind !== 'answered') return { kind: 'gave_up', message: reply.kind }
        text += reply.message.content.map((block) => ('text' in block ? String(block.text) : '')).join('')
      }
      return { kind: 'compacted', messages: [{ role: 'user', content: text }], preTokens: 300, postTokens: 40 }
    },
  }
}

/** Compacts once, before the second request. */
const beforeSecond = (compaction: () => Compaction, more: Partial<ContextManager> = {}): ContextManager => ({
  ...plainContext,
  autoCompact: true,
  beforeRequest: ({ state }) => (state.spent.request === 2 && state.spent.compactions === 0 ? compaction() : undefined),
  ...more,
})

/** The run looks and answers. Between the two, a separate model compacts its context. */
function world(
  replies: readonly ScriptedReply[] = [summary],
  compactionReplies: CompactionReply[] = [],
  asked: CompactionRequest = question,
) {
  const small = scriptedModel(replies, { id: 'small', maxOutputTokens: cap })
  const model = scriptedModel(
    ({ messages }) => (messages[0]?.content === 'go' && messages.length === 1 ? calls('Look') : 'answer'),
    { maxOutputTokens: cap },
  )
  const compaction = () => summarizing('auto', compactionReplies, [{ ...asked, model: small }])
  const options: RunOptions = {
    model,
    prices,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [reader('Look')],
    context: beforeSecond(compaction, { models: [small] }),
  }
  return { small, model, options, compactionReplies }
}

/** Tokens reserved by requests of a compaction. */
const reservedByCompaction = (records: readonly StepRecord[]): readonly unknown[] =>
  records.flatMap((record) =>
    record.type === 'intent' && record.key.includes('compact:') && isJsonObject(record.intent)
      ? [record.intent['tokens']]
      : [],
  )

describe('a compaction that asks a model', () => {
  test('counts in cost, tokens and the figures by model, and not in the usage of the run', async () => {
    const { options, small } = world()
    const { terminal, state, messages } = await run([], options as never)
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 15 + 340 + 15, 370])
    expect(terminal.summary.modelUsage).toEqual({
      scripted: { usage: expect.objectContaining({ input_tokens: 20, output_tokens: 10 }), costUsd: 30 },
      small: { usage: expect.objectContaining({ input_tokens: 300, output_tokens: 40 }), costUsd: 340 },
    })
    expect(terminal.summary).toMatchObject({ requests: 2, turns: 2, usage: { input_tokens: 20 }, compacted: true })
    expect([state.spent.totalTokens, state.spent.compactions]).toEqual([370, 1])
    expect(messages[0]).toEqual({ role: 'user', content: 'a summary' })
    expect(small.requests.map(({ system, maxOutputTokens, tools }) => [system, maxOutputTokens, tools])).toEqual([
      ['Summarize.', 500, []],
    ])
  })

  test('reserves before it asks and settles after', async () => {
    const { options } = world()
    const { steps, terminal } = await run([], { ...options, maxBudgetUsd: 100_000 } as never)
    expect(reservedByCompaction(steps.records)).toEqual([questionTokens])
    expect(terminal.committedUsd).toBe(370)
  })

  test('asks the current model when it names none', async () => {
    const model = scriptedModel([calls('Look'), summary, 'answer'], { maxOutputTokens: cap })
    const { options } = world()
    const { terminal } = await run([], { ...options, model, context: beforeSecond(() => summarizing('auto')) } as never)
    expect([terminal.reason, model.requests.length, terminal.costUsd]).toEqual(['completed', 3, 370])
  })

  test('lowers its cap to what fits, and gets an error when nothing useful fits', async () => {
    const long = { ...question, messages: [{ role: 'user', content: 'x'.repeat(5_000) }] } as const
    const input = 1_000 + 10 + (16 + 5_000)
    const asks = async (maxBudgetUsd: number) => {
      const { options, small, compactionReplies } = world([summary], [], long)
      const { terminal } = await run([], { ...options, minUsefulTokens: 100, maxBudgetUsd } as never)
      expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
      return [
        terminal.reason,
        small.requests.map(({ maxOutputTokens }) => maxOutputTokens),
        compactionReplies.map(({ kind }) => kind),
      ]
    }
    expect(await asks(15 + input + 200)).toEqual(['completed', [200], ['answered']])
    // Without the compaction, the run continues unchanged.
    expect(await asks(15 + input + 99)).toEqual(['completed', [], ['over_budget']])
  })

  test('never spends the reserve for the last answer', async () => {
    const greedy = scriptedModel(({ maxOutputTokens }) => ({ text: 'long', usage: usage(1_000, maxOutputTokens) }), {
      id: 'small',
      maxOutputTokens: 100_000,
    })
    const model = scriptedModel((_request, index) => (index === 0 ? calls('Look') : 'the last answer'), {
      maxOutputTokens: 1_024,
    })
    const compaction = () => summarizing('auto', [], [{ ...question, model: greedy, maxOutputTokens: 100_000 }])
    const runOptions = { prices, tools: [reader('Look')], context: beforeSecond(compaction, { models: [greedy] }) }
    const { terminal, model: asked } = await run([], { ...runOptions, model, wrapUp: true, maxBudgetUsd: 8_000 })
    expect([terminal.reason, asked.requests.at(-1)?.toolChoice]).toEqual(['max_budget_usd', 'none'])
    expect(terminal.committedUsd).toBeLessThanOrEqual(8_000)
  })

  test('follows the same retry policy', async () => {
    const { options, compactionReplies, small } = world([
      { error: { kind: 'overloaded', message: 'busy', status: 529 } },
      { error: { kind: 'connection', message: 'gone' } },
      summary,
    ])
    const { terminal, events } = await run([], { ...options, maxBudgetUsd: 100_000 } as never)
    expect([compactionReplies.map(({ kind }) => kind), small.requests.length, terminal.reason]).toEqual([
      ['answered'],
      3,
      'completed',
    ])
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(2)
    // A dropped connection may have been billed.
    expect([terminal.costUsd, terminal.committedUsd]).toEqual([370, 370 + questionTokens])
    expect(new Set(small.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
  })

  test('gets an error when its own request is too long, and may ask again', async () => {
    const { options, compactionReplies } = world()
    const small = scriptedModel([{ error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }, summary], {
      id: 'small',
    })
    const compaction: Compaction = {
      trigger: 'auto',
      async run({ ask }) {
        for (;;) {
          const reply = await ask({ ...question, model: small })
          compactionReplies.push(reply)
          if (reply.kind === 'answered')
            return summarizing('auto', []).run({
              ask: async () => reply,
              signal: new AbortController().signal,
              instructions: '',
            })
          if (reply.kind !== 'failed' || reply.error.kind !== 'prompt_too_long')
            return { kind: 'gave_up', message: reply.kind }
        }
      },
    }
    const { terminal } = await run([], {
      ...options,
      context: beforeSecond(() => compaction, { models: [small] }),
    } as never)
    expect([compactionReplies.map(({ kind }) => kind), terminal.summary.compacted]).toEqual([
      ['failed', 'answered'],
      true,
    ])
  })

  test('may ask four times, and no more', async () => {
    const compactionReplies: CompactionReply[] = []
    const { options } = world()
    const small = scriptedModel(() => summary, { id: 'small' })
    const compaction = () =>
      summarizing(
        'auto',
        compactionReplies,
        Array.from({ length: 6 }, () => ({ ...question, model: small })),
      )
    const { terminal } = await run([], { ...options, context: beforeSecond(compaction, { models: [small] }) } as never)
    expect([compactionReplies.map(({ kind }) => kind), small.requests.length]).toEqual([
      ['answered', 'answered', 'answered', 'answered', 'failed'],
      4,
    ])
    expect([terminal.reason, terminal.summary.compacted, terminal.costUsd]).toEqual(['completed', false, 30 + 4 * 340])
  })

  test('is paid even when it gives up after the answer', async () => {
    const { options } = world()
    const wasteful: Compaction = {
      trigger: 'auto',
      run: async ({ ask }) => (await ask(question), { kind: 'gave_up', message: 'nothing was gained' }),
    }
    const model = scriptedModel([calls('Look'), summary, 'answer'], { maxOutputTokens: cap })
    const { terminal } = await run([], { ...options, model, context: beforeSecond(() => wasteful) } as never)
    expect([terminal.costUsd, terminal.summary.compacted]).toEqual([370, false])
  })

  test('is paid when it throws or returns an invalid result, and gives up', async () => {
    const { options } = world()
    const broken: Compaction = { trigger: 'auto', run: async ({ ask }) => { await ask(question); throw new Error('no') } } // prettier-ignore
    const model = scriptedModel([calls('Look'), summary, 'answer'], { maxOutputTokens: cap })
    const { terminal, events } = await run([], { ...options, model, context: beforeSecond(() => broken) } as never)
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 370])
    expect(events.filter(({ type }) => type === 'compact_end')).toEqual([
      { type: 'compact_end', trigger: 'auto', compacted: false, message: 'no' },
    ])
  })

  test('is paid after a 413 even when the layer gives up', async () => {
    const wasteful = (trigger: Compaction['trigger']): Compaction => ({
      trigger,
      run: async ({ ask }) => (await ask(question), { kind: 'gave_up', message: 'nothing was gained' }),
    })
    const tooLong: ScriptedReply = { error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }
    const model = scriptedModel([tooLong, summary, summary], { maxOutputTokens: cap })
    const context = { ...plainContext, drain: () => wasteful('collapse'), compact: () => wasteful('reactive') }
    const { terminal, steps } = await run([], { model, prices, context })
    expect([terminal.reason, terminal.costUsd]).toEqual(['prompt_too_long', 680])
    expect(json((await replay(steps.records, { model, prices, context })).terminal)).toEqual(json(terminal))
  })

  test('draws on the same budget in a subagent', async () => {
    const child = {
      name: 'Agent',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'sub' }),
    } as const
    const model = scriptedModel(
      ({ messages, system }): ScriptedReply =>
        system === 'Summarize.'
          ? summary
          : messages[0]?.content === 'go' && messages.length === 1
            ? calls('Agent')
            : 'said',
      { maxOutputTokens: cap },
    )
    const context: ContextManager = {
      ...plainContext,
      autoCompact: true,
      beforeRequest: ({ state }) =>
        state.run.depth === 1 && state.spent.compactions === 0 ? summarizing('auto') : undefined,
    }
    const { terminal } = await run([], { model, prices, context, tools: [child], maxBudgetUsd: 100_000 })
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 15 + 340 + 15 + 15])
  })
})

describe('aborting a compaction', () => {
  test('charges the request at its worst case, and ends the run', async () => {
    const { options, small } = world([{ hang: true }])
    const going = begin([], { ...options, maxBudgetUsd: 100_000 } as never)
    await until(() => small.requests.length === 1)
    going.loop.abort()
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual([
      'aborted_streaming',
      15,
      15 + questionTokens,
    ])
  })

  test.each([
    ['asks', true],
    ['asks nobody', false],
  ])('ends the run after a 413 too, when it %s: no other layer is tried', async (_how, asks) => {
    const tooLong: ScriptedReply = { error: { kind: 'prompt_too_long', message: 'too long', status: 413 } }
    const model = scriptedModel([tooLong, { hang: true }, summary, 'never'], { maxOutputTokens: cap })
    let isCompacting = false
    const hanging: Compaction = {
      trigger: 'collapse',
      run: ({ ask }) => (
        (isCompacting = true),
        asks
          ? summarizing('collapse').run({ ask, signal: new AbortController().signal, instructions: '' })
          : new Promise(() => {})
      ),
    }
    const context = { ...plainContext, drain: () => hanging, compact: () => summarizing('reactive') }
    const runOptions = { model, prices, context, wrapUp: true, clock: createFakeClock({ autoAdvance: true }) }
    const going = begin([], runOptions)
    await until(() => isCompacting && model.requests.length === (asks ? 2 : 1))
    going.loop.abort()
    const { terminal, steps } = await going.end()
    expect([terminal.reason, terminal.costUsd, model.requests.length]).toEqual(['aborted_streaming', 0, asks ? 2 : 1])
    expect(json((await replay(steps.records, runOptions)).terminal)).toEqual(json(terminal))
  })
})

test('reports to a compaction that its reply was cut off', async () => {
  const { options, compactionReplies } = world([
    { text: 'half a summary', streamError: { kind: 'connection', message: 'socket closed' } },
  ])
  await run([], options as never)
  expect(compactionReplies).toMatchObject([
    { kind: 'answered', streamError: { kind: 'connection', message: 'socket closed' } },
  ])
})

describe('a compaction that misbehaves', () => {
  const asking = (run: Compaction['run'], replies: readonly ScriptedReply[] = [summary]) => {
    const { options, small } = world(replies)
    const context = beforeSecond(() => ({ trigger: 'auto', run }), { models: [small] })
    return { options: { ...options, context, graceMs: 100 }, question: { ...question, model: small }, small }
  }

  test('by not awaiting its question: the run awaits it and pays', async () => {
    const compactionTest = asking(async ({ ask }) => {
      void ask(compactionTest.question)
      return { kind: 'gave_up', message: 'never mind' }
    })
    const { terminal, events } = await run([], compactionTest.options as never)
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 370])
    expect(events.filter(({ type }) => type === 'compact_end')).toHaveLength(1)
  })

  test('by not awaiting a slow question: nothing of it is under way when the run continues', async () => {
    const slow: ScriptedReply = { ...summary, before: () => new Promise((resolve) => void clock.after(5_000, resolve)) }
    const compactionTest = asking(
      async ({ ask }) => {
        void ask(compactionTest.question)
        return { kind: 'gave_up', message: 'never mind' }
      },
      [slow],
    )
    const clock = createFakeClock({ autoAdvance: true })
    const { terminal, steps } = await run([], { ...compactionTest.options, clock })
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 370])
    const done = steps.records.flatMap((record) => (record.type === 'result' ? [record.key.split('/')[1]] : []))
    expect(done.filter((key) => !key?.startsWith('tool'))).toEqual([
      'model:1.1',
      'compact:2.auto',
      'compact:2.auto',
      'model:2.1',
    ])
  })

  test('by asking after its end: the question is rejected', async () => {
    let askLater = (): Promise<CompactionReply> => Promise.reject(new Error('it never began'))
    const compactionTest = asking(async ({ ask }) => {
      askLater = () => ask(compactionTest.question)
      return { kind: 'gave_up', message: 'never mind' }
    })
    const late: CompactionReply[] = []
    const asks = hook('afterInference', async () => {
      if (late.length === 0)
        await askLater().then(
          (reply) => late.push(reply),
          () => {},
        )
    })
    const { terminal } = await run([], { ...compactionTest.options, hooks: [asks] } as never)
    expect([terminal.reason, late, compactionTest.small.requests.length]).toEqual([
      'completed',
      [{ kind: 'aborted' }],
      0,
    ])
  })

  test('by ignoring an abort: it is left behind, its questions are paid, and no more are asked', async () => {
    let askLater = (): Promise<CompactionReply> => Promise.reject(new Error('it never began'))
    const compactionTest = asking(
      ({ ask }) =>
        new Promise(() => {
          void ask(compactionTest.question)
          askLater = () => ask(compactionTest.question)
        }),
      [{ hang: true, deaf: true }, summary],
    )
    const going = begin([], { ...compactionTest.options, maxBudgetUsd: 100_000 } as never)
    await until(() => compactionTest.small.requests.length === 1)
    going.loop.abort()
    const { terminal, state } = await going.end()
    expect([terminal.reason, terminal.committedUsd]).toEqual(['aborted_streaming', 15 + questionTokens])
    expect([await askLater(), compactionTest.small.requests.length]).toEqual([{ kind: 'aborted' }, 1])
    expect(state.spent.unknownNanos).toBe(questionTokens * 1e9)
  })

  test('by swallowing a failure of the step engine: the run breaks', async () => {
    const compactionTest = asking(async ({ ask }) => {
      await ask(compactionTest.question).catch(() => {})
      return { kind: 'compacted', messages: [{ role: 'user', content: 'x' }], preTokens: 1, postTokens: 1 }
    })
    const steps = createMemorySteps({
      clock: compactionTest.options.clock!,
      onRecord: (record) => {
        if (record.type === 'intent' && record.key.includes('compact:')) throw new Error('the disk is full')
      },
    })
    const { terminal } = await run([], { ...compactionTest.options, steps } as never)
    expect([terminal.reason, terminal.error?.message]).toEqual(['error', 'The run failed: the disk is full'])
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['another kind', { kind: 'done' }],
    ['no messages', { kind: 'compacted' }],
  ])('by returning %s: it gives up', async (_what, result) => {
    // Plain JavaScript code can return any value.
    const compactionTest = asking(async () => result as never)
    const { terminal, events } = await run([], compactionTest.options as never)
    expect(terminal.reason).toBe('completed')
    expect(events).toContainEqual({
      type: 'compact_end',
      trigger: 'auto',
      compacted: false,
      message: 'The compaction returned an invalid result.',
    })
  })
})

describe('killing a compaction', () => {
  test('before the answer: counts the request at its reservation, and makes it again', async () => {
    const { options } = world()
    const limited = { ...options, maxBudgetUsd: 100_000 }
    const records = await killedBefore((record) => record.type === 'result' && record.key.includes('compact:'), limited)
    const { options: again, small } = world()
    const { terminal, state } = await resume(records, { ...again, maxBudgetUsd: 100_000 }).loop.ended
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 370, 370 + questionTokens])
    expect([small.requests.length, state.spent.compactions]).toEqual([1, 1])
    const poor = await resume(records, { ...again, maxBudgetUsd: 15 + questionTokens + 1_000 }).loop.ended
    expect([poor.terminal.reason, poor.terminal.committedUsd]).toEqual(['max_budget_usd', 15 + questionTokens])
  })

  test('after the answer: does not pay twice', async () => {
    let compacted = 0
    const isFatal = (record: StepRecord) =>
      record.type === 'result' && record.key.includes('compact:') && ++compacted === 2
    const records = await killedBefore(isFatal, { ...world().options, maxBudgetUsd: 100_000 })
    const { options, small } = world()
    const { terminal } = await resume(records, { ...options, maxBudgetUsd: 100_000 }).loop.ended
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd, small.requests.length]).toEqual([
      'completed',
      370,
      370,
      0,
    ])
  })

  test('after its end: uses the recorded compaction, whatever the layers would return now', async () => {
    const records = await killedBefore((record) => record.type === 'intent' && record.key.includes('model:2'), {
      ...world().options,
      maxBudgetUsd: 100_000,
    })
    for (const context of [world().options.context, plainContext]) {
      const { options, small } = world()
      const { terminal, state } = await resume(records, { ...options, ...(context && { context }) }).loop.ended
      expect([terminal.reason, terminal.costUsd, small.requests.length]).toEqual(['completed', 370, 0])
      expect(state.transcript.messages()[0]).toEqual({ role: 'user', content: 'a summary' })
    }
  })

  test('after any record: ends the same', async () => {
    const completeRun = await run([], world().options as never)
    for (let count = 1; count < completeRun.steps.records.length; count++) {
      const records = await killedBefore((_record, written) => written === count, world().options)
      const { terminal } = await resume(records, world().options).loop.ended
      expect([count, terminal.reason, terminal.costUsd]).toEqual([count, 'completed', 370])
    }
  })

  test('a replay asks no model', async () => {
    const { options } = world()
    const completeRun = await run([], options as never)
    const { options: silent, small } = world()
    const again = await replay(completeRun.steps.records, silent)
    expect([json(again.terminal), small.requests.length]).toEqual([json(completeRun.terminal), 0])
    expect(json(again.events)).toEqual(json(completeRun.events.filter((event) => !isLive(event))))
  })
})

describe('models of a compaction', () => {
  test('need a price under a dollar budget when the options are validated', () => {
    const small = scriptedModel([], { id: 'small' })
    const priced = {
      ...prices,
      worstCase: (id: string, bound: never) => (id === 'small' ? undefined : prices.worstCase(id, bound)),
    }
    const options = { model: scriptedModel([]), prices: priced, context: { ...plainContext, models: [small] } }
    expect(() => streamRun(startRun({ prompt: 'go' }), { ...options, maxBudgetUsd: 1 })).toThrow(ConfigurationError)
    expect(() => streamRun(startRun({ prompt: 'go' }), options)).not.toThrow()
  })

  test('need a price under a dollar budget that is set during the run', () => {
    const small = scriptedModel([], { id: 'small' })
    const worstCase: Prices['worstCase'] = (id, bound) => (id === 'small' ? undefined : prices.worstCase(id, bound))
    const { loop: going } = begin([], {
      prices: { ...prices, worstCase },
      context: { ...plainContext, models: [small] },
    })
    expect(() => going.set({ limits: { maxBudgetUsd: 5 } })).toThrow('There is no price for small')
  })

  test('are rejected when they were not named', async () => {
    const { options, compactionReplies, small } = world()
    const context = { ...options.context, models: [] } as ContextManager
    const { terminal } = await run([], { ...options, context, maxBudgetUsd: 100_000 } as never)
    expect([compactionReplies.map(({ kind }) => kind), small.requests.length, terminal.reason]).toEqual([
      ['failed'],
      0,
      'completed',
    ])
  })
})

describe('the maximum that a question can be billed for', () => {
  test("is the provider's count for the messages that it covers, and bytes for the rest", async () => {
    const long = 'é'.repeat(4_000)
    const model = scriptedModel([{ ...calls('Look'), usage: usage(3_000, 20) }, summary, 'answer'], {
      maxOutputTokens: cap,
    })
    const compaction: Compaction = {
      trigger: 'auto',
      run: ({ ask }) =>
        summarizing('auto', [], [question]).run({
          ask: (request) => ask({ ...request, messages: firstMessages.slice(0, 1) }),
          signal: new AbortController().signal,
          instructions: '',
        }),
    }
    let firstMessages: readonly { readonly role: 'user'; readonly content: string }[] = []
    const context: ContextManager = {
      ...plainContext,
      autoCompact: true,
      beforeRequest: ({ state }) => {
        if (state.spent.request !== 2) return undefined
        // The messages exactly as in the conversation.
        firstMessages = state.transcript.messages() as never
        return compaction
      },
    }
    const { steps } = await run(
      [],
      { model, prices, context, tools: [reader('Look')], maxBudgetUsd: 100_000 },
      { prompt: long },
    )
    // The count of the first request, the tokens of the reply, and the text of the question itself.
    expect(reservedByCompaction(steps.records)).toEqual([1_000 + 3_000 + 20 + 10 + 500])
  })
})
