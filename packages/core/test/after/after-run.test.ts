// Tests the stages after a run (spec R-AFTER-1 to R-AFTER-7).
import { expect, test } from 'vitest'
import { afterRun, runStages, type Stage, type StageContext, type StageReport } from '../../src/after/index.ts'
import { QueryEngine, type Prices, type SdkMessage } from '../../src/index.ts'
import { foldRun, foldSession, recordedSpending, type StoredSession, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { engineOf, resultOf, type EngineOverrides } from '../support/engine.ts'
import { hanging, reader, type Script } from '../support/harness.ts'

/** Prices input and output at a thousandth of a dollar a token. */
const prices: Prices = {
  cost: (_model, usage) => (usage.input_tokens + usage.output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}

const asks = (name: string, parts: Partial<Stage> = {}): Stage => ({
  name,
  run: async ({ ask }) => ({ kind: 'done', message: (await ask({ prompt: 'And now?' })).text }),
  ...parts,
})

async function submit(engine: QueryEngine): Promise<readonly SdkMessage[]> {
  const messages: SdkMessage[] = []
  for await (const message of engine.submit('go')) messages.push(message)
  return messages
}

/** The clock stands still, so that nothing ends by its time limit. */
const newStillClock = () => createFakeClock()

/** Runs to completion, and then runs the stages. */
async function runWithStages(stages: readonly Stage[], script: Script = ['done'], overrides: EngineOverrides = {}) {
  const engineParts = engineOf(script, overrides)
  const messages = [...(await submit(engineParts.engine))]
  const running = afterRun(engineParts.engine, stages)
  const stageMessages: SdkMessage[] = []
  for await (const message of running) stageMessages.push(message)
  return { ...engineParts, messages, stageMessages, reports: await running.ended }
}

const endOf = ({ reason, message, turns }: StageReport) => [reason, message, turns]

/** A session that stores its records, as a journal does. */
function storedSession(records: StepRecord[] = []): StoredSession {
  const runs: StepRecord[][] = []
  for (const record of records) {
    if (record.type === 'start' && record.scope === '') runs.push([])
    runs.at(-1)?.push(record)
  }
  const log = {
    keeps: 'all',
    // A file would contain the same.
    append: (record: StepRecord) => void records.push(JSON.parse(JSON.stringify(record)) as StepRecord),
    flush: () => undefined,
  } as const
  return { ...foldSession(runs), log }
}

test('starts a stage after the result, and then reports its end', async () => {
  const { messages, stageMessages, model, reports } = await runWithStages([asks('memory')], ['answer', 'noted'])
  expect(resultOf(messages).result).toBe('answer')
  expect(stageMessages).toMatchObject([
    { type: 'system', subtype: 'stage_ended', stage: 'memory', run_id: 'run1', reason: 'completed', message: 'noted' },
  ])
  expect(reports.map(endOf)).toEqual([['completed', 'noted', 1]])
  // The session passes nothing to the model except what the stage sends.
  expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: 'And now?' }])
})

test('asks the model of the stage, else that of the list of stages, else that of the session', async () => {
  const [small, own] = [scriptedModel(['small'], { id: 'small' }), scriptedModel(['own'], { id: 'own' })]
  const { engine } = engineOf(['answer', 'that of the session'], { clock: newStillClock() })
  await submit(engine)
  const messagesOf = async (stages: readonly Stage[], options = {}): Promise<readonly unknown[]> =>
    (await afterRun(engine, stages, options).ended).map(({ message }) => message)
  expect(await messagesOf([asks('a'), asks('b', { model: own })], { model: small })).toEqual(['small', 'own'])
  expect(await messagesOf([asks('c')])).toEqual(['that of the session'])
})

test('stages under one budget wait for what the others have reserved (spec R-BUD-18)', async () => {
  // The worst case of a question is about $5.10, so only one fits at a time. Each costs 2 cents.
  const limits = { maxBudgetUsd: 6, maxTotalTokens: 10_000 }
  const stages = ['a', 'b', 'c'].map((name) => asks(name, { limits }))
  const usage = { input_tokens: 10, output_tokens: 10 }
  const script = () => ({ text: 'noted', usage })
  const { reports, engine } = await runWithStages(stages, script, { prices, maxBudgetUsd: 6 })
  expect(reports.map(({ reason, costUsd }) => [reason, costUsd])).toEqual([
    ['completed', 0.02],
    ['completed', 0.02],
    ['completed', 0.02],
  ])
  expect(engine.totalCostUsd).toBeCloseTo(0.08, 9)
})

