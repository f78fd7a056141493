// Tests R-STAND-1 to R-STAND-6, R-BUD-19.
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  streamRun,
  startRun,
  resume,
  type RunOptions,
  type StandingBudgets,
  type StandingRequest,
} from '../../src/index.ts'
import { budgetWaitText, limitOfResult } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, reader, run, until, type RunTestOptions } from '../support/harness.ts'
import { killedAfter } from '../support/kill-process.ts'

/** A budget in memory: the reserved amounts, and which of them were settled. */
class Purse implements StandingBudgets {
  readonly names = ['$9,000 a day']
  readonly asked: StandingRequest[] = []
  settled = 0
  unknown = 0
  reserved = 0
  open = 0
  /** The amount that other processes have reserved; null means no waiting. */
  others: Promise<void> | null = null
  /** Names the budget that left less than requested. */
  saysWhich = false

  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  countsFor(model: string): boolean {
    return !model.startsWith('free')
  }

  take(request: StandingRequest, { signal, onWait }: Parameters<StandingBudgets['take']>[1]) {
    this.asked.push(request)
    if (this.others === null) return this.#answer(request)
    onWait({ budget: '$9,000 a day', reservedUsd: 5, holders: 1 })
    const aborted = new Promise<never>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    )
    return Promise.race([this.others, aborted]).then(() => this.#answer(request))
  }

  #answer({ usd, leastUsd }: StandingRequest) {
    const left = this.limit - this.settled - this.reserved
    if (left < leastUsd) return { kind: 'refused', budget: this.#summary() } as const
    const granted = Math.min(usd, left)
    this.reserved += granted
    this.open++
    let isOpen = true
    const settle = (spent: number, isKnown: boolean): void => {
      if (!isOpen) throw new Error('settled twice')
      isOpen = false
      this.open--
      this.reserved -= granted
      this.settled += spent
      if (!isKnown) this.unknown += spent
    }
    const short = this.saysWhich && granted < usd ? { short: this.#summary() } : {}
    return { kind: 'taken', usd: granted, settle, ...short } as const
  }

  #summary() {
    const { limit: limitUsd, settled: settledUsd, unknown: unknownUsd, reserved: reservedUsd } = this
    return {
      name: '$9,000 a day',
      limitUsd,
      settledUsd,
      unknownUsd,
      reservedUsd,
      resetsAt: '2026-12-01T00:00:00+01:00',
    }
  }
}

const look = reader('Look', 'seen')
const forever = () => calls('Look')
const runOptions = (standing: StandingBudgets): RunTestOptions => ({
  tools: [look],
  prices: dollarATokenPrices,
  standing,
  model: scriptedModel(forever, { maxOutputTokens: 1_000 }),
})

