// What comes after a run (spec R-AFTER-1 to R-AFTER-7).
import { expect, test } from 'vitest'
import { afterRun, runStages, type Stage, type StageContext, type StageReport } from '../../src/after/index.ts'
import { QueryEngine, type Prices, type SdkMessage } from '../../src/index.ts'
import { foldRun, foldSession, recordedSpending, type StoredSession, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { engineOf, resultOf, type EngineGiven } from '../support/engine.ts'
import { hanging, reader, type Script } from '../support/harness.ts'

/** A thousandth of a dollar a token, both ways. */
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

/** Time stands still: what ends is ended by something else. */
const still = () => createFakeClock()

/** A run that completes, and then the stages. */
async function after(stages: readonly Stage[], script: Script = ['done'], given: EngineGiven = {}) {
  const made = engineOf(script, given)
  const messages = [...(await submit(made.engine))]
  const running = afterRun(made.engine, stages)
  const told: SdkMessage[] = []
  for await (const message of running) told.push(message)
  return { ...made, messages, told, reports: await running.ended }
}

const endOf = ({ reason, message, turns }: StageReport) => [reason, message, turns]

/** A session that keeps its records, as a journal does. */
function kept(records: StepRecord[] = []): StoredSession {
  const runs: StepRecord[][] = []
  for (const record of records) {
    if (record.type === 'start' && record.scope === '') runs.push([])
    runs.at(-1)?.push(record)
  }
  const log = {
    keeps: 'all',
    // As a file would hold it.
    append: (record: StepRecord) => void records.push(JSON.parse(JSON.stringify(record)) as StepRecord),
    flush: () => undefined,
  } as const
  return { ...foldSession(runs), log }
}

test('a stage begins when the result is out, and is told after it', async () => {
  const { messages, told, model, reports } = await after([asks('memory')], ['answer', 'noted'])
  expect(resultOf(messages).result).toBe('answer')
  expect(told).toMatchObject([
    { type: 'system', subtype: 'stage_ended', stage: 'memory', run_id: 'run1', reason: 'completed', message: 'noted' },
  ])
  expect(reports.map(endOf)).toEqual([['completed', 'noted', 1]])
  // Nothing of the session goes along but what the stage gives.
  expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: 'And now?' }])
})

test('a stage asks the model that it names, else that of the list, else that of the session', async () => {
  const [small, own] = [scriptedModel(['small'], { id: 'small' }), scriptedModel(['own'], { id: 'own' })]
  const { engine } = engineOf(['answer', 'that of the session'], { clock: still() })
  await submit(engine)
  const told = async (stages: readonly Stage[], options = {}): Promise<readonly unknown[]> =>
    (await afterRun(engine, stages, options).ended).map(({ message }) => message)
  expect(await told([asks('a'), asks('b', { model: own })], { model: small })).toEqual(['small', 'own'])
  expect(await told([asks('c')])).toEqual(['that of the session'])
})

test('stages under one budget wait for what the others have reserved (spec R-BUD-18)', async () => {
  // A question needs some $5.10, so one fits at a time; it comes to 2 cents.
  const limits = { maxBudgetUsd: 6, maxTotalTokens: 10_000 }
  const stages = ['a', 'b', 'c'].map((name) => asks(name, { limits }))
  const usage = { input_tokens: 10, output_tokens: 10 }
  const script = () => ({ text: 'noted', usage })
  const { reports, engine } = await after(stages, script, { prices, maxBudgetUsd: 6 })
  expect(reports.map(({ reason, costUsd }) => [reason, costUsd])).toEqual([
    ['completed', 0.02],
    ['completed', 0.02],
    ['completed', 0.02],
  ])
  expect(engine.totalCostUsd).toBeCloseTo(0.08, 9)
})

test('replies are asked for within what the model can write', async () => {
  const [short, long] = [1_000, 64_000].map((maxOutputTokens) => scriptedModel(['noted'], { maxOutputTokens }))
  await after([asks('a', { model: short }), asks('b', { model: long })])
  expect([short, long].map((model) => model?.requests[0]?.maxOutputTokens)).toEqual([1_000, 4_096])
})