test('requests replies no longer than the model can write', async () => {
  const [short, long] = [1_000, 64_000].map((maxOutputTokens) => scriptedModel(['noted'], { maxOutputTokens }))
  await runWithStages([asks('a', { model: short }), asks('b', { model: long })])
  expect([short, long].map((model) => model?.requests[0]?.maxOutputTokens)).toEqual([1_000, 4_096])
})

test('starts stages only after a completed run', async () => {
  const started: string[] = []
  const stage: Stage = {
    name: 'memory',
    run: ({ terminal }) => (started.push(String(terminal?.reason)), { kind: 'done' }),
  }
  const tools = [reader('Read')]
  await runWithStages([stage], [{ toolCalls: [{ name: 'Read' }] }], { tools, maxTurns: 1 })
  await runWithStages([stage], [{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }])
  await runWithStages([stage], ['answer'], { stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'no' }) }] })
  await runWithStages([stage], ['answer'], { stopWhen: { name: 'silent', checkpoints: ['after_reply'], evaluate: () => undefined } }) // prettier-ignore
  expect(started).toEqual(['completed'])
})

test('starts no stage before a run or during one', async () => {
  const { engine } = engineOf([{ hang: true }])
  expect(await afterRun(engine, [asks('memory')]).ended).toEqual([])
  const running = submit(engine)
  await Promise.resolve()
  await Promise.resolve()
  expect(() => afterRun(engine, [asks('memory')])).toThrow('A run is active.')
  engine.interrupt()
  await running
})

const endlessStage =
  (tools: readonly ReturnType<typeof reader>[]) =>
  async ({ ask }: StageContext) => {
    for (;;) await ask({ prompt: 'again', tools })
  }

test.each<[string, Partial<Stage>, Script, string]>([
  ['turns', { run: endlessStage([]), limits: { maxTurns: 3, maxTotalTokens: 1e6 } }, () => 'more', 'max_turns'],
  [
    'turns with tools',
    { run: endlessStage([reader('Read')]), limits: { maxTurns: 3, maxTotalTokens: 1e6 } },
    (_request, index) => (index === 0 ? 'answer' : { toolCalls: [{ name: 'Read' }] }),
    'max_turns',
  ],
  ['tokens', { run: endlessStage([]), limits: { maxTurns: 99, maxTotalTokens: 2_000 } }, () => 'more', 'token_limit'],
  ['time', { limits: { maxDurationMs: 50 } }, ['answer', { hang: true }], 'time_limit'],
  ['a hanging model', { limits: { maxDurationMs: 50 } }, ['answer', { hang: true, deaf: true }], 'time_limit'],
  [
    'work that never ends',
    { run: () => new Promise(() => {}), limits: { maxDurationMs: 50 } },
    ['answer'],
    'time_limit',
  ],
  [
    'a failure of the model',
    {},
    ['answer', { error: { kind: 'invalid_request', message: 'bad', status: 400 } }],
    'failed',
  ],
  ['an error', { run: () => { throw new Error('bug') } }, ['answer'], 'failed'], // prettier-ignore
])('%s ends a stage, and neither the others nor the session', async (_what, parts, script, reason) => {
  const quiet: Stage = { name: 'other', run: () => ({ kind: 'done', message: 'fine' }) }
  const clock = createFakeClock({ autoAdvance: reason === 'time_limit' })
  const { reports, engine } = await runWithStages([asks('stage', parts), quiet], script, { clock })
  expect(reports.map((report) => report.reason)).toEqual([reason, 'completed'])
  expect(reports[0]?.turns).toBeLessThanOrEqual(parts.limits?.maxTurns ?? 1)
  expect(engine.lastTerminal?.reason).toBe('completed')
})

test('keeps the cost of a stage below its own limit', async () => {
  const stage = asks('memory', {
    run: endlessStage([]),
    limits: { maxTurns: 99, maxBudgetUsd: 2, maxTotalTokens: 1e9 },
  })
  const { reports, model } = await runWithStages([stage], () => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } }), { prices, clock: newStillClock() }) // prettier-ignore
  expect(reports[0]?.reason).toBe('max_budget_usd')
  expect(reports[0]?.committedUsd).toBeGreaterThan(0.5)
  expect(reports[0]?.committedUsd).toBeLessThanOrEqual(2)
  expect(model.requests.length).toBeGreaterThan(2)
})