describe('standing budgets', () => {
  test('are asked before each request for its worst case, and settled with its cost', async () => {
    const purse = new Purse(1e9)
    const { terminal } = await run([], {
      ...runOptions(purse),
      model: scriptedModel([calls('Look'), 'Done.'], { maxOutputTokens: 1_000 }),
    })
    expect([terminal.reason, purse.asked.length, purse.open, purse.reserved]).toEqual(['completed', 2, 0, 0])
    expect(purse.settled).toBe(terminal.costUsd)
    expect(purse.asked[0]!.usd).toBeGreaterThan(terminal.costUsd / 2)
  })

  test('end the run before the request when too little is left, and report when they reset', async () => {
    const purse = new Purse(9_000)
    const { terminal } = await run([], runOptions(purse))
    expect(purse.settled).toBeLessThanOrEqual(9_000)
    expect(purse.open).toBe(0)
    expect([terminal.reason, terminal.signal.source]).toEqual(['max_budget_usd', 'standing'])
    expect(terminal.signal.message).toMatch(
      /^Too little is left of \$9,000 a day: \$[\d.]+ is used, and the next request may cost up to \$\d+\. It resets at 2026-12-01T00:00:00\+01:00$/,
    )
    expect(terminal.signal.context).toMatchObject({
      budget: '$9,000 a day',
      resetsAt: '2026-12-01T00:00:00+01:00',
      usedUsd: purse.settled,
      limitUsd: 9_000,
    })
    expect(limitOfResult(terminal)).toBeNull()
  })

  test('lower the cap of a reply to what they have left', async () => {
    const whole = new Purse(1e9)
    await run([], { ...runOptions(whole), model: scriptedModel(['Done.'], { maxOutputTokens: 4_000 }) })
    const { usd, leastUsd } = whole.asked[0]!
    const half = new Purse(Math.floor((usd + leastUsd) / 2))
    const { model, terminal } = await run([], {
      ...runOptions(half),
      model: scriptedModel(['Done.'], { maxOutputTokens: 4_000 }),
    })
    const cap = model.requests[0]!.maxOutputTokens
    expect([terminal.reason, cap > 1_024 && cap < 4_000]).toEqual(['completed', true])
    expect(half.settled).toBe(terminal.costUsd)
  })

  test('are named when they truncate a reply, and not the dollars of the run (spec R-STAND-4a)', async () => {
    const whole = new Purse(1e9)
    await run([], { ...runOptions(whole), model: scriptedModel(['Done.'], { maxOutputTokens: 4_000 }) })
    const { usd, leastUsd } = whole.asked[0]!
    const cut = { text: 'Do', stopReason: 'max_tokens' } as const
    const ended = async (purse: Purse) =>
      (await run([], { ...runOptions(purse), maxRunUsd: 1e9, model: scriptedModel([cut], { maxOutputTokens: 4_000 }) }))
        .terminal
    const purse = new Purse(Math.floor((usd + leastUsd) / 2))
    const unnamed = await ended(purse)
    purse.settled = 0
    purse.saysWhich = true
    const named = await ended(purse)
    expect([unnamed, named].map(({ reason, signal }) => [reason, signal.source, signal.message])).toEqual([
      ['max_budget_usd', 'standing', 'The reply was cut to what was left of $9,000 a day'],
      [
        'max_budget_usd',
        'standing',
        'The reply was cut to what was left of $9,000 a day. It resets at 2026-12-01T00:00:00+01:00',
      ],
    ])
    expect(named.signal.context).toEqual({ budget: '$9,000 a day', resetsAt: '2026-12-01T00:00:00+01:00' })
    expect([unnamed, named].map(limitOfResult)).toEqual([null, null])
  })

  test('need a price only for the models that they count', () => {
    const noPrices = { cost: () => undefined, worstCase: () => undefined }
    const options = (id: string): RunOptions => ({
      model: scriptedModel(['Done.'], { id }),
      prices: noPrices,
      standing: new Purse(1),
    })
    expect(() => streamRun(startRun({ prompt: 'go' }), options('dear'))).toThrow(ConfigurationError)
    expect(() => streamRun(startRun({ prompt: 'go' }), options('free'))).not.toThrow()
  })

  test('end the run without the request when they do not know the spent amount', async () => {
    const broken: StandingBudgets = {
      names: [],
      countsFor: () => true,
      take() {
        throw new ConfigurationError('The ledger cannot be read.')
      },
    }
    const { terminal, model } = await run([], { ...runOptions(broken), maxBudgetUsd: 1e6 })
    expect([terminal.reason, terminal.costUsd, model.requests.length]).toEqual(['error', 0, 0])
    expect(terminal.signal.message).toContain('The ledger cannot be read.')
  })

  test.each([
    ['nothing', undefined],
    ['a reservation without settle', { kind: 'taken', usd: 1 }],
    ['less than a useful amount', { kind: 'taken', usd: 0, settle: () => undefined }],
    ['a text', 'taken'],
  ])('that return %s end the run without the request', async (_name, answer) => {
    // Values that plain JavaScript code can return.
    const broken = { names: [], countsFor: () => true, take: () => answer } as unknown as StandingBudgets
    const { terminal, model } = await run([], runOptions(broken))
    expect([terminal.reason, model.requests.length]).toEqual(['error', 0])
    expect(terminal.signal.message).toContain('The standing budgets returned an invalid answer')
  })

  test('that ignore an abort are not awaited, and get back what they grant later', async () => {
    const purse = new Purse(1e9)
    let giveBack = (): void => {}
    const others = new Promise<void>((resolve) => (giveBack = resolve))
    const deaf: StandingBudgets = {
      names: purse.names,
      countsFor: () => true,
      take: async (request, options) => {
        options.onWait({ budget: '$9,000 a day', reservedUsd: 5, holders: 1 })
        await others
        return purse.take(request, options)
      },
    }
    const going = begin([], { ...runOptions(deaf), model: scriptedModel(['Done.']) })
    await until(() => going.events.some(({ type }) => type === 'budget_wait'))
    going.loop.abort()
    const { terminal } = await going.end()
    giveBack()
    await until(() => purse.asked.length === 1)
    await until(() => purse.open === 0)
    expect([terminal.reason, purse.settled]).toEqual(['aborted_streaming', 0])
  })
})

