// Tests R-BUD-18: a request waits for money that others have reserved, and only settled money ends a run.
import { describe, expect, test } from 'vitest'
import { budgetWaitText } from '../../src/entries/adapters.ts'
import {
  createMemorySteps,
  streamRun,
  replay,
  resume,
  startRun,
  type AgentTool,
  type RunEvent,
  type RunOptions,
  type Prices,
  type Tool,
} from '../../src/index.ts'
import { isJsonObject } from '../../src/values/json.ts'
import { Ledger, type StepRecord } from '../../src/entries/steps.ts'
import { accountOf } from '@halting/analysis'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  json,
  reader,
  run,
  tool,
  until,
  type RunTestOptions,
  subagent as agent,
} from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** Dollars for a million tokens of the input and of the reply: an expensive model. */
const expensivePrices: Prices = {
  cost: (_model, usage) => (usage.input_tokens * 10 + usage.output_tokens * 50) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens * 12.5 + outputTokens * 50) / 1e6,
}

const twelveReplies = Array.from({ length: 12 }, () => 'Agent')

/** The main loop starts twelve agents; each of them answers when it is released. */
function twelveAgents(small: { input_tokens: number; output_tokens: number }) {
  return scriptedModel(
    ({ messages }) => {
      if (messages[0]?.content !== 'go') return { text: 'found', usage: small }
      return messages.length === 1 ? { ...calls(...twelveReplies), usage: small } : { text: 'done', usage: small }
    },
    { maxOutputTokens: 32_000 },
  )
}

const ofAgents = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events.flatMap((event) => (event.type === 'agent' ? [event.event] : []))

describe('twelve small agents on an expensive model under $10', () => {
  const usage = { input_tokens: 130, output_tokens: 10 }

  test('all complete, and the session costs what they used', async () => {
    const { terminal, events } = await run([], {
      model: twelveAgents(usage),
      tools: [agent],
      prices: expensivePrices,
      maxBudgetUsd: 10,
      toolConcurrency: 12,
    })
    const ends = ofAgents(events).flatMap((event) => (event.type === 'run_end' ? [event.terminal] : []))
    expect(ends.map(({ reason }) => reason)).toEqual(Array.from({ length: 12 }, () => 'completed'))
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', (14 * (1_300 + 500)) / 1e6])
  })
})

/** Everything costs a dollar a token: the first request of a subagent needs its input and the cap. */
const cap = 4_000
const input = await inputOfAgent()

async function inputOfAgent(): Promise<number> {
  const { going, release } = heldAgents(1, { maxBudgetUsd: 1e6 })
  await until(() => release.length === 1)
  release[0]!()
  const { steps } = await going.end()
  const grants = steps.records.flatMap((record) =>
    record.type === 'intent' && record.key.includes('/agent:') && isJsonObject(record.intent)
      ? [Number(record.intent['tokens'])]
      : [],
  )
  return grants[0]! - cap
}

/** Agents whose replies arrive when they are released. The main loop starts `count` of them, and ends when they have ended. */
function heldAgents(
  count: number,
  overrides: RunTestOptions = {},
  { tools = [agent], bill = { input_tokens: 10, output_tokens: 5 } }: { tools?: AgentTool[]; bill?: object } = {},
) {
  const release: (() => void)[] = []
  const model = scriptedModel(
    ({ messages }) => {
      const usage = { input_tokens: 10, output_tokens: 5 }
      if (messages[0]?.content === 'go')
        return messages.length === 1
          ? { ...calls(...Array.from({ length: count }, () => 'Agent')), usage }
          : { text: 'done', usage }
      return { text: 'found', usage: bill, before: () => new Promise<void>((resolve) => release.push(resolve)) }
    },
    { maxOutputTokens: cap },
  )
  const going = begin([], { model, tools, prices: dollarATokenPrices, toolConcurrency: count, ...overrides })
  return { going, model, release }
}

const waits = (events: readonly RunEvent[]) =>
  ofAgents(events).flatMap((event) => (event.type === 'budget_wait' ? [event] : []))
