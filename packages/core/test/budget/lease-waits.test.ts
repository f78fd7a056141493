// Tests R-FUND-1, R-FUND-2, R-FUND-3, R-FUND-4: a lease that waits for the reservations of other sessions, and releases its own early.
import { describe, expect, test } from 'vitest'
import {
  createMemorySteps,
  replay,
  resume,
  startRun,
  streamRun,
  type AgentTool,
  type BudgetLease,
  type LeaseUse,
  type RunEvent,
  type RunOptions,
} from '../../src/index.ts'
import { DurableStepEngine, type StepRecord } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices as prices, json, reader, run, tool, until } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** The maximum input of the first request: 1,000 around it, 16 and 2 bytes for the prompt. */
const input = 1_000 + 16 + 2 + 2
const cap = 2_000
const wholeCost = input + cap
const small = { input_tokens: 10, output_tokens: 10 }
const models = (script: ScriptedReply[]) => scriptedModel(script, { maxOutputTokens: cap })

/** A lease of a budget of which others have reserved a part; the test releases that part. */
class Shared implements BudgetLease {
  readonly name = 'the budget of acme'
  usd = 0
  readonly asked: object[] = []
  readonly used: number[] = []
  use: LeaseUse | undefined
  limitUsd: number
  othersSettledUsd = 0
  othersReservedUsd: number
  waiting: { readonly usd: number; readonly wake: () => void }[] = []
  joined = 0

  constructor(limitUsd: number, othersReservedUsd: number) {
    this.limitUsd = limitUsd
    this.othersReservedUsd = othersReservedUsd
  }

  async growTo(usd: number, how: { readonly leastUsd?: number; readonly isOver?: boolean }) {
    const { leastUsd, isOver } = how
    this.asked.push({ usd, ...(leastUsd !== undefined && { leastUsd }), ...(isOver === true && { isOver }) })
    const most = this.limitUsd - this.othersSettledUsd
    const now = most - this.othersReservedUsd
    const wanted = Math.min(usd, most)
    if (leastUsd === undefined) this.usd = Math.max(this.usd, Math.min(usd, now))
    else if (wanted >= leastUsd && wanted <= now) this.usd = Math.max(this.usd, wanted)
    else
      return {
        mayComeBack: wanted >= leastUsd && isOver !== true,
        reservedUsd: this.othersReservedUsd,
        holders: this.othersReservedUsd > 0 ? 3 : 0,
      }
    return undefined
  }

  wait({ usd }: { readonly usd: number }, wake: () => void): () => void {
    const one = { usd, wake }
    this.joined++
    this.waiting.push(one)
    return () => {
      this.waiting = this.waiting.filter((each) => each !== one)
    }
  }

  uses(use: LeaseUse): void {
    this.use = use
    this.used.push(use.usd)
  }

  /** Others release this amount, of which they have spent a part. */
  comesBack(usd: number, spentUsd = 0): void {
    this.othersReservedUsd -= usd
    this.othersSettledUsd += spentUsd
    for (const { wake } of this.waiting) wake()
  }
}

const waits = (events: readonly RunEvent[]) => events.filter(({ type }) => type === 'budget_wait')
const waited = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'budget_waited' ? [[event.outcome, event.waitedMs]] : []))

