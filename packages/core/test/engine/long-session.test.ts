// Tests R-LIVE-2, R-LIVE-5, R-LIVE-6: one process runs a session for a long time.
import { dollarATokenPrices as prices } from '../support/harness.ts'
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  QueryEngine,
  startRun,
  tool,
  type Model,
  type QueryOptions,
  type SdkMessage,
} from '../../src/index.ts'
import { foldSession, type StepRecord } from '../../src/entries/steps.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'

const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })
const looks: ScriptedReply = { toolCalls: [{ name: 'Look' }] }

async function all(messages: AsyncIterable<SdkMessage>): Promise<readonly SdkMessage[]> {
  const seen: SdkMessage[] = []
  for await (const message of messages) seen.push(message)
  return seen
}

const costOf = (messages: readonly SdkMessage[]): number => {
  const last = messages.at(-1)
  return last?.type === 'result' ? last.total_cost_usd : Number.NaN
}

describe('a run that ended at a limit', () => {
  /** Two turns up to the limit, two more, and then another prompt; in one process, or with a new one in between. */
  const course = async (isOneProcess: boolean): Promise<readonly unknown[]> => {
    const replies = [looks, looks, looks, 'done', 'again']
    const records: StepRecord[] = []
    const log = {
      keeps: 'all' as const,
      append: (record: StepRecord) => void records.push(record),
      flush: () => undefined,
    }
    const options = (replies: readonly ScriptedReply[], maxTurns: number): QueryOptions => ({
      sessionId: 'session',
      model: scriptedModel(replies),
      tools: [look],
      prices,
      maxTurns,
      maxBudgetUsd: 10_000,
    })
    const first = new QueryEngine({
      ...options(isOneProcess ? replies : replies.slice(0, 2), 2),
      session: { ...foldSession([]), log },
    })
    const messagesOfRuns = [await all(first.submit('go'))]
    let engine = first
    if (isOneProcess) first.setLimits({ maxTurns: 9 })
    else
      engine = new QueryEngine({
        ...options(replies.slice(2), 9),
        session: { ...foldSession([records.splice(0)]), log },
      })
    expect(engine.canResume).toBe(true)
    messagesOfRuns.push(await all(engine.resume()), await all(engine.submit('more')))
    return [
      ...messagesOfRuns.map((messages) =>
        [messages.at(-1)].map((message) => message?.type === 'result' && message.num_turns),
      ),
      ...messagesOfRuns.map(costOf),
      engine.totalCostUsd,
      engine.transcript.messages().length,
    ]
  }

  test('continues in the same process as in another one, and its cost counts once', async () => {
    const [inOne, inTwo] = [await course(true), await course(false)]
    expect(inOne).toEqual(inTwo)
    const [, afterResume, afterAll, total] = inOne.slice(3) as readonly number[]
    expect(afterAll).toBeGreaterThan(afterResume ?? Infinity)
    expect(total).toBe(afterAll)
  })

  test('and continues repeatedly, within the budget of the session', async () => {
    const model = scriptedModel(() => looks)
    const engine = new QueryEngine({ model, tools: [look], prices, maxTurns: 1, maxBudgetUsd: 1_000_000 })
    await all(engine.submit('go'))
    for (let maxTurns = 2; maxTurns < 12; maxTurns++) {
      engine.setLimits({ maxTurns })
      await all(engine.resume())
    }
    expect(engine.lastTerminal?.summary.turns).toBe(11)
    expect(engine.totalCostUsd).toBe(engine.lastTerminal?.costUsd)
    expect(model.requests).toHaveLength(11)
    engine.setLimits({ maxTurns: 50, maxBudgetUsd: engine.totalCostUsd + 1 })
    await all(engine.resume())
    expect(engine.lastTerminal?.reason).toBe('max_budget_usd')
    expect(model.requests).toHaveLength(11)
  })

  test('cannot resume before a run, or during one', async () => {
    const engine = new QueryEngine({ model: scriptedModel(['one']) })
    expect(engine.canResume).toBe(false)
    expect(() => engine.resume()).toThrow(ConfigurationError)
    const could: boolean[] = []
    for await (const { type } of engine.submit('go')) if (type !== 'result') could.push(engine.canResume)
    expect(could).toEqual([false, false])
    expect(engine.canResume).toBe(true)
  })
})