test('stages start after completed alone', async () => {
  const started: string[] = []
  const stage: Stage = {
    name: 'memory',
    run: ({ terminal }) => (started.push(String(terminal?.reason)), { kind: 'done' }),
  }
  const tools = [reader('Read')]
  await after([stage], [{ toolCalls: [{ name: 'Read' }] }], { tools, maxTurns: 1 })
  await after([stage], [{ error: { kind: 'invalid_request', message: 'bad', status: 400 } }])
  await after([stage], ['answer'], { stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'no' }) }] })
  await after([stage], ['answer'], { stopWhen: { name: 'told', checkpoints: ['after_reply'], evaluate: () => undefined } }) // prettier-ignore
  expect(started).toEqual(['completed'])
})

test('no stage starts before a run, nor while one goes on', async () => {
  const { engine } = engineOf([{ hang: true }])
  expect(await afterRun(engine, [asks('memory')]).ended).toEqual([])
  const running = submit(engine)
  await Promise.resolve()
  await Promise.resolve()
  expect(() => afterRun(engine, [asks('memory')])).toThrow('A run goes on.')
  engine.interrupt()
  await running
})

const endless =
  (tools: readonly ReturnType<typeof reader>[]) =>
  async ({ ask }: StageContext) => {
    for (;;) await ask({ prompt: 'again', tools })
  }

test.each<[string, Partial<Stage>, Script, string]>([
  ['turns', { run: endless([]), limits: { maxTurns: 3, maxTotalTokens: 1e6 } }, () => 'more', 'max_turns'],
  [
    'turns with tools',
    { run: endless([reader('Read')]), limits: { maxTurns: 3, maxTotalTokens: 1e6 } },
    (_request, index) => (index === 0 ? 'answer' : { toolCalls: [{ name: 'Read' }] }),
    'max_turns',
  ],
  ['tokens', { run: endless([]), limits: { maxTurns: 99, maxTotalTokens: 2_000 } }, () => 'more', 'token_limit'],
  ['time', { limits: { maxDurationMs: 50 } }, ['answer', { hang: true }], 'time_limit'],
  ['a deaf model', { limits: { maxDurationMs: 50 } }, ['answer', { hang: true, deaf: true }], 'time_limit'],
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
  ['what throws', { run: () => { throw new Error('bug') } }, ['answer'], 'failed'], // prettier-ignore
])('%s ends a stage, and neither the others nor the session', async (_what, parts, script, reason) => {
  const quiet: Stage = { name: 'other', run: () => ({ kind: 'done', message: 'fine' }) }
  const clock = createFakeClock({ autoAdvance: reason === 'time_limit' })
  const { reports, engine } = await after([asks('stage', parts), quiet], script, { clock })
  expect(reports.map((report) => report.reason)).toEqual([reason, 'completed'])
  expect(reports[0]?.turns).toBeLessThanOrEqual(parts.limits?.maxTurns ?? 1)
  expect(engine.lastTerminal?.reason).toBe('completed')
})

test('dollars of a stage are never above its own limit', async () => {
  const stage = asks('memory', { run: endless([]), limits: { maxTurns: 99, maxBudgetUsd: 2, maxTotalTokens: 1e9 } })
  const { reports, model } = await after([stage], () => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } }), { prices, clock: still() }) // prettier-ignore
  expect(reports[0]?.reason).toBe('max_budget_usd')
  expect(reports[0]?.committedUsd).toBeGreaterThan(0.5)
  expect(reports[0]?.committedUsd).toBeLessThanOrEqual(2)
  expect(model.requests.length).toBeGreaterThan(2)
})

test('nor is the budget of the session passed by all of them together', async () => {
  const stage = (name: string) => asks(name, { run: endless([]), limits: { maxTurns: 99, maxBudgetUsd: 9, maxTotalTokens: 1e9 } }) // prettier-ignore
  const script: Script = () => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } })
  const { reports, engine } = await after([stage('a'), stage('b')], script, { prices, maxBudgetUsd: 4, clock: still() })
  expect(reports.map(({ reason }) => reason)).toEqual(['max_budget_usd', 'max_budget_usd'])
  expect(engine.totalCostUsd).toBeGreaterThan(2)
  expect(engine.totalCostUsd).toBeLessThanOrEqual(4)
})