test('keeps the cost of all stages together within the budget of the session', async () => {
  const stage = (name: string) => asks(name, { run: endlessStage([]), limits: { maxTurns: 99, maxBudgetUsd: 9, maxTotalTokens: 1e9 } }) // prettier-ignore
  const script: Script = () => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } })
  const { reports, engine } = await runWithStages([stage('a'), stage('b')], script, {
    prices,
    maxBudgetUsd: 4,
    clock: newStillClock(),
  })
  expect(reports.map(({ reason }) => reason)).toEqual(['max_budget_usd', 'max_budget_usd'])
  expect(engine.totalCostUsd).toBeGreaterThan(2)
  expect(engine.totalCostUsd).toBeLessThanOrEqual(4)
})

test('asks no model without a price in a session with a budget', async () => {
  const small = scriptedModel(['no'], { id: 'unpriced' })
  const some: Prices = {
    cost: (model, usage) => (model === 'unpriced' ? undefined : prices.cost(model, usage)),
    worstCase: (model, bound) => (model === 'unpriced' ? undefined : prices.worstCase(model, bound)),
  }
  const limited = await runWithStages([asks('memory', { model: small })], ['answer'], {
    prices: some,
    maxBudgetUsd: 500,
  })
  expect([limited.reports[0]?.reason, small.requests.length]).toEqual(['failed', 0])
  expect(limited.reports[0]?.message).toContain('There is no price for unpriced')
  const free = await runWithStages([asks('memory', { model: small })], ['answer'], { prices: some })
  expect(free.reports.map(endOf)).toEqual([['completed', 'no', 1]])
})

test('reports the cost of a stage in its message and in the totals of the session, not in the earlier result', async () => {
  const { engine, messages, stageMessages } = await runWithStages([asks('memory')], ['answer', 'noted', 'second'], {
    prices: { cost: () => 0.001, worstCase: () => 0.002 },
  })
  expect(resultOf(messages).total_cost_usd).toBe(0.001)
  expect(stageMessages).toMatchObject([{ cost_usd: 0.001, committed_usd: 0.001, tokens: 15 }])
  expect(engine.totalCostUsd).toBe(0.002)
  const next = resultOf(await submit(engine))
  expect(next.total_cost_usd).toBe(0.003)
  expect(next.modelUsage).toMatchObject({ scripted: { inputTokens: 30, outputTokens: 15, costUSD: 0.003 } })
})

test('ends the stages on an abort, and leaves the finished run unchanged', async () => {
  const { engine } = engineOf(['answer', { hang: true }, { hang: true, deaf: true }])
  await submit(engine)
  const running = afterRun(engine, [asks('a'), asks('b'), asks('c', { run: () => new Promise(() => {}) })])
  await Promise.resolve()
  running.abort('terminated')
  expect((await running.ended).map(({ reason }) => reason)).toEqual(['aborted', 'aborted', 'aborted'])
  expect(engine.lastTerminal?.reason).toBe('completed')
})

test('ends the stages when the session ends', async () => {
  const session = new AbortController()
  const { engine } = engineOf(['answer', { hang: true }], { signal: session.signal, clock: newStillClock() })
  await submit(engine)
  const { ended } = afterRun(engine, [asks('a')])
  session.abort('terminated')
  expect((await ended).map(endOf)).toEqual([['aborted', 'It was aborted (terminated).', 0]])
})

test('asks nothing when the signal is already aborted', async () => {
  const { engine, model } = engineOf(['answer', 'never'])
  await submit(engine)
  const { ended } = afterRun(engine, [asks('a')], { signal: AbortSignal.abort('terminated') })
  expect((await ended).map(endOf)).toEqual([['aborted', 'It was aborted (terminated).', 0]])
  expect(model.requests).toHaveLength(1)
})

