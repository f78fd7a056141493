// Tests R-BUD-21, R-BUD-21a, R-BUD-21b, R-BUD-21c: the cost of a lost request is looked up at its service.
import { describe, expect, test, vi } from 'vitest'
import { accountOf } from '@halting/analysis'
import { noUsage } from '../../src/entries/adapters.ts'
import { type AgentTool, type Model, replay, resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json, reader } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

type LookUp = NonNullable<Model['lookUpUsage']>

const done: ScriptedReply = { text: 'done', usage: { input_tokens: 100, output_tokens: 10 } }
/** A reply costs 1, and at most 5. */
const prices = { cost: () => 1, worstCase: () => 5 }

/** A scripted model that reports the ids of its replies, `gen-1`, `gen-2` and so on. */
function lookupModel(
  script: readonly ScriptedReply[],
  lookUpUsage?: LookUp,
  ids = (count: number) => [`gen-${count}`],
) {
  const model = scriptedModel(script)
  let count = 0
  return {
    ...model,
    ...(lookUpUsage !== undefined && { lookUpUsage }),
    call: (async (request, options) => {
      for (const id of ids(++count))
        options.emit({ type: 'api_event', event: { type: 'message_start', message: { id, type: 'message' } } })
      return model.call(request, options)
    }) satisfies Model['call'],
  }
}

const isResultOf = (name: string) => (record: StepRecord) => record.type === 'result' && record.key.endsWith(`/${name}`)
const answersLookup = (usd: number) => vi.fn<LookUp>(async () => ({ usd }))
const unknownLookup = vi.fn<LookUp>(async () => undefined)

const optionsOf = (model: Model, overrides: Partial<RunOptions> = {}): RunOptions => ({
  clock: createFakeClock({ autoAdvance: true }),
  model,
  prices,
  ...overrides,
})

async function resumed(records: readonly StepRecord[], options: RunOptions) {
  const { loop, steps } = resume(records, options)
  const { terminal } = await loop.ended
  return { terminal, records: steps.records.map((record) => json(record) as unknown as StepRecord) }
}

/** A resume that dies before it records this, with everything on record by then. */
async function resumedUntil(
  records: readonly StepRecord[],
  isFatal: (record: StepRecord) => boolean,
  options: RunOptions,
) {
  const storedRecords: StepRecord[] = []
  let isDead = false
  await new Promise<void>((dead) => {
    const log = {
      keeps: 'all' as const,
      append(record: StepRecord) {
        if (isDead || isFatal(record)) {
          isDead = true
          dead()
          throw new Error('died')
        }
        storedRecords.push(json(record) as unknown as StepRecord)
      },
      flush: () => undefined,
    }
    void resume(records, options, undefined, log).loop.ended.then(() => dead())
  })
  return [...records, ...storedRecords]
}

const killedRun = (overrides: Partial<RunOptions> = {}) =>
  killedBefore(isResultOf('model:1.1'), optionsOf(lookupModel([done], unknownLookup), overrides))