test('a session with a budget asks no model without a price', async () => {
  const small = scriptedModel(['no'], { id: 'unpriced' })
  const some: Prices = {
    cost: (model, usage) => (model === 'unpriced' ? undefined : prices.cost(model, usage)),
    worstCase: (model, bound) => (model === 'unpriced' ? undefined : prices.worstCase(model, bound)),
  }
  const limited = await after([asks('memory', { model: small })], ['answer'], { prices: some, maxBudgetUsd: 500 })
  expect([limited.reports[0]?.reason, small.requests.length]).toEqual(['failed', 0])
  expect(limited.reports[0]?.message).toContain('There is no price for unpriced')
  const free = await after([asks('memory', { model: small })], ['answer'], { prices: some })
  expect(free.reports.map(endOf)).toEqual([['completed', 'no', 1]])
})

test('what a stage cost is in its message and in the sums of the session, not in the result before it', async () => {
  const { engine, messages, told } = await after([asks('memory')], ['answer', 'noted', 'second'], {
    prices: { cost: () => 0.001, worstCase: () => 0.002 },
  })
  expect(resultOf(messages).total_cost_usd).toBe(0.001)
  expect(told).toMatchObject([{ cost_usd: 0.001, committed_usd: 0.001, tokens: 15 }])
  expect(engine.totalCostUsd).toBe(0.002)
  const next = resultOf(await submit(engine))
  expect(next.total_cost_usd).toBe(0.003)
  expect(next.modelUsage).toMatchObject({ scripted: { inputTokens: 30, outputTokens: 15, costUSD: 0.003 } })
})

test('an abort ends them, and the run that is over stays as it is', async () => {
  const { engine } = engineOf(['answer', { hang: true }, { hang: true, deaf: true }])
  await submit(engine)
  const running = afterRun(engine, [asks('a'), asks('b'), asks('c', { run: () => new Promise(() => {}) })])
  await Promise.resolve()
  running.abort('terminated')
  expect((await running.ended).map(({ reason }) => reason)).toEqual(['aborted', 'aborted', 'aborted'])
  expect(engine.lastTerminal?.reason).toBe('completed')
})

test('the end of the session ends them', async () => {
  const session = new AbortController()
  const { engine } = engineOf(['answer', { hang: true }], { signal: session.signal, clock: still() })
  await submit(engine)
  const { ended } = afterRun(engine, [asks('a')])
  session.abort('terminated')
  expect((await ended).map(endOf)).toEqual([['aborted', 'It was aborted (terminated).', 0]])
})

test('with the signal aborted already nothing is asked', async () => {
  const { engine, model } = engineOf(['answer', 'never'])
  await submit(engine)
  const { ended } = afterRun(engine, [asks('a')], { signal: AbortSignal.abort('terminated') })
  expect((await ended).map(endOf)).toEqual([['aborted', 'It was aborted (terminated).', 0]])
  expect(model.requests).toHaveLength(1)
})

test('whoever leaves the messages ends the stages', async () => {
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
  const { reports, model } = await after([stage], ['answer', { hang: true }])
  expect(reports.map(({ reason }) => reason)).toEqual(['completed'])
  const asked = model.requests.length
  await expect(late?.({ prompt: 'late' })).rejects.toMatchObject({ name: 'StageStop', reason: 'aborted' })
  expect(model.requests).toHaveLength(asked)
})

test('questions beside each other take their turns before they are asked', async () => {
  const stage: Stage = {
    name: 'many',
    limits: { maxTurns: 2 },
    run: async ({ ask }) => {
      const asked = await Promise.allSettled(['a', 'b', 'c', 'd'].map((prompt) => ask({ prompt })))
      return { kind: 'done', message: asked.map(({ status }) => status).join() }
    },
  }
  const { reports } = await after([stage], () => 'answer', { clock: still() })
  expect(reports.map(endOf)).toEqual([['completed', 'fulfilled,fulfilled,rejected,rejected', 2]])
})