test('ends the stages when the consumer stops reading messages', async () => {
  const { engine } = engineOf(['answer', { hang: true }])
  await submit(engine)
  const running = afterRun(engine, [{ name: 'quick', run: () => ({ kind: 'done' }) }, asks('slow')])
  const first = await running[Symbol.asyncIterator]().next()
  expect(first.value).toMatchObject({ stage: 'quick' })
  await running[Symbol.asyncIterator]().return?.()
  expect((await running.ended).map(({ reason }) => reason)).toEqual(['completed', 'aborted'])
})

test('a stage that has ended asks nothing any more', async () => {
  let late: StageContext['ask'] | undefined
  const stage: Stage = { name: 'early', run: ({ ask }) => ((late = ask), void ask({ prompt: 'alone' }).catch(() => {}), { kind: 'done' }) } // prettier-ignore
  const { reports, model } = await runWithStages([stage], ['answer', { hang: true }])
  expect(reports.map(({ reason }) => reason)).toEqual(['completed'])
  const requestCount = model.requests.length
  await expect(late?.({ prompt: 'late' })).rejects.toMatchObject({ name: 'StageStop', reason: 'aborted' })
  expect(model.requests).toHaveLength(requestCount)
})

test('makes parallel questions wait for their turn before they are asked', async () => {
  const stage: Stage = {
    name: 'many',
    limits: { maxTurns: 2 },
    run: async ({ ask }) => {
      const asked = await Promise.allSettled(['a', 'b', 'c', 'd'].map((prompt) => ask({ prompt })))
      return { kind: 'done', message: asked.map(({ status }) => status).join() }
    },
  }
  const { reports } = await runWithStages([stage], () => 'answer', { clock: newStillClock() })
  expect(reports.map(endOf)).toEqual([['completed', 'fulfilled,fulfilled,rejected,rejected', 2]])
})

test('bounds the output of a stage', async () => {
  const messages = Array.from(
    { length: 1_000 },
    (_each, index) => ({ type: 'prompt_suggestion', suggestion: `${index}` }) as const,
  )
  const large = { type: 'prompt_suggestion', suggestion: 'x'.repeat(20_000) } as const
  const alien = { type: 'result', result: 'forged' } as never
  const opening = { type: 'system', subtype: 'init' } as never
  const flood: Stage = {
    name: 'flood',
    run: () => ({
      kind: 'done',
      message: 'm'.repeat(1e6),
      details: { all: 'd'.repeat(1e6) },
      messages: [large, alien, opening, ...messages],
    }),
  }
  const { stageMessages } = await runWithStages([flood])
  expect(stageMessages.map((message) => ('subtype' in message ? message.subtype : message.type))).toEqual([
    ...Array.from({ length: 17 }, () => 'prompt_suggestion'),
    'stage_ended',
  ])
  expect(JSON.stringify(stageMessages).length).toBeLessThan(8_000)
})

test.each([
  ['text', 'failed'],
  [{ kind: 'other' }, 'failed'],
  [undefined, 'completed'],
  [{ kind: 'skipped', message: 'too early' }, 'skipped'],
])('a stage that returns %j has %s', async (returned, reason) => {
  const { reports } = await runWithStages([{ name: 'odd', run: () => returned as never }])
  expect(reports.map((report) => report.reason)).toEqual([reason])
})

test.each<[string, unknown, string]>([
  ['no name', [{ run: () => ({ kind: 'done' }) }], 'stages[0].name must be a text that is not empty'],
  ['two with one name', [asks('a'), asks('a')], 'Two stages have the name a'],
  ['no bound', [asks('a', { limits: { maxTurns: Infinity } })], 'stages[0].limits.maxTurns must be a whole number'],
  ['an unknown limit', [asks('a', { limits: { turns: 1 } as never })], 'Unknown limit stages[0].limits.turns'],
])('%s is refused before anything starts', async (_what, stages, problem) => {
  const { engine } = engineOf(['answer'])
  await submit(engine)
  expect(() => afterRun(engine, stages as readonly Stage[])).toThrow(problem)
})

