// Tests R-RES-1 to R-RES-7.
import { describe, expect, test } from 'vitest'
import {
  AgentStopException,
  HaltingError,
  replay,
  resume,
  type AgentTool,
  type RunEvent,
  type RunOptions,
  type StepRecord,
  type RunResult,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  hook,
  json,
  reader,
  resultTexts,
  run,
  tool,
  until,
  type Run,
  isLive,
  subagent,
} from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply => {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  return turn === 0 ? calls('Look', 'Write') : turn === 1 ? calls('Write') : 'done'
}

function world() {
  const written: string[] = []
  const options = (): RunOptions => ({
    model: scriptedModel(script),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [reader('Look'), tool('Write', (_input, { idempotencyKey }) => (written.push(idempotencyKey), 'written'))],
    hooks: [hook(['beforeToolUse', 'afterStep', 'onStop'], () => {})],
  })
  return { options, written }
}

describe('resume', () => {
  test('after any record ends the same; a writing tool is done, reported as unknown, or run once', async () => {
    const completeRun = await run(script, world().options() as never)
    const total = completeRun.steps.records.length
    expect(total).toBeGreaterThan(20)
    for (let count = 1; count < total; count++) {
      const { options, written } = world()
      const records = await killedAfter(count, options())
      const before = written.length
      const resumed = resume(records, options())
      const events: RunEvent[] = []
      for await (const event of resumed.loop) events.push(event)
      const { terminal, state } = await resumed.loop.ended
      const { run } = state
      expect(events.filter(({ type }) => type === 'run_start')).toEqual(events.slice(0, 1))
      expect(events[0]).toEqual({ type: 'run_start', run, model: 'scripted', isResumed: true })
      expect([count, terminal.reason, terminal.summary.turns]).toEqual([count, 'completed', 3])
      expect(transcriptProblems(state.transcript.messages())).toEqual([])
      // Nothing runs twice: each call's key is written at most once, and a call without an effect is reported as unknown.
      expect(new Set(written).size).toBe(written.length)
      const unknown = resultTexts({ state: { ...state, startLength: 0 } }).filter((text) =>
        String(text).startsWith('The outcome of this call is unknown'),
      ).length
      expect([written.length, unknown].reduce((sum, part) => sum + part, 0)).toBeGreaterThanOrEqual(2)
      expect(before + unknown).toBeLessThanOrEqual(3)
    }
  })

  test('repeats nothing of past turns: no past hook, no past request', async () => {
    const { options } = world()
    const completeRun = await run(script, options() as never)
    const iterationIndex = completeRun.steps.records.findIndex(({ type }) => type === 'lap')
    const asked: string[] = []
    const model = scriptedModel(script)
    const resumed = resume(completeRun.steps.records.slice(0, iterationIndex + 1), {
      ...options(),
      model,
      hooks: [hook(['beforeExecution', 'beforeStep'], ({ trigger }) => void asked.push(trigger))],
    })
    const { terminal } = await resumed.loop.ended
    expect([terminal.reason, model.requests.length, asked]).toEqual(['completed', 2, ['beforeStep', 'beforeStep']])
  })

  test('obeys other limits from the first live step', async () => {
    const { options } = world()
    const completeRun = await run(script, options() as never)
    const iterationIndex = completeRun.steps.records.findIndex(({ type }) => type === 'lap')
    const resumed = resume(completeRun.steps.records.slice(0, iterationIndex + 1), { ...options(), maxTurns: 2 })
    expect((await resumed.loop.ended).terminal.reason).toBe('max_turns')
  })

  test('closes the open calls and ends after an acknowledged stop', async () => {
    const going = begin([calls('Hang')], { tools: [hanging('Hang')] })
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    going.loop.abort()
    const { steps } = await going.end()
    const records = steps.records.slice(0, -1)
    const { terminal, state } = await resume(records, {
      model: scriptedModel(['never']),
      clock: createFakeClock(),
      tools: [hanging('Hang')],
    }).loop.ended
    expect([terminal.reason, transcriptProblems(state.transcript.messages())]).toEqual(['aborted_tools', []])
  })

  test('charges an open request at its reservation, and asks again as the next attempt', async () => {
    const model = scriptedModel(() => 'answer', { maxOutputTokens: 2_000 })
    const options = { model, clock: createFakeClock(), prices: dollarATokenPrices, maxBudgetUsd: 10_000 }
    const records = await killedAfter(2, options)
    expect(records.map(({ type }) => type)).toEqual(['start', 'intent'])
    const { terminal } = await resume(records, options).loop.ended
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 15, 1_020 + 2_000 + 15])
    expect(model.requests.at(-1)?.idempotencyKey).toBe('session/run1/model:1.2')
  })

  test('counts an open request against the budget: the rest is too little to ask again', async () => {
    const model = scriptedModel(() => 'answer', { maxOutputTokens: 2_000 })
    const options = { model, clock: createFakeClock(), prices: dollarATokenPrices, maxBudgetUsd: 5_000 }
    const records = await killedAfter(2, options)
    const requestCount = model.requests.length
    const { terminal } = await resume(records, options).loop.ended
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd, model.requests.length - requestCount]).toEqual([
      'max_budget_usd',
      0,
      1_020 + 2_000,
      0,
    ])
  })

  test('counts the cost of past turns against the budget', async () => {
    const dear: ScriptedReply = { ...calls('Look'), usage: { input_tokens: 1_000, output_tokens: 1_900 } }
    const options = () => ({
      model: scriptedModel([dear, 'answer'], { maxOutputTokens: 2_000 }),
      clock: createFakeClock(),
      tools: [reader('Look')],
      prices: dollarATokenPrices,
    })
    const completeRun = await run([], { ...options(), maxBudgetUsd: 100_000 })
    const iterationIndex = completeRun.steps.records.findIndex(({ type }) => type === 'lap')
    const resumed = (maxBudgetUsd: number) =>
      resume(completeRun.steps.records.slice(0, iterationIndex + 1), {
        ...options(),
        model: scriptedModel(['answer'], { maxOutputTokens: 2_000 }),
        maxBudgetUsd,
      }).loop.result
    const [open, spent] = [await resumed(8_000), await resumed(5_500)]
    expect([open.reason, open.costUsd]).toEqual(['completed', 2_915])
    expect([spent.reason, spent.costUsd]).toEqual(['max_budget_usd', 2_900])
  })

  test('in the middle of an agent ends the same: its iterations are separate', async () => {
    const agent: AgentTool = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'sub' }),
    }
    const options = () => ({
      model: scriptedModel(({ messages }) => {
        const turn = messages.filter(({ role }) => role === 'assistant').length
        const call = (name: string) => calls({ name, id: `${name} ${turn}` })
        if (messages[0]?.content === 'sub') return turn < 2 ? call('Look') : 'found'
        return turn === 0 ? call('Look') : turn === 1 ? call('Agent') : 'done'
      }),
      clock: createFakeClock(),
      tools: [reader('Look'), agent],
    })
    const completeRun = await run([], options())
    const iterationIndexes = completeRun.steps.records.flatMap((record, index) => (record.type === 'lap' ? [[index, record.lap.scope]] : [])) // prettier-ignore
    expect(iterationIndexes.map(([, scope]) => scope === '')).toEqual([true, false, false, true])
    for (const [index] of iterationIndexes) {
      const { terminal, state } = await resume(completeRun.steps.records.slice(0, Number(index) + 1), options()).loop
        .ended
      expect([index, terminal.reason, state.transcript.messages()]).toEqual([index, 'completed', completeRun.messages])
    }
  })

  test('has the time that was left when its open turn began', async () => {
    const clock = createFakeClock()
    const slow: ScriptedReply = { ...calls('Look'), before: () => clock.advance(8_000) }
    const options = { clock, tools: [reader('Look')], maxDurationMs: 10_000 }
    const completeRun = await run([slow, 'answer'], options)
    const iterationIndex = completeRun.steps.records.findIndex(({ type }) => type === 'lap')
    await clock.advance(60_000)
    const model = scriptedModel([{ hang: true }])
    const runResults: RunResult[] = []
    const onResult = (terminal: RunResult) => void runResults.push(terminal)
    const { ended } = resume(completeRun.steps.records.slice(0, iterationIndex + 1), {
      ...options,
      model,
      onResult,
    }).loop
    await until(() => model.requests.length === 1)
    await clock.advance(1_999)
    expect(runResults).toEqual([])
    await clock.advance(1)
    const { terminal } = await ended
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 10_000])
  })

  test('has the time that was left when the process ended, also in the middle of a turn', async () => {
    const clock = createFakeClock()
    const slow: ScriptedReply = { ...calls('Look'), before: () => clock.advance(8_000) }
    const options = { clock, tools: [hanging('Look', { readOnly: true })], maxDurationMs: 10_000 }
    const going = begin([slow], options)
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    const records = [...going.steps.records]
    going.loop.abort()
    await going.end()
    expect(records.map(({ type }) => type)).toEqual(['start', 'intent', 'result', 'intent'])
    await clock.advance(60_000)
    const started: string[] = []
    const ended = resume(records, {
      ...options,
      model: scriptedModel([]),
      tools: [
        reader('Look', (_input, { signal }) => {
          started.push('Look')
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        }),
      ],
    }).loop.ended
    await until(() => started.length === 1)
    await clock.advance(10_000)
    const { terminal } = await ended
    expect([terminal.reason, terminal.durationMs]).toEqual(['time_limit', 10_000])
  })

  test('counts the carried counters of a run against the budget', async () => {
    const options = {
      model: scriptedModel(['never'], { maxOutputTokens: 2_000 }),
      clock: createFakeClock(),
      prices: dollarATokenPrices,
      maxBudgetUsd: 5_000,
    }
    const first = await run([{ text: 'x', usage: { input_tokens: 1_000, output_tokens: 2_000 } }], {
      ...options,
      model: scriptedModel([{ text: 'x', usage: { input_tokens: 1_000, output_tokens: 2_000 } }], {
        maxOutputTokens: 2_000,
      }),
    })
    const second = await run(
      ['never'],
      { ...options, maxBudgetUsd: 100_000 },
      {
        prompt: 'more',
        carry: first.state.spent,
        transcript: first.state.transcript,
      },
    )
    const { terminal } = await resume(second.steps.records.slice(0, 1), options, first.state.transcript).loop.ended
    expect(terminal.reason).toBe('max_budget_usd')
  })

  test('a run that ended is closed', async () => {
    const { steps } = await run(['answer'])
    expect(() => resume(steps.records, { model: scriptedModel([]) })).toThrow(HaltingError)
  })

  test('rejects the reply to another conversation', async () => {
    const record = async (prompt: string) => (await run(['answer'], {}, { prompt })).steps.records.slice(0, 3)
    const [one, other] = [await record('one'), await record('other')]
    expect(one.map(({ type }) => type)).toEqual(['start', 'intent', 'result'])
    const mixed = [...one.slice(0, 1), ...other.slice(1)]
    const model = scriptedModel(['never'])
    const resumed = await resume(mixed, { model, clock: createFakeClock() }).loop.ended
    const replayed = await replay(mixed, { model })
    expect([resumed.terminal.error?.code, replayed.terminal.error?.code, model.requests]).toEqual([
      'step_mismatch',
      'step_mismatch',
      [],
    ])
  })

  test('rejects the result of a call with another input', async () => {
    const ran: unknown[] = []
    const tools = [tool('Write', (input) => (ran.push(input['at']), 'written'))]
    const record = async (at: string) =>
      (await run([calls({ name: 'Write', input: { at } }), 'done'], { tools })).steps.records.slice(0, 6)
    const isOfCall = (each: StepRecord) => 'key' in each && each.key.startsWith('run1/tool:')
    const [here, there] = [await record('here'), await record('there')]
    expect(here.map((each) => [each.type, isOfCall(each)])).toEqual([
      ['start', false],
      ['intent', false],
      ['result', false],
      ['intent', true],
      ['result', true],
      ['lap', false],
    ])
    const mixed = [...here.slice(0, 3), ...there.slice(3, 5)]
    ran.length = 0
    const options = { model: scriptedModel(['never']), clock: createFakeClock(), tools }
    const resumed = await resume(mixed, options).loop.ended
    const replayed = await replay(mixed, options)
    expect([resumed.terminal.error?.code, replayed.terminal.error?.code, ran]).toEqual([
      'step_mismatch',
      'step_mismatch',
      [],
    ])
  })
})