test('a flood is bounded', async () => {
  const tells = Array.from(
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
      tells: [large, alien, opening, ...tells],
    }),
  }
  const { told } = await after([flood])
  expect(told.map((message) => ('subtype' in message ? message.subtype : message.type))).toEqual([
    ...Array.from({ length: 17 }, () => 'prompt_suggestion'),
    'stage_ended',
  ])
  expect(JSON.stringify(told).length).toBeLessThan(8_000)
})

test.each([
  ['text', 'failed'],
  [{ kind: 'other' }, 'failed'],
  [undefined, 'completed'],
  [{ kind: 'skipped', message: 'too early' }, 'skipped'],
])('a stage that gives %j has %s', async (given, reason) => {
  const { reports } = await after([{ name: 'odd', run: () => given as never }])
  expect(reports.map((report) => report.reason)).toEqual([reason])
})

test.each<[string, unknown, string]>([
  ['no name', [{ run: () => ({ kind: 'done' }) }], 'stages[0].name must be a text that is not empty'],
  ['two of a name', [asks('a'), asks('a')], 'There are two stages a'],
  ['no bound', [asks('a', { limits: { maxTurns: Infinity } })], 'stages[0].limits.maxTurns must be a whole number'],
  [
    'a limit that nobody knows',
    [asks('a', { limits: { turns: 1 } as never })],
    'There is no limit stages[0].limits.turns',
  ],
])('%s is refused before anything starts', async (_what, stages, problem) => {
  const { engine } = engineOf(['answer'])
  await submit(engine)
  expect(() => afterRun(engine, stages as readonly Stage[])).toThrow(problem)
})

test('a stage is on record before it asks, and its money counts in the process after', async () => {
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
  await after([stage], ['answer', 'noted'], { session: kept(records), sessionId: 'session', prices: money })
  expect(seen).toEqual([0, 1])
  const session = kept(records)
  expect(session.stages).toMatchObject([
    { id: 'run1/after/memory', name: 'memory', ended: { reason: 'completed', costUsd: 0.001 } },
  ])
  const { engine } = engineOf(['third'], { session, sessionId: 'session', prices: money })
  expect(engine.totalCostUsd).toBe(0.002)
  expect(resultOf(await submit(engine)).modelUsage).toMatchObject({ scripted: { inputTokens: 30 } })
})

test('what an attempt may have cost that was cut is committed and not settled, also in the process after', async () => {
  const records: StepRecord[] = []
  const money: Prices = { cost: () => 0.001, worstCase: () => 0.002 }
  const stage = asks('memory', { limits: { maxDurationMs: 50 } })
  const { reports } = await after([stage], ['answer', { hang: true }], { session: kept(records), prices: money })
  expect(reports).toMatchObject([{ reason: 'time_limit', costUsd: 0, committedUsd: 0.002 }])
  const { settled, unknown } = recordedSpending(kept(records))
  expect([settled.nanos, unknown.nanos]).toEqual([3_000_000, 2_000_000])
})

test('one whose end nobody saw counts with the most that it might have spent', async () => {
  const records: StepRecord[] = []
  const money: Prices = { cost: () => 0.001, worstCase: () => 0.002 }
  const { engine: first } = engineOf(['answer', { hang: true, deaf: true }], {
    session: kept(records),
    prices: money,
    maxBudgetUsd: 0.02,
  })
  await submit(first)
  const running = afterRun(first, [asks('memory', { limits: { maxBudgetUsd: 0.01, maxDurationMs: 1e9 } })])
  while (!records.some(({ type }) => type === 'stage')) await Promise.resolve()
  const killed = structuredClone(records)
  running.abort()
  await running.ended
  const session = kept(killed)
  expect(session.stages).toMatchObject([{ name: 'memory', ended: null, most: { nanos: 10_000_000 } }])
  const { settled, unknown } = recordedSpending(session)
  expect([settled.nanos, unknown.nanos]).toEqual([11_000_000, 10_000_000])
  // 0.001 for the run and 0.01 for the stage: 0.009 are left, which four requests of 0.002 fit into.
  const { engine } = engineOf(() => ({ toolCalls: [{ name: 'Read' }] }), {
    session,
    tools: [reader('Read')],
    prices: { cost: () => 0.002, worstCase: () => 0.002 },
    maxBudgetUsd: 0.02,
  })
  const result = resultOf(await submit(engine))
  expect([result.terminal_reason, result.num_turns]).toEqual(['budget_exhausted', 4])
  // Nobody knows that it was spent, so it is in no sum of what was.
  expect(result.total_cost_usd).toBe(0.009)
})