test('records a stage before it asks, and counts its cost in the next process', async () => {
  const records: StepRecord[] = []
  const money: Prices = { cost: () => 0.001, worstCase: () => 0.002 }
  const seen: number[] = []
  const stage = asks('memory', {
    run: async ({ ask }) => {
      seen.push(records.filter(({ type }) => type === 'stage').length)
      const { text } = await ask({ prompt: 'x' })
      seen.push(records.filter(({ type }) => type === 'stage').length)
      return { kind: 'done', message: text }
    },
  })
  await runWithStages([stage], ['answer', 'noted'], {
    session: storedSession(records),
    sessionId: 'session',
    prices: money,
  })
  expect(seen).toEqual([0, 1])
  const session = storedSession(records)
  expect(session.stages).toMatchObject([
    { id: 'run1/after/memory', name: 'memory', ended: { reason: 'completed', costUsd: 0.001 } },
  ])
  const { engine } = engineOf(['third'], { session, sessionId: 'session', prices: money })
  expect(engine.totalCostUsd).toBe(0.002)
  expect(resultOf(await submit(engine)).modelUsage).toMatchObject({ scripted: { inputTokens: 30 } })
})

test('reports the possible cost of an interrupted attempt as committed and not settled, also in the next process', async () => {
  const records: StepRecord[] = []
  const money: Prices = { cost: () => 0.001, worstCase: () => 0.002 }
  const stage = asks('memory', { limits: { maxDurationMs: 50 } })
  const { reports } = await runWithStages([stage], ['answer', { hang: true }], {
    session: storedSession(records),
    prices: money,
  })
  expect(reports).toMatchObject([{ reason: 'time_limit', costUsd: 0, committedUsd: 0.002 }])
  const { settled, unknown } = recordedSpending(storedSession(records))
  expect([settled.nanos, unknown.nanos]).toEqual([3_000_000, 2_000_000])
})

test('counts a stage whose end was not recorded at its maximum cost', async () => {
  const records: StepRecord[] = []
  const money: Prices = { cost: () => 0.001, worstCase: () => 0.002 }
  const { engine: first } = engineOf(['answer', { hang: true, deaf: true }], {
    session: storedSession(records),
    prices: money,
    maxBudgetUsd: 0.02,
  })
  await submit(first)
  const running = afterRun(first, [asks('memory', { limits: { maxBudgetUsd: 0.01, maxDurationMs: 1e9 } })])
  while (!records.some(({ type }) => type === 'stage')) await Promise.resolve()
  const killed = structuredClone(records)
  running.abort()
  await running.ended
  const session = storedSession(killed)
  expect(session.stages).toMatchObject([{ name: 'memory', ended: null, most: { nanos: 10_000_000 } }])
  const { settled, unknown } = recordedSpending(session)
  expect([settled.nanos, unknown.nanos]).toEqual([11_000_000, 10_000_000])
  // The run costs 0.001 and the stage 0.01. The remaining 0.009 are enough for four requests of 0.002.
  const { engine } = engineOf(() => ({ toolCalls: [{ name: 'Read' }] }), {
    session,
    tools: [reader('Read')],
    prices: { cost: () => 0.002, worstCase: () => 0.002 },
    maxBudgetUsd: 0.02,
  })
  const result = resultOf(await submit(engine))
  expect([result.terminal_reason, result.num_turns]).toEqual(['budget_exhausted', 4])
  // It is unknown whether this was spent, so no sum of spent money includes it.
  expect(result.total_cost_usd).toBe(0.009)
})

test('applies the maximum of a stage to every model that it asks', async () => {
  const records: StepRecord[] = []
  const money: Prices = {
    cost: (id) => (id === 'priced' ? 0.001 : undefined),
    worstCase: (id) => (id === 'priced' ? 0.002 : undefined),
  }
  const priced = scriptedModel(['noted'], { id: 'priced' })
  const stage = asks('memory', {
    limits: { maxTurns: 2, maxBudgetUsd: 0.01 },
    run: async ({ ask }) => {
      await ask({ prompt: 'without a price' })
      await ask({ prompt: 'with one', model: priced })
      return { kind: 'done' }
    },
  })
  await runWithStages([stage], ['answer', 'free'], { session: storedSession(records), prices: money })
  const most = records.flatMap((record) =>
    record.type === 'stage' && record.stage.phase === 'began' ? [record.stage.most.nanos] : [],
  )
  expect(most).toEqual([0, 10_000_000])
  expect(priced.requests).toHaveLength(1)
})