const waited = (events: readonly RunEvent[]) =>
  ofAgents(events).flatMap((event) => (event.type === 'budget_waited' ? [event.outcome] : []))
const endsOfAgents = (events: readonly RunEvent[]) =>
  ofAgents(events).flatMap((event) => (event.type === 'run_end' ? [event.terminal] : []))

describe('a request that waits for what others have reserved', () => {
  // There is room for two agents at a time, in addition to what the main loop has spent.
  const maxBudgetUsd = 15 + 2 * (input + cap) + 100

  test('is served in order of arrival, reports what it waits for, and keeps its whole cap', async () => {
    const { going, model, release } = heldAgents(4, { maxBudgetUsd })
    await until(() => release.length === 2 && waits(going.events).length === 2)
    expect(waits(going.events)[0]).toEqual({
      type: 'budget_wait',
      isWaiting: true,
      neededUsd: input + cap,
      neededTokens: input + cap,
      reservedUsd: 2 * (input + cap),
      reservedTokens: 2 * (input + cap),
      holders: 2,
    })
    release[0]!()
    await until(() => release.length === 3)
    for (const each of release) each()
    await until(() => release.length === 4)
    release[3]!()
    const { terminal, events } = await going.end()
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 6 * 15])
    expect(model.requests.slice(1, 5).map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([cap, cap, cap, cap])
    expect(waited(events)).toEqual(['granted', 'granted'])
    const callsOfWaiting = events.flatMap((event) =>
      event.type === 'agent' && event.event.type === 'budget_waited' ? [event.callId] : [],
    )
    expect(callsOfWaiting).toEqual(callsOfWaiting.toSorted())
  })

  test('is refused when too little was released, and the ending includes what all agents have used', async () => {
    const bill = { input_tokens: input, output_tokens: cap }
    const { going, release } = heldAgents(3, { maxBudgetUsd }, { bill })
    await until(() => release.length === 2 && waits(going.events).length === 1)
    for (const each of release) each()
    const { terminal, events } = await going.end()
    expect([terminal.reason, terminal.costUsd, waited(events)]).toEqual([
      'max_budget_usd',
      maxBudgetUsd - 100,
      ['refused'],
    ])
    const [refused] = endsOfAgents(events).filter(({ reason }) => reason === 'max_budget_usd')
    expect(refused?.signal.message).toBe(
      `Reached maximum budget ($${maxBudgetUsd}): $${maxBudgetUsd - 100} is used, and the next request may cost up to $${input + 1_024}`,
    )
    expect(refused?.signal.context).toMatchObject({
      usedUsd: maxBudgetUsd - 100,
      availableUsd: 100,
      limitNeededUsd: maxBudgetUsd - 100 + input + 1_024,
    })
  })

  test('ends at once with an abort of the run, and costs nothing', async () => {
    const { going, release, model } = heldAgents(3, { maxBudgetUsd })
    await until(() => release.length === 2 && waits(going.events).length === 1)
    going.loop.abort('user')
    const { terminal, events } = await going.end()
    expect([terminal.reason, model.requests.length]).toEqual(['aborted_tools', 3])
    expect(terminal.committedUsd).toBe(15 + 2 * (input + cap))
    expect(waited(events)).toEqual(['aborted'])
    expect(endsOfAgents(events).map(({ reason }) => reason)).toEqual(
      Array.from({ length: 3 }, () => 'aborted_streaming'),
    )
  })

  test('ends with the time limit of its agent, and leaves the queue', async () => {
    const timed: AgentTool = { ...agent, spawn: () => ({ prompt: 'sub', maxDurationMs: 1_000 }) }
    const clock = createFakeClock()
    const { going, release } = heldAgents(3, { maxBudgetUsd, clock }, { tools: [timed] })
    await until(() => release.length === 2 && waits(going.events).length === 1)
    await clock.advance(1_000)
    await clock.advance(1_000)
    const { events } = await going.end()
    expect(waited(events)).toEqual(['aborted'])
    expect(endsOfAgents(events).map(({ reason }) => reason)).toEqual(['time_limit', 'time_limit', 'time_limit'])
  })

  test('waits for a limit of tokens as for one of dollars', async () => {
    const { going, release } = heldAgents(3, { maxTotalTokens: maxBudgetUsd })
    await until(() => release.length === 2 && waits(going.events).length === 1)
    for (const each of release) each()
    await until(() => release.length === 3)
    release[2]!()
    expect((await going.end()).terminal.reason).toBe('completed')
  })

  test('is not overtaken by a smaller request that arrived later', async () => {
    const ledger = Ledger.create({ nanos: 10_000e9 })
    const order: string[] = []
    const releases = new Map<string, () => void>()
    const one = (name: string, maxOutputTokens: number) => {
      const before = (): Promise<void> => {
        order.push(name)
        return new Promise((resolve) => releases.set(name, resolve))
      }
      const model = scriptedModel([{ text: name, before }], { maxOutputTokens })
      const options = { model, prices: dollarATokenPrices, maxBudgetUsd: 10_000, clock: createFakeClock() }
      return streamRun(startRun({ prompt: 'go' }), options, { ledger }).result
    }
    const running = [one('first', 4_000)]
    await until(() => order.length === 1)
    running.push(one('large', 6_000))
    await until(() => ledger.queue.length === 1)
    // It would fit next to the first one.
    running.push(one('small', 1_500))
    await until(() => ledger.queue.length === 2)
    releases.get('first')!()
    await until(() => order.length === 3)
    expect(order).toEqual(['first', 'large', 'small'])
    for (const name of ['large', 'small']) releases.get(name)!()
    expect((await Promise.all(running)).map(({ reason }) => reason)).toEqual(['completed', 'completed', 'completed'])
  })

  test('continues at once when a person raises the limit', async () => {
    const ledger = Ledger.create({ nanos: maxBudgetUsd * 1e9 })
    const releases: (() => void)[] = []
    const one = () => {
      const model = scriptedModel(
        [{ text: 'x', before: () => new Promise<void>((resolve) => releases.push(resolve)) }],
        {
          maxOutputTokens: cap,
        },
      )
      const options = { model, prices: dollarATokenPrices, maxBudgetUsd, clock: createFakeClock() }
      return streamRun(startRun({ prompt: 'go' }), options, { ledger }).result
    }
    const running = [one(), one(), one()]
    await until(() => releases.length === 2)
    expect(ledger.queue.length).toBe(1)
    ledger.setLimits({ nanos: 2 * maxBudgetUsd * 1e9 })
    await until(() => releases.length === 3)
    for (const each of releases) each()
    const terminals = await Promise.all(running)
    expect(terminals.map(({ reason }) => reason)).toEqual(['completed', 'completed', 'completed'])
  })
})