describe('a request that waits for other processes', () => {
  test('is shown as waiting, and made when they have released enough', async () => {
    const purse = new Purse(1e9)
    let giveBack = (): void => {}
    purse.others = new Promise((resolve) => (giveBack = resolve))
    const going = begin([], { ...runOptions(purse), model: scriptedModel(['Done.']) })
    await until(() => going.events.some(({ type }) => type === 'budget_wait'))
    const [wait] = going.events.flatMap((event) => (event.type === 'budget_wait' ? [event] : []))
    expect(wait && budgetWaitText(wait)).toBe(
      'Waiting for budget: $5.00 of $9,000 a day is reserved by 1 other request.',
    )
    giveBack()
    const { terminal, events } = await going.end()
    const waited = events.flatMap((event) => (event.type === 'budget_waited' ? [[event.outcome, event.budget]] : []))
    expect([terminal.reason, waited, purse.open]).toEqual(['completed', [['granted', '$9,000 a day']], 0])
  })

  test('ends with an abort, with nothing taken and nothing asked', async () => {
    const purse = new Purse(1e9)
    purse.others = new Promise(() => {})
    const going = begin([], { ...runOptions(purse), maxBudgetUsd: 1e6, model: scriptedModel(['Done.']) })
    await until(() => going.events.some(({ type }) => type === 'budget_wait'))
    going.loop.abort()
    const { terminal, model } = await going.end()
    expect([terminal.reason, terminal.costUsd, model.requests.length, purse.open]).toEqual([
      'aborted_streaming',
      0,
      0,
      0,
    ])
  })

  test('asks anew in a resumed process, wherever the previous one was killed', async () => {
    const options = (purse: Purse) => ({
      model: scriptedModel([calls('Look'), 'Done.'], { maxOutputTokens: 1_000 }),
      tools: [look],
      prices: dollarATokenPrices,
      standing: purse,
      clock: createFakeClock({ autoAdvance: true }),
    })
    const waiting = (): Purse => {
      const purse = new Purse(1e9)
      purse.others = Promise.resolve()
      return purse
    }
    const { steps } = await run([calls('Look'), 'Done.'], options(waiting()))
    expect(steps.records.some((record) => 'key' in record && record.key.includes('standing:'))).toBe(true)
    for (let recordCount = 1; recordCount < steps.records.length; recordCount++) {
      const purse = waiting()
      const records = await killedAfter(recordCount, options(waiting()))
      const { terminal } = await resume(records, options(purse)).loop.ended
      expect([recordCount, terminal.reason, purse.open, purse.reserved]).toEqual([recordCount, 'completed', 0, 0])
    }
  })
})

describe('the dollar limit of a run', () => {
  test('is named as that of the run', async () => {
    const { terminal } = await run([], {
      tools: [look],
      prices: dollarATokenPrices,
      maxRunUsd: 5_000,
      maxBudgetUsd: 1e6,
      model: scriptedModel(forever, { maxOutputTokens: 1_000 }),
    })
    expect([terminal.reason, limitOfResult(terminal)]).toEqual(['max_budget_usd', 'maxRunUsd'])
    expect(terminal.signal.message).toMatch(/^Reached the dollar limit of the run \(\$5000\): \$\d+ is used/)
    expect(terminal.committedUsd).toBeLessThanOrEqual(5_000)
  })

  test('is removed and set during the run', async () => {
    const going = begin([], {
      tools: [
        reader('Look', () => {
          going.loop.set({ limits: { maxRunUsd: null, maxTurns: 9 } })
          return 'seen'
        }),
      ],
      prices: dollarATokenPrices,
      maxRunUsd: 5_000,
      model: scriptedModel(forever, { maxOutputTokens: 1_000 }),
    })
    expect((await going.end()).terminal.reason).toBe('max_turns')
  })

  test.each([0, -1, NaN])('is rejected for %s', (maxRunUsd) => {
    expect(() =>
      streamRun(startRun({ prompt: 'go' }), { model: scriptedModel(['Done.']), prices: dollarATokenPrices, maxRunUsd }),
    ).toThrow(ConfigurationError)
  })
})