describe('a lost request whose service can be asked', () => {
  test('is looked up once by the id of the reply, and charged the reported amount', async () => {
    const lookUp = answersLookup(0.5)
    const { terminal, records } = await resumed(await killedRun(), optionsOf(lookupModel([done], lookUp)))
    expect(lookUp.mock.calls.map(([id]) => id)).toEqual(['gen-1'])
    expect([terminal.reason, terminal.costUsd, terminal.committedUsd]).toEqual(['completed', 1.5, 1.5])
    expect(accountOf(records).totals).toMatchObject({ costUsd: 1.5, committedUsd: 1.5, requests: 2 })
  })

  test('is charged by the prices when the service reports only its usage', async () => {
    const usage = { ...noUsage, input_tokens: 7, output_tokens: 2 }
    const { terminal, records } = await resumed(
      await killedRun(),
      optionsOf(lookupModel([done], async () => ({ usage }))),
    )
    expect([terminal.costUsd, terminal.committedUsd, terminal.totalTokens]).toEqual([2, 2, 119])
    const end = records.at(-1)
    expect(end?.type === 'end' ? end.spent.usage : null).toMatchObject({ input_tokens: 107, output_tokens: 12 })
  })

  test('is replayed to the same end without a lookup', async () => {
    const { terminal, records } = await resumed(await killedRun(), optionsOf(lookupModel([done], answersLookup(0.5))))
    const lookUp = answersLookup(9)
    const replayed = await replay(records, optionsOf(lookupModel([], lookUp)))
    expect(lookUp).not.toHaveBeenCalled()
    expect([replayed.terminal.costUsd, replayed.terminal.committedUsd]).toEqual([1.5, 1.5])
    expect(json(replayed.terminal)).toEqual(json(terminal))
  })

  test('is looked up once more when the process dies before the answer is on record', async () => {
    const first = answersLookup(0.5)
    const died = await resumedUntil(
      await killedRun(),
      isResultOf('model:1.1/lookup'),
      optionsOf(lookupModel([done], first)),
    )
    const second = answersLookup(0.5)
    const { terminal } = await resumed(died, optionsOf(lookupModel([done], second)))
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1])
    expect(terminal.committedUsd).toBe(1.5)
  })

  test('is not looked up again when the process dies after the answer is on record', async () => {
    const died = await resumedUntil(
      await killedRun(),
      isResultOf('model:1.1'),
      optionsOf(lookupModel([done], answersLookup(0.5))),
    )
    const lookUp = answersLookup(9)
    const { terminal } = await resumed(died, optionsOf(lookupModel([done], lookUp)))
    expect(lookUp).not.toHaveBeenCalled()
    expect(terminal.committedUsd).toBe(1.5)
  })

  test('is not looked up at a model with another id, or at one without lookups', async () => {
    const records = await killedRun()
    const lookUp = answersLookup(0.5)
    const other = { ...lookupModel([done], lookUp), id: 'other' }
    const withOther = await resumed(records, optionsOf(other)).catch(() => undefined)
    expect(lookUp).not.toHaveBeenCalled()
    expect(withOther?.terminal.committedUsd ?? 6).toBe(6)
    expect((await resumed(records, optionsOf(scriptedModel([done])))).terminal.committedUsd).toBe(6)
  })

  test('is settled within a budget: the rest can be spent', async () => {
    const runOptions = { maxBudgetUsd: 7, minUsefulTokens: 1 }
    const script = [{ ...calls('Look'), usage: { input_tokens: 100, output_tokens: 10 } }, done] as const
    const tools = [reader('Look')]
    const records = await killedBefore(
      isResultOf('model:1.1'),
      optionsOf(lookupModel(script, unknownLookup), { ...runOptions, tools }),
    )
    const without = await resumed(records, optionsOf(lookupModel(script, unknownLookup), { ...runOptions, tools }))
    expect([without.terminal.reason, without.terminal.committedUsd]).toEqual(['max_budget_usd', 5])
    const { terminal } = await resumed(
      records,
      optionsOf(lookupModel(script, answersLookup(0.5)), { ...runOptions, tools }),
    )
    expect([terminal.reason, terminal.committedUsd]).toEqual(['completed', 2.5])
  })

  // The first request of the agent was lost; the second may cost 5.
  test.each([
    [5.2, true],
    [5.8, false],
  ])('of an agent counts against the agent’s limit of $%d as the service reports', async (maxBudgetUsd, isStopped) => {
    const agent: AgentTool = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'sub', maxBudgetUsd }),
    }
    const runOptions = { tools: [agent] }
    const isLost = (record: StepRecord): boolean => record.type === 'result' && /agent:.*model:1\.1$/.test(record.key)
    const records = await killedBefore(
      isLost,
      optionsOf(lookupModel([calls('Agent'), done], unknownLookup), runOptions),
    )
    const lookUp = answersLookup(0.5)
    const { terminal } = await resumed(records, optionsOf(lookupModel([done, done], lookUp), runOptions))
    expect(lookUp).toHaveBeenCalledTimes(1)
    expect([terminal.reason, terminal.committedUsd]).toEqual(['completed', isStopped ? 2.5 : 3.5])
  })

  test('is looked up by the last reported id, for an adapter that repeated a refused request', async () => {
    const two = lookupModel([done], unknownLookup, () => ['gen-refused', 'gen-second'])
    const records = await killedBefore(isResultOf('model:1.1'), optionsOf(two))
    const lookUp = answersLookup(0.5)
    await resumed(records, optionsOf(lookupModel([done], lookUp)))
    expect(lookUp.mock.calls.map(([id]) => id)).toEqual(['gen-second'])
  })

  test('bills more than was reserved only when the service says so, with a notice', async () => {
    const records = await killedRun({ maxBudgetUsd: 20 })
    const options = optionsOf(lookupModel([done], answersLookup(8)), { maxBudgetUsd: 20 })
    const { loop } = resume(records, options)
    const notices: string[] = []
    for await (const event of loop) if (event.type === 'notice') notices.push(event.message)
    expect((await loop.ended).terminal.committedUsd).toBe(9)
    expect(notices.join()).toContain('billed more')
  })
})