test('counts open reservations against the maximum of a stage, since they may be released', async () => {
  const records: StepRecord[] = []
  const { engine } = engineOf(['answer', { hang: true, deaf: true }, 'noted'], {
    session: storedSession(records),
    prices: { cost: () => 0.001, worstCase: () => 0.015 },
    maxBudgetUsd: 0.03,
  })
  await submit(engine)
  const limits = { maxDurationMs: 1e9 }
  const mosts = (): readonly number[] =>
    records.flatMap(({ type, ...record }) =>
      type === 'stage' && 'stage' in record && record.stage.phase === 'began' ? [record.stage.most.nanos] : [],
    )
  const first = afterRun(engine, [asks('memory', { limits: { ...limits, maxBudgetUsd: 0.02 } })])
  while (mosts().length < 1) await Promise.resolve()
  for (let turn = 0; turn < 100; turn++) await Promise.resolve()
  const second = afterRun(engine, [asks('dream', { limits: { ...limits, maxBudgetUsd: 0.05 } })])
  while (mosts().length < 2) await Promise.resolve()
  expect(mosts()).toEqual([20_000_000, 29_000_000])
  first.abort()
  second.abort()
  await Promise.all([first.ended, second.ended])
})

test('asks nothing when the start of the stage cannot be recorded', async () => {
  const session = storedSession()
  const broken: StoredSession = {
    ...session,
    log: {
      ...session.log,
      append: (record) => {
        if (record.type === 'stage') throw new Error('disk full')
        session.log.append(record)
      },
    },
  }
  const { reports, model } = await runWithStages([asks('memory')], ['answer', 'never'], { session: broken })
  expect(reports.map(endOf)).toEqual([['failed', expect.stringContaining('disk full'), 0]])
  expect(model.requests).toHaveLength(1)
})

test('leaves no record for a stage that had nothing to do, and keeps stages of one name apart', async () => {
  const records: StepRecord[] = []
  const skippedRun = await runWithStages(
    [{ name: 'dream', run: () => ({ kind: 'skipped', message: 'too early' }) }],
    ['a', 'b'],
    {
      session: storedSession(records),
    },
  )
  expect(records.some(({ type }) => type === 'stage')).toBe(false)
  await afterRun(skippedRun.engine, [asks('dream')]).ended
  await afterRun(skippedRun.engine, [asks('dream')]).ended
  expect(records.flatMap((record) => (record.type === 'stage' ? [record.stage.id] : []))).toEqual([
    'run1/after/dream.2',
    'run1/after/dream.2',
    'run1/after/dream.3',
    'run1/after/dream.3',
  ])
})

test('runs stages without a session under the same bounds', async () => {
  const model = scriptedModel(() => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } }))
  const clock = newStillClock()
  const stage = asks('dream', { run: endlessStage([]), limits: { maxTurns: 99, maxBudgetUsd: 9, maxTotalTokens: 1e9 } })
  const [report] = await runStages([stage], { model, clock, prices, sessionId: 's', maxBudgetUsd: 2 }).ended
  expect(report).toMatchObject({ id: 'alone/dream', runId: '', reason: 'max_budget_usd' })
  expect(report?.committedUsd).toBeLessThanOrEqual(2)
})

test('leaves a hanging tool behind together with its stage', async () => {
  const stage = asks('memory', { limits: { maxDurationMs: 50, maxTurns: 2 }, run: async ({ ask }) => ({ kind: 'done', message: (await ask({ prompt: 'x', tools: [hanging('Deaf', { deaf: true })] })).text }) }) // prettier-ignore
  const { reports } = await runWithStages([stage], ['answer', { toolCalls: [{ name: 'Deaf' }] }])
  expect(reports.map(({ reason }) => reason)).toEqual(['time_limit'])
})

test('a stage that ends during the next run is no step of that run (spec R-AFTER-7)', async () => {
  const records: StepRecord[] = []
  const stage: Stage = { name: 'title', run: async () => ({ kind: 'done' }) }
  await runWithStages([stage], ['answer'], { session: storedSession(records), sessionId: 'session' })
  const stages = records.filter(({ type }) => type === 'stage')
  const open = records.filter(({ type }) => type !== 'stage' && type !== 'end')
  const folded = foldRun([...open, ...stages])
  expect(stages.length).toBeGreaterThan(0)
  expect(folded.kind === 'open' ? folded.replay.filter(({ type }) => type === 'stage') : undefined).toEqual([])
  expect(folded.kind === 'open' ? folded.past.filter(({ type }) => type === 'stage') : undefined).toEqual(stages)
})