describe('a wait for money', () => {
  const maxBudgetUsd = 15 + 2 * (input + cap) + 100
  const usage = { input_tokens: 10, output_tokens: 5 }
  const optionsOf = (): RunOptions => ({
    model: scriptedModel(
      ({ messages }) =>
        messages[0]?.content === 'go' && messages.length === 1
          ? { ...calls('Agent', 'Agent', 'Agent', 'Agent'), usage }
          : { text: 'done', usage },
      { maxOutputTokens: cap },
    ),
    tools: [agent],
    prices: dollarATokenPrices,
    maxBudgetUsd,
    clock: createFakeClock({ autoAdvance: true }),
  })

  test('is on record, is repeated by a replay, and is in the account of the run', async () => {
    const { terminal, events, steps } = await run([], optionsOf() as RunTestOptions)
    const records = json(steps.records) as unknown as readonly StepRecord[]
    const keys = records.flatMap((record) => (record.type === 'result' ? [record.key] : []))
    expect(keys.filter((key) => key.includes('/funds:model:1.1'))).toHaveLength(2)
    const replayed = await replay(records, optionsOf())
    expect(replayed.terminal).toEqual(terminal)
    const waitEvents = (all: readonly RunEvent[]) => ofAgents(all).filter(({ type }) => type === 'budget_waited')
    expect(waitEvents(replayed.events)).toEqual(waitEvents(events))
    expect(accountOf(records).budgetWaits).toMatchObject({
      requests: 2,
      refused: 0,
      mostReservedUsd: 2 * (input + cap),
    })
  })

  test('starts again after a kill at any record, and the end is the same', async () => {
    const { terminal } = await run([], optionsOf() as RunTestOptions)
    let kills = 0
    for (let count = 1; ; count++) {
      const records = await killedAfter(count, optionsOf())
      if (records.some((record) => record.type === 'end' && record.scope === '')) break
      kills += 1
      const again = await resume(records, optionsOf()).loop.ended
      // Requests in flight are charged at their worst case, since they may have been billed. The rest may be too little for the others.
      expect(again.terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
      const isAllKnown = again.terminal.committedUsd === again.terminal.costUsd
      expect(isAllKnown ? [again.terminal.reason, again.terminal.costUsd] : []).toEqual(
        isAllKnown ? [terminal.reason, terminal.costUsd] : [],
      )
    }
    expect(kills).toBeGreaterThan(10)
  })

  test('for the limit of one agent does not block another', async () => {
    const releases: (() => void)[] = []
    const asking: Tool = {
      ...reader('Ask', async (_input, { ask }) => {
        const question = { system: '', messages: [{ role: 'user', content: 'what' }] as const }
        await Promise.all([ask!(question), ask!({ ...question, system: 'other' })])
        return 'asked'
      }),
      asksModel: true,
    }
    const limited: AgentTool = {
      ...agent,
      spawn: ({ prompt }: { readonly prompt: string }) => ({
        prompt,
        ...(prompt === 'small' && { maxBudgetUsd: input + 2 * cap }),
      }),
    }
    const model = scriptedModel(
      ({ messages }) => {
        const [first] = messages
        if (first?.content === 'what')
          return { text: 'x', usage, before: () => new Promise<void>((resolve) => releases.push(resolve)) }
        if (messages.length > 1) return { text: 'done', usage }
        if (first?.content === 'go')
          return {
            ...calls({ name: 'Agent', input: { prompt: 'small' } }, { name: 'Agent', input: { prompt: 'large' } }),
            usage,
          }
        return { ...calls('Ask'), usage }
      },
      { maxOutputTokens: cap },
    )
    const going = begin([], { model, tools: [limited, asking], prices: dollarATokenPrices, maxBudgetUsd: 1e6 })
    // Both questions of the large agent are in flight and one of the small agent, whose other question waits.
    await until(() => releases.length === 3 && waits(going.events).length === 1)
    for (const each of releases) each()
    await until(() => releases.length === 4)
    releases[3]!()
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 10 * 15])
  })

  test('of a question ends with the time limit of the question, and costs nothing', async () => {
    const clock = createFakeClock()
    const kinds: string[] = []
    const releases: (() => void)[] = []
    const asking: Tool = {
      ...reader('Ask', async (_input, { ask }) => {
        const question = { system: '', messages: [{ role: 'user', content: 'what' }] as const }
        const first = ask!(question)
        await until(() => releases.length === 1)
        const replies = await Promise.all([first, ask!({ ...question, system: 'other', timeoutMs: 500 })])
        kinds.push(...replies.map(({ kind }) => kind))
        return 'asked'
      }),
      asksModel: true,
    }
    const model = scriptedModel(
      ({ messages }) =>
        messages[0]?.content === 'what'
          ? { text: 'x', usage, before: () => new Promise<void>((resolve) => releases.push(resolve)) }
          : messages.length === 1
            ? { ...calls('Ask'), usage }
            : { text: 'done', usage },
      { maxOutputTokens: cap },
    )
    const going = begin([], {
      model,
      tools: [asking],
      prices: dollarATokenPrices,
      maxBudgetUsd: 2 * cap + input,
      clock,
    })
    await until(() => going.events.some(({ type }) => type === 'budget_wait'))
    await clock.advance(500)
    await until(() => going.events.filter(({ type }) => type === 'budget_wait').length === 2)
    releases[0]!()
    const { terminal } = await going.end()
    expect([terminal.reason, terminal.costUsd, kinds]).toEqual(['completed', 3 * 15, ['answered', 'over_budget']])
  })

  test('ends when the step engine of the run fails, and its reservation is released', async () => {
    const ledger = Ledger.create({ nanos: 2 * (input + cap) * 1e9 })
    const broken = createMemorySteps({
      clock: createFakeClock(),
      onRecord: ({ type }) => {
        if (type === 'intent') throw new Error('disk full')
      },
    })
    const options = { prices: dollarATokenPrices, maxBudgetUsd: 1e6, clock: createFakeClock() }
    const model = (): ReturnType<typeof scriptedModel> => scriptedModel(['x'], { maxOutputTokens: cap })
    const start = startRun({ prompt: 'go' })
    const first = await streamRun(start, { ...options, model: model(), steps: broken }, { ledger }).result
    expect([first.reason, ledger.figures().reserved]).toEqual(['error', { nanos: 0, tokens: 0 }])
    const second = await streamRun(start, { ...options, model: model() }, { ledger }).result
    expect(second.reason).toBe('completed')
  })

  test('also applies to what a lease cannot grant while others of the session have it', async () => {
    const lease = {
      name: 'cannot use the tenant acme',
      usd: 0,
      async growTo(wanted: number) {
        lease.usd = Math.min(Math.max(wanted, lease.usd), maxBudgetUsd)
      },
    }
    const { maxBudgetUsd: _, ...options } = optionsOf()
    const { terminal, events } = await run([], { ...options, lease } as RunTestOptions)
    expect([terminal.reason, terminal.costUsd]).toEqual(['completed', 6 * 15])
    expect(waited(events)).toEqual(['granted', 'granted'])
    expect(endsOfAgents(events).map(({ reason }) => reason)).toEqual(Array.from({ length: 4 }, () => 'completed'))
  })

  test('is shown to a person in one line', () => {
    const runOptions = { type: 'budget_wait', neededUsd: 1, neededTokens: 10, reservedTokens: 400, holders: 3 } as const
    const text = (isWaiting: boolean, reservedUsd: number) => budgetWaitText({ ...runOptions, isWaiting, reservedUsd })
    expect([text(true, 2.1), text(true, 0.00281), text(true, 0), text(false, 2)]).toEqual([
      'Waiting for budget: $2.10 is reserved by 3 other requests.',
      'Waiting for budget: $0.0029 is reserved by 3 other requests.',
      'Waiting for tokens: 400 are reserved by 3 other requests.',
      null,
    ])
  })
})

test('a run whose background agents still work reports what all of them have used (spec R-BUD-18g)', async () => {
  let isBilled = false
  const worker: AgentTool = { ...agent, spawn: () => ({ prompt: 'sub', background: true }) }
  const look = reader('Look', async () => {
    await until(() => isBilled)
    return 'x'.repeat(8_000)
  })
  const nap = tool('Nap', (_input, { signal }) => {
    isBilled = true
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve('woken')))
  })
  const usage = { input_tokens: 10, output_tokens: 5 }
  const model = scriptedModel(
    ({ messages }) => {
      if (messages[0]?.content === 'sub')
        return { ...calls('Nap'), usage: { input_tokens: 1_000, output_tokens: 2_000 } }
      return { ...calls(messages.length === 1 ? 'Agent' : 'Look'), usage }
    },
    { maxOutputTokens: 2_000 },
  )
  const { terminal } = await run([], {
    model,
    tools: [worker, look, nap],
    prices: dollarATokenPrices,
    maxBudgetUsd: 12_000,
  })
  expect([terminal.reason, terminal.costUsd]).toEqual(['max_budget_usd', 2 * 15 + 3_000])
  expect(terminal.signal.message).toContain('Reached maximum budget ($12000): $3030 is used')
})