describe('charges the worst case', () => {
  const figuresWith = async (lookUp: LookUp): Promise<readonly unknown[]> => {
    const { terminal, records } = await resumed(await killedRun(), optionsOf(lookupModel([done], lookUp)))
    const replayed = await replay(records, optionsOf(lookupModel([], lookUp)))
    return [terminal.reason, terminal.costUsd, terminal.committedUsd, replayed.terminal.committedUsd]
  }
  const atWorst = ['completed', 1, 6, 6]

  test('when the service does not know the reply', async () => {
    expect(await figuresWith(unknownLookup)).toEqual(atWorst)
  })

  test('when the lookup fails', async () => {
    expect(await figuresWith(() => Promise.reject(new Error('refused')))).toEqual(atWorst)
  })

  test('when the lookup throws', async () => {
    const broken = (): never => {
      throw new Error('broken')
    }
    expect(await figuresWith(broken)).toEqual(atWorst)
  })

  test('when no answer arrives in time, and the lookup is notified of the timeout', async () => {
    let isNotified = false
    const figures = await figuresWith((_id, { signal }) => {
      signal.addEventListener('abort', () => (isNotified = true))
      return new Promise(() => {})
    })
    expect([...figures, isNotified]).toEqual([...atWorst, true])
  })

  test.each([
    [{ usd: Number.NaN }],
    [{ usd: -1 }],
    [{ usd: Infinity }],
    [{ usd: '1' }],
    [{ usage: noUsage }],
    [{ usage: { ...noUsage, input_tokens: 1.5 } }],
    [{}],
    [null],
    ['much'],
  ])('when the answer is not countable: %j', async (answer) => {
    expect(await figuresWith(async () => answer as never)).toEqual(atWorst)
  })

  test('when the record is an older one without an id', async () => {
    const records = await killedBefore(isResultOf('model:1.1'), optionsOf(scriptedModel([done])))
    const lookUp = answersLookup(0.5)
    const { terminal } = await resumed(records, optionsOf(lookupModel([done], lookUp)))
    expect(lookUp).not.toHaveBeenCalled()
    expect(terminal.committedUsd).toBe(6)
  })
})

describe('the id of a reply', () => {
  const recordsOf = async (model: Model): Promise<readonly StepRecord[]> =>
    killedBefore(isResultOf('never'), optionsOf(model))

  test('is on record before the result of its request', async () => {
    const records = await recordsOf(lookupModel([done], unknownLookup))
    const at = records.findIndex((record) => record.type === 'control')
    expect(records[at]).toMatchObject({ control: { reply: { id: 'gen-1', model: 'scripted' } } })
    expect(records.findIndex((record) => record.type === 'result' && record.key.endsWith('/model:1.1'))).toBe(at + 1)
  })

  test('is not on record for a service without lookups', async () => {
    expect((await recordsOf(lookupModel([done]))).filter(({ type }) => type === 'control')).toEqual([])
  })

  test('is bounded: too many or too long ids are not recorded', async () => {
    const many = await recordsOf(
      lookupModel([done], unknownLookup, () => Array.from({ length: 50 }, (_, n) => `gen-${n}`)),
    )
    expect(many.filter(({ type }) => type === 'control')).toHaveLength(8)
    const long = await recordsOf(lookupModel([done], unknownLookup, () => ['x'.repeat(257)]))
    expect(long.filter(({ type }) => type === 'control')).toEqual([])
  })

  test('of an answered request does not change a resume', async () => {
    const script = [{ ...calls('Look'), usage: { input_tokens: 100, output_tokens: 10 } }, done] as const
    const runOptions = { tools: [reader('Look')] }
    const whole = await killedBefore(isResultOf('never'), optionsOf(lookupModel(script, unknownLookup), runOptions))
    for (let length = 2; length < whole.length; length++) {
      const lookUp = answersLookup(0.5)
      const records = whole.slice(0, length)
      const answered = records.filter((record) => record.type === 'result' && /model:\d\.1$/.test(record.key)).length
      const asked = records.filter((record) => record.type === 'intent' && /model:\d\.1$/.test(record.key)).length
      const known = records.filter((record) => record.type === 'control').length
      const { terminal, records: all } = await resumed(
        records,
        optionsOf(lookupModel(script.slice(answered), lookUp), runOptions),
      )
      // A request that was lost before its id was on record cannot be looked up.
      const isUnknown = asked > known
      expect([length, terminal.reason, lookUp.mock.calls.length]).toEqual([length, 'completed', known - answered])
      expect([length, terminal.costUsd]).toEqual([length, 2 + (known - answered) * 0.5])
      expect([length, terminal.committedUsd - terminal.costUsd]).toEqual([length, isUnknown ? 5 : 0])
      expect((await replay(all, optionsOf(lookupModel([]), runOptions))).terminal.committedUsd).toBe(
        terminal.committedUsd,
      )
    }
  })
})