describe('replay', () => {
  const same = async (whole: Run, options: RunOptions) => {
    const records = whole.steps.records.map((record) => json(record) as unknown as StepRecord)
    const { events, terminal } = await replay(records, options)
    expect(json(events)).toEqual(json(whole.events.filter((event) => !isLive(event))))
    expect(json(terminal)).toEqual(json(whole.terminal))
  }

  test('has the same events and the same run result, and runs nothing', async () => {
    const { options } = world()
    const completeRun = await run(script, options() as never)
    const ran: string[] = []
    const silent = scriptedModel(() => (ran.push('model'), 'never'))
    await same(completeRun, {
      ...options(),
      model: silent,
      tools: [reader('Look', () => (ran.push('Look'), 'x')), tool('Write', () => (ran.push('Write'), 'x'))],
    })
    expect(ran).toEqual([])
  })

  test('of retries, thrown stops, limits and aborts', async () => {
    const failing: ScriptedReply = { error: { kind: 'overloaded', message: 'x', status: 529 } }
    await same(await run([failing, 'answer']), { model: scriptedModel([]) })
    const tools = [reader('Look'), tool('Throw', () => { throw new AgentStopException({ message: 'done' }) })] // prettier-ignore
    await same(await run([calls('Look', 'Throw')], { tools }), { model: scriptedModel([]), tools })
    await same(await run(() => calls('Look'), { tools, maxTurns: 2, wrapUp: true }), {
      model: scriptedModel([]),
      tools,
      maxTurns: 2,
      wrapUp: true,
    })
    const controller = new AbortController()
    const stop = tool('Throw', () => (controller.abort('terminated'), 'x'))
    await same(await run([calls('Throw', 'Look')], { tools: [stop, reader('Look')], signal: controller.signal }), {
      model: scriptedModel([]),
      tools: [stop, reader('Look')],
    })
  })

  test('of parallel calls, each in its own time: an agent began when the call next to it did', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const pass = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
    const tools = [reader('Look', async () => (await pass(5_000), 'looked')), subagent]
    const model = scriptedModel(({ messages }) =>
      messages[0]?.content === 'sub'
        ? { text: 'found', before: () => pass(1_000) }
        : messages.length === 1
          ? calls('Look', 'Agent', 'Look')
          : 'done',
    )
    const completeRun = await run([], { model, tools, clock })
    expect([completeRun.terminal.reason, completeRun.terminal.durationMs]).toEqual(['completed', 5_000])
    await same(completeRun, { model: scriptedModel([]), tools })
  })

  test('fails beyond the record', async () => {
    const completeRun = await run(script, world().options() as never)
    const { terminal } = await replay(completeRun.steps.records.slice(0, 6), world().options())
    expect([terminal.reason, terminal.error?.code]).toEqual(['error', 'replay_exhausted'])
  })
})