describe('a prompt with its own id', () => {
  test('stores it in the conversation, and ignores another message with the same id', async () => {
    const engine = new QueryEngine({ model: scriptedModel(['one', 'two']) })
    await all(engine.submit('go', { id: 'm1' }))
    expect(engine.steer('go', 'm1')).toBe('m1')
    expect(engine.waiting).toEqual([])
    const [entry] = engine.transcript.since(0)
    expect(entry).toMatchObject({ kind: 'user', origin: 'prompt', inboxId: 'm1' })
    const later = new QueryEngine({ model: scriptedModel(['two']), transcript: engine.transcript })
    later.steer('go', 'm1')
    expect(later.waiting).toEqual([])
  })

  test('rejects an empty id', () => {
    const engine = new QueryEngine({ model: scriptedModel([]) })
    expect(() => engine.submit('go', { id: '' })).toThrow(ConfigurationError)
    expect(() => startRun({ prompt: 'go', promptId: '' })).toThrow(ConfigurationError)
  })
})

describe('a model that is created by name', () => {
  const named = scriptedModel(() => 'by its name', { id: 'named-1' })

  test('is created once, applies to later runs, and is reported by its id', async () => {
    const asked: string[] = []
    const modelNamed = (name: string): Model | undefined => {
      asked.push(name)
      return name === 'named' ? named : undefined
    }
    const engine = new QueryEngine({ model: scriptedModel(['first', 'back']), modelNamed })
    await all(engine.submit('go'))
    engine.setModel('named')
    expect(engine.model).toBe(named)
    for (const prompt of ['one', 'two']) {
      const messages = await all(engine.submit(prompt))
      expect(messages[0]).toMatchObject({ model: 'named-1' })
      expect(messages.at(-1)).toMatchObject({
        result: 'by its name',
        modelUsage: { 'named-1': { contextWindow: 200_000 } },
      })
    }
    expect(asked).toEqual(['named'])
    engine.setModel()
    expect((await all(engine.submit('back'))).at(-1)).toMatchObject({ result: 'back' })
  })

  test.each([
    ['none', () => undefined, /Unknown model other\. Known models: scripted\./],
    [
      'an error',
      () => {
        throw new Error('no key')
      },
      /The model other could not be created: no key/,
    ],
    ['what is no model', () => ({ id: 7 }), /modelNamed\("other"\)/],
    ['null', () => null, /Unknown model other/],
  ])('%s is rejected when it is set, and nothing is set', (_what, modelResult, message) => {
    // Plain JavaScript code can return any value.
    const modelNamed = modelResult as unknown as NonNullable<QueryOptions['modelNamed']>
    const engine = new QueryEngine({ model: scriptedModel([]), modelNamed })
    expect(() => engine.setModel('other')).toThrow(message)
    expect(engine.inForce).toBeNull()
  })

  test('is rejected without a price under a dollar budget', () => {
    const some = { ...prices, worstCase: (id: string) => (id === 'scripted' ? 1 : undefined) } as typeof prices
    const engine = new QueryEngine({ model: scriptedModel([]), modelNamed: () => named, prices: some, maxBudgetUsd: 5 })
    expect(() => engine.setModel('named')).toThrow('There is no price for named-1')
  })

  test('is the one of the options when they have it already', () => {
    const model = scriptedModel([])
    const engine = new QueryEngine({ model, modelNamed: () => ({ ...named, id: 'scripted' }) })
    engine.setModel('an alias')
    expect(engine.model).toBe(model)
  })
})