describe('over many kills', () => {
  /** Numbers from 0 to 1, the same for a seed. */
  const numbersOf = (seed: number) => (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }

  const isLostAttempt = (value: unknown): value is { readonly charge: { readonly known: boolean } } =>
    JSON.stringify(value).startsWith('{"kind":"unknown"')

  test.each(Array.from({ length: 25 }, (_, seed) => [seed + 1]))(
    'charges no more above the billed amount than what stays unknown (seed %d)',
    async (seed) => {
      const next = numbersOf(seed)
      const tools = [reader('Look')]
      const billed = new Map<string, number>()
      let ids = 0
      const model = (answered: number) => {
        const script = [calls('Look'), calls('Look'), done]
          .map((reply) => ({ ...reply, usage: { input_tokens: 100, output_tokens: 10 } }))
          .slice(answered)
        const lookUp: LookUp = async (id) => (next() < 0.6 ? { usd: billed.get(id) ?? 0 } : undefined)
        return lookupModel(script, lookUp, () => {
          const id = `gen-${++ids}`
          billed.set(id, Math.round(next() * 4_000) / 1_000)
          return [id]
        })
      }
      const answeredIn = (records: readonly StepRecord[]): number =>
        records.filter(({ type, ...record }) => type === 'result' && JSON.stringify(record).includes('"answered"'))
          .length
      let records = await killedBefore(() => next() < 0.15, optionsOf(model(0), { tools }))
      for (let kills = 0; kills < 6 && !records.some(({ type }) => type === 'end') && records.length > 0; kills++)
        records = await resumedUntil(records, () => next() < 0.15, optionsOf(model(answeredIn(records)), { tools }))
      if (records.length === 0) return
      if (!records.some(({ type }) => type === 'end'))
        records = (await resumed(records, optionsOf(model(answeredIn(records)), { tools }))).records
      const end = records.at(-1)
      if (end?.type !== 'end') throw new Error('it did not end')
      const { costUsd, committedUsd } = end.terminal
      // An answered request costs 1. A lost one costs what its service reports, or 5.
      let [known, unknown] = [0, 0]
      for (const record of records) {
        if (record.type !== 'result' || !isLostAttempt(record.value)) continue
        const reply = records.find(
          ({ type, ...other }) => type === 'control' && 'key' in other && other.key === `${record.key}/reply`,
        )
        const id = reply?.type === 'control' ? reply.control.reply?.id : undefined
        if (record.value.charge.known) known += billed.get(id ?? '') ?? Number.NaN
        else unknown += 5
      }
      expect(costUsd).toBeCloseTo(answeredIn(records) + known, 9)
      expect(committedUsd - costUsd).toBeCloseTo(unknown, 9)
      const replayed = await replay(records, optionsOf(lookupModel([], answersLookup(9)), { tools }))
      expect([replayed.terminal.costUsd, replayed.terminal.committedUsd]).toEqual([costUsd, committedUsd])
      expect(accountOf(records).totals.committedUsd).toBeCloseTo(committedUsd, 9)
    },
  )
})