test('the most of a stage holds for every model that it asks', async () => {
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
  await after([stage], ['answer', 'free'], { session: kept(records), prices: money })
  const most = records.flatMap((record) =>
    record.type === 'stage' && record.stage.phase === 'began' ? [record.stage.most.nanos] : [],
  )
  expect(most).toEqual([0, 10_000_000])
  expect(priced.requests).toHaveLength(1)
})

test('what others have only taken aside is part of the most of a stage: they may give it back', async () => {
  const records: StepRecord[] = []
  const { engine } = engineOf(['answer', { hang: true, deaf: true }, 'noted'], {
    session: kept(records),
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

test('nothing is asked where the beginning cannot be recorded', async () => {
  const session = kept()
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
  const { reports, model } = await after([asks('memory')], ['answer', 'never'], { session: broken })
  expect(reports.map(endOf)).toEqual([['failed', expect.stringContaining('disk full'), 0]])
  expect(model.requests).toHaveLength(1)
})

test('a stage that had nothing to do leaves no record, and each of the same name has its own', async () => {
  const records: StepRecord[] = []
  const made = await after([{ name: 'dream', run: () => ({ kind: 'skipped', message: 'too early' }) }], ['a', 'b'], {
    session: kept(records),
  })
  expect(records.some(({ type }) => type === 'stage')).toBe(false)
  await afterRun(made.engine, [asks('dream')]).ended
  await afterRun(made.engine, [asks('dream')]).ended
  expect(records.flatMap((record) => (record.type === 'stage' ? [record.stage.id] : []))).toEqual([
    'run1/after/dream.2',
    'run1/after/dream.2',
    'run1/after/dream.3',
    'run1/after/dream.3',
  ])
})

test('stages run by themselves under the same bounds', async () => {
  const model = scriptedModel(() => ({ text: 'more', usage: { input_tokens: 100, output_tokens: 64 } }))
  const clock = still()
  const stage = asks('dream', { run: endless([]), limits: { maxTurns: 99, maxBudgetUsd: 9, maxTotalTokens: 1e9 } })
  const [report] = await runStages([stage], { model, clock, prices, sessionId: 's', maxBudgetUsd: 2 }).ended
  expect(report).toMatchObject({ id: 'alone/dream', runId: '', reason: 'max_budget_usd' })
  expect(report?.committedUsd).toBeLessThanOrEqual(2)
})

test('a tool of a stage that hangs is left behind with it', async () => {
  const stage = asks('memory', { limits: { maxDurationMs: 50, maxTurns: 2 }, run: async ({ ask }) => ({ kind: 'done', message: (await ask({ prompt: 'x', tools: [hanging('Deaf', { deaf: true })] })).text }) }) // prettier-ignore
  const { reports } = await after([stage], ['answer', { toolCalls: [{ name: 'Deaf' }] }])
  expect(reports.map(({ reason }) => reason)).toEqual(['time_limit'])
})

test('a stage that ends while the next run goes on is no step of that run (spec R-AFTER-7)', async () => {
  const records: StepRecord[] = []
  const stage: Stage = { name: 'title', run: async () => ({ kind: 'done' }) }
  await after([stage], ['answer'], { session: kept(records), sessionId: 'session' })
  const stages = records.filter(({ type }) => type === 'stage')
  const open = records.filter(({ type }) => type !== 'stage' && type !== 'end')
  const folded = foldRun([...open, ...stages])
  expect(stages.length).toBeGreaterThan(0)
  expect(folded.kind === 'open' ? folded.replay.filter(({ type }) => type === 'stage') : undefined).toEqual([])
  expect(folded.kind === 'open' ? folded.past.filter(({ type }) => type === 'stage') : undefined).toEqual(stages)
})