describe('a request for which a lease has too little', () => {
  test('waits for what others have reserved, reports the wait, and keeps its whole cap', async () => {
    const lease = new Shared(10_000, 9_000)
    const clock = createFakeClock()
    const going = begin([{ text: 'answer', usage: small }], {
      model: models([{ text: 'answer', usage: small }]),
      prices,
      lease,
      clock,
    })
    await until(() => lease.waiting.length === 1)
    expect(waits(going.events)).toEqual([
      {
        type: 'budget_wait',
        isWaiting: true,
        neededUsd: wholeCost,
        neededTokens: wholeCost,
        reservedUsd: 9_000,
        reservedTokens: 0,
        holders: 3,
        budget: 'the budget of acme',
      },
    ])
    await clock.advance(5_000)
    // Too little is released: the request continues to wait, at the same place in the queue.
    lease.comesBack(1_000)
    await until(() => lease.joined === 2)
    expect(lease.waiting.length).toBe(1)
    lease.comesBack(8_000)
    const { terminal, events } = await going.end()
    expect([terminal.reason, terminal.costUsd, waited(events)]).toEqual(['completed', 20, [['granted', 5_000]]])
    expect(waits(events).map((event) => 'isWaiting' in event && event.isWaiting)).toEqual([true, false, true, false])
    expect(lease.waiting).toEqual([])
  })

  test('is refused when even all reservations would be too little, and the ending names the amount and the lease holders', async () => {
    const lease = new Shared(wholeCost + 1_000, wholeCost)
    const going = begin([], { model: models([]), prices, lease })
    await until(() => lease.waiting.length === 1)
    lease.comesBack(wholeCost - 500, wholeCost - 500)
    const { terminal, model } = await going.end()
    expect([terminal.reason, terminal.signal.message, model.requests]).toEqual([
      'max_budget_usd',
      `Too little is left of the budget of acme: this session has used $0, and the next request may cost up to $${input + 1_024}. $500 of it is reserved by 3 other sessions`,
      [],
    ])
    expect(terminal.signal.context).toMatchObject({ reservedUsd: 500, holders: 3, budget: 'the budget of acme' })
    expect(lease.waiting).toEqual([])
  })

  test('asks again every minute, and is refused when nothing was released for ten minutes', async () => {
    const lease = new Shared(10_000, 9_000)
    const clock = createFakeClock()
    const going = begin([], { model: models([]), prices, lease, clock })
    await until(() => lease.waiting.length === 1)
    const ask = { usd: wholeCost, leastUsd: input + 1_024 }
    for (let minutes = 1; minutes < 10; minutes++) {
      await clock.advance(59_999)
      expect(lease.asked).toHaveLength(minutes)
      await clock.advance(1)
      await until(() => lease.joined === minutes + 1)
    }
    expect(lease.asked).toEqual(Array.from({ length: 10 }, () => ask))
    await clock.advance(60_000)
    const { terminal, events } = await going.end()
    expect(lease.asked.slice(10)).toEqual([{ ...ask, isOver: true }])
    expect([terminal.reason, waited(events)]).toEqual(['max_budget_usd', [['refused', 600_000]]])
    expect(terminal.signal.message).toContain('$9000 of it is reserved by 3 other sessions')
  })

  test('stops waiting when the run is aborted or out of time, leaves the queue, and costs nothing', async () => {
    for (const reason of ['aborted_streaming', 'time_limit'] as const) {
      const lease = new Shared(10_000, 9_000)
      const clock = createFakeClock()
      const going = begin([], { model: models([]), prices, lease, clock, maxDurationMs: 60_000 })
      await until(() => lease.waiting.length === 1)
      if (reason === 'time_limit') await clock.advance(60_000)
      else going.loop.abort('user')
      const { terminal, events } = await going.end()
      expect([terminal.reason, terminal.committedUsd, lease.waiting]).toEqual([reason, 0, []])
      expect(waited(events).map(([outcome]) => outcome)).toEqual(['aborted'])
    }
  })

  test('is refused at once when the lease cannot wait', async () => {
    const lease = new Shared(10_000, 9_000)
    const { terminal } = await run([], { model: models([]), prices, lease: Object.assign(lease, { wait: undefined }) })
    expect([terminal.reason, terminal.signal.context['holders']]).toEqual(['max_budget_usd', 3])
  })

  test('leaves the admission queue of its model while it waits, and enters it again when it has money', async () => {
    const lease = new Shared(10_000, 9_000)
    const gateEvents: string[] = []
    const inner = models([{ text: 'answer', usage: small }])
    const model: RunOptions['model'] = {
      ...inner,
      call: (...args) => inner.call(...args),
      async admit() {
        gateEvents.push('enters')
        return { call: (...args) => inner.call(...args), leave: () => gateEvents.push('leaves') }
      },
    }
    const going = begin([], { model, prices, lease })
    await until(() => lease.waiting.length === 1)
    expect(gateEvents).toEqual(['enters', 'leaves'])
    lease.comesBack(9_000)
    await until(() => gateEvents.length === 3)
    expect((await going.end()).terminal.reason).toBe('completed')
    expect(gateEvents).toEqual(['enters', 'leaves', 'enters'])
  })

  test('reports a rest while it waits, and only then', async () => {
    const lease = new Shared(10_000, 9_000)
    const clock = createFakeClock()
    const rests: unknown[] = []
    const records: StepRecord[] = []
    const log = {
      keeps: 'all',
      append: (record: StepRecord) => void records.push(record),
      flush: () => undefined,
      rests: (ms: unknown) => void rests.push(ms),
    } as const
    const steps = new DurableStepEngine({ log, clock })
    const running = streamRun(startRun({ prompt: 'go' }), {
      model: models([{ text: 'answer', usage: small }]),
      prices,
      lease,
      clock,
      steps,
    })
    const ended = running.ended
    await until(() => lease.waiting.length === 1)
    expect(rests.at(-1)).toBe(60_000)
    lease.comesBack(9_000)
    expect((await ended).terminal.reason).toBe('completed')
    expect(rests.at(-1)).toBeUndefined()
  })
})

describe('the usage that a session reports to its lease', () => {
  test('is reported when a request is on record: its cost, without amounts that it can no longer cost', async () => {
    const lease = new Shared(100_000, 0)
    const script = [
      { ...calls('Look'), usage: small },
      { text: 'answer', usage: { input_tokens: 30, output_tokens: 70 } },
    ]
    const seen: number[] = []
    const look = tool('Look', () => {
      seen.push(lease.use?.usd ?? -1)
      return 'seen'
    })
    const { terminal } = await run([], { model: models(script), prices, lease, tools: [look] })
    expect([terminal.reason, seen, lease.used.at(-1), lease.use?.settledUsd]).toEqual(['completed', [20], 120, 120])
  })

  test('counts a request at its worst case until its result is on record', async () => {
    const lease = new Shared(100_000, 0)
    const clock = createFakeClock()
    let atResult = -1
    const steps = createMemorySteps({
      clock,
      onRecord(record) {
        if (
          record.type === 'result' &&
          /model|request/.test(record.key) &&
          JSON.stringify(record.value).includes('answered')
        )
          atResult = lease.use?.usd ?? -2
      },
    })
    // The use was reported before.
    const script = [
      { ...calls('Look'), usage: small },
      { text: 'answer', usage: small },
    ]
    await streamRun(startRun({ prompt: 'go' }), {
      model: models(script),
      prices,
      lease,
      steps,
      clock,
      tools: [reader('Look')],
    }).ended
    expect(lease.use?.usd).toBe(40)
    expect(atResult).toBeGreaterThan(20 + cap)
  })
})

test('pays all agents that wait at the same time, and each leaves the queue', async () => {
  const lease = new Shared(20_000, 16_500)
  const child: AgentTool = {
    name: 'Agent',
    description: 'an agent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'go' }),
  }
  const model = scriptedModel(
    ({ messages }) =>
      messages[0]?.content === 'start' && messages.length === 1
        ? { ...calls('Agent', 'Agent', 'Agent'), usage: small }
        : { text: 'done', usage: small },
    { maxOutputTokens: cap },
  )
  const going = begin([], { model, prices, lease, tools: [child], toolConcurrency: 3 }, { prompt: 'start' })
  // One of the three may ask; the others wait for it and for other sessions.
  await until(() => lease.used.length >= 2)
  lease.comesBack(16_500)
  const { terminal } = await going.end()
  expect([terminal.reason, model.requests.length, terminal.costUsd]).toEqual(['completed', 5, 100])
  expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([cap, cap, cap, cap, cap])
  expect([lease.waiting, lease.used.at(-1)]).toEqual([[], 100])
})

test('resumes a recorded wait in another process, and a replay reports the same', async () => {
  const options = (lease: BudgetLease) => ({
    model: models([
      { ...calls('Look'), usage: small },
      { text: 'answer', usage: small },
    ]),
    tools: [reader('Look')],
    prices,
    lease,
  })
  /** Each wait releases enough. */
  class Generous extends Shared {
    override wait(wanted: { readonly usd: number }, wake: () => void): () => void {
      const leave = super.wait(wanted, wake)
      queueMicrotask(() => this.comesBack(this.othersReservedUsd))
      return leave
    }
  }
  let waitsResumed = 0
  for (let count = 1; ; count++) {
    const records = await killedAfter(count, options(new Generous(10_000, 9_000)))
    if (records.some(({ type }) => type === 'end')) break
    const lease = new Generous(10_000, 9_000)
    const resumed = resume(records, options(lease))
    const { terminal } = await resumed.loop.ended
    expect([count, terminal.reason, terminal.committedUsd <= 10_000, lease.waiting]).toEqual([
      count,
      'completed',
      true,
      [],
    ])
    if (lease.joined > 0) waitsResumed++
  }
  expect(waitsResumed).toBeGreaterThan(3)
  const { steps, events } = await run([], options(new Generous(10_000, 9_000)))
  const again = await replay(json(steps.records) as never, options(new Shared(0, 0)))
  expect(waited(again.events)).toEqual(waited(events))
  expect(waited(events).length).toBe(1)
})
