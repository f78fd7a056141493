// Tests R-PERM-9b and R-PERM-9c: the pending calls of a session that an earlier process left, and how they are answered.
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  QueryEngine,
  agentTool,
  tool,
  type QueryOptions,
  type SdkMessage,
} from '../../src/index.ts'
import { foldSession, splitRuns, type StepRecord, type StoredSession } from '../../src/entries/steps.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { hook } from '../support/harness.ts'

/** A store for records that outlives the simulated processes. */
class Store {
  readonly records: StepRecord[] = []

  /** The session as a new process finds it: the records after a JSON round trip. */
  open(): StoredSession {
    // A JSON round trip returns the same value.
    const records = JSON.parse(JSON.stringify(this.records)) as readonly StepRecord[]
    return {
      ...foldSession(splitRuns(records)),
      sessionId: 's',
      log: { keeps: 'all', append: (record) => void this.records.push(record), flush: () => undefined },
    }
  }
}

const ofTwo = {
  toolCalls: [
    { name: 'Pay', id: 'p1', input: { usd: 5 } },
    { name: 'Pay', id: 'p2', input: { usd: 7 } },
  ],
}

interface Process {
  readonly engine: QueryEngine
  readonly paid: readonly number[]
}

function processOn(store: Store, script: readonly ScriptedReply[], options: Partial<QueryOptions> = {}): Process {
  const paid: number[] = []
  const pay = tool({
    name: 'Pay',
    description: '',
    inputSchema: { type: 'object', properties: { usd: { type: 'number' } }, required: ['usd'] },
    needsApproval: true,
    execute: ({ usd }) => `paid ${String(paid.push(usd))}`,
  })
  const help = agentTool({
    name: 'Help',
    description: '',
    concurrencySafe: true,
    spawn: () => ({ prompt: 'Pay.', tools: ['Pay'] }),
  })
  return {
    engine: new QueryEngine({ model: scriptedModel(script), tools: [pay, help], session: store.open(), ...options }),
    paid,
  }
}

async function resultOf(messages: AsyncIterable<SdkMessage>): Promise<string> {
  for await (const message of messages) if (message.type === 'result') return message.stop.reason
  return 'none'
}

/** Reads until the run waits for this many answers, and abandons it like a killed process. */
async function killedWaiting(
  store: Store,
  script: readonly ScriptedReply[],
  waits = 1,
  options: Partial<QueryOptions> = {},
): Promise<void> {
  const { engine } = processOn(store, script, { onAsk: 'wait', ...options })
  const messages = engine.submit('Pay.')[Symbol.asyncIterator]()
  void messages.next().then(function next({ done }): void {
    if (done !== true) void messages.next().then(next)
  })
  while (engine.pending().length < waits) await new Promise((resolve) => setImmediate(resolve))
  const { length } = store.records
  engine.interrupt()
  while (engine.pending().length > 0) await new Promise((resolve) => setImmediate(resolve))
  // What happened after the kill was never written.
  store.records.length = length
}

const reason = 'Pay requires approval of this call.'
const first = { callId: 'p1', tool: 'Pay', input: { usd: 5 }, reason }
const second = { callId: 'p2', tool: 'Pay', input: { usd: 7 }, reason }
const ofOne = { toolCalls: ofTwo.toolCalls.slice(0, 1) }

describe('a session that ended as needs_approval', () => {
  const left = async (): Promise<Store> => {
    const store = new Store()
    const { engine, paid } = processOn(store, [ofOne])
    expect([await resultOf(engine.submit('Pay.')), engine.pending(), paid]).toEqual(['needs_approval', [first], []])
    return store
  }

  test('lists its pending calls in another process, and continues with its answer', async () => {
    const store = await left()
    const { engine, paid } = processOn(store, ['done'])
    expect(engine.pending()).toEqual([first])
    expect(await resultOf(engine.approve({ p1: { behavior: 'allow' } }))).toBe('completed')
    expect([engine.pending(), paid]).toEqual([[], [5]])
    expect(processOn(store, []).engine.pending()).toEqual([])
  })

  test('is answered once: a second process with the same answer finds nothing pending', async () => {
    const store = await left()
    await resultOf(processOn(store, ['done']).engine.approve({ p1: { behavior: 'allow' } }))
    const { engine, paid } = processOn(store, ['done'])
    await expect(resultOf(engine.approve({ p1: { behavior: 'allow' } }))).rejects.toThrow(
      new ConfigurationError('No call waits for approval. Pass a prompt instead.'),
    )
    expect(paid).toEqual([])
  })

  test('has nothing pending once another message was sent', async () => {
    const store = await left()
    const { engine, paid } = processOn(store, ['fine'])
    expect(await resultOf(engine.submit('Never mind.'))).toBe('completed')
    expect([engine.pending(), paid]).toEqual([[], []])
  })
})

describe('a call whose input a hook has changed', () => {
  const hooks = [
    hook('beforeToolUse', (context) => context.withToolInput({ usd: 9 })),
    hook('beforeToolUse', async (context) => {
      await context.ask({ system: '', messages: [{ role: 'user', content: 'How much?' }] })
      return context.withToolInput({ usd: 99 })
    }),
  ]
  const changed = { ...first, input: { usd: 99 } }
  const replies = [ofOne, 'much']

  test('is shown as it would run, after needs_approval', async () => {
    const store = new Store()
    const { engine } = processOn(store, replies, { hooks })
    await resultOf(engine.submit('Pay.'))
    expect([engine.pending(), processOn(store, []).engine.pending()]).toEqual([[changed], [changed]])
    const again = processOn(store, ['much', 'done'], { hooks })
    expect(await resultOf(again.engine.approve({ p1: { behavior: 'allow' } }))).toBe('completed')
    expect(again.paid).toEqual([99])
  })

  test('is shown as it would run, in a run that was killed while it waited', async () => {
    const store = new Store()
    await killedWaiting(store, replies, 1, { hooks })
    const { engine, paid } = processOn(store, ['done'], { hooks })
    expect(engine.pending()).toEqual([{ ...changed, key: 'run1/approval:1:0:p1' }])
    expect(await resultOf(engine.approve({ p1: { behavior: 'allow' } }))).toBe('completed')
    expect(paid).toEqual([99])
  })
})

describe('a run that was killed while it waited', () => {
  test('lists its pending calls in another process, and continues with its answer', async () => {
    const store = new Store()
    await killedWaiting(store, [ofOne])
    const { engine, paid } = processOn(store, ['done'])
    expect(engine.pending()).toEqual([{ ...first, key: 'run1/approval:1:0:p1' }])
    expect(await resultOf(engine.approve({ p1: { behavior: 'allow' } }))).toBe('completed')
    expect([engine.pending(), paid, engine.runId]).toEqual([[], [5], 'run1'])
  })

  test('is killed again after the answer, at each record: paid requests are paid once', async () => {
    const store = new Store()
    await killedWaiting(store, [ofOne])
    const waiting = store.records.length
    const { engine } = processOn(store, ['done'])
    await resultOf(engine.approve({ p1: { behavior: 'allow' } }))
    const all = [...store.records]
    for (let cut = waiting; cut < all.length; cut++) {
      const cutStore = new Store()
      cutStore.records.push(...all.slice(0, cut))
      const wasPaid = cutStore.records.some((record) => record.type === 'result' && record.key.includes('/tool:'))
      const began = cutStore.records.some((record) => record.type === 'intent' && record.key.includes('/tool:'))
      const again = processOn(cutStore, ['done'])
      const waits = again.engine.pending()
      const answer = waits.length === 0 ? again.engine.resume() : again.engine.approve({ p1: { behavior: 'allow' } })
      expect(await resultOf(answer)).toBe('completed')
      // Once the call has begun, its outcome is unknown, and it does not run again.
      expect([cut, again.paid]).toEqual([cut, wasPaid || began ? [] : [5]])
    }
  })

  test('asks about the calls after the answered one, as the options of this process say', async () => {
    const store = new Store()
    await killedWaiting(store, [ofTwo])
    const { engine, paid } = processOn(store, ['done'])
    expect(await resultOf(engine.approve({ p1: { behavior: 'allow' } }))).toBe('needs_approval')
    expect([engine.pending(), paid]).toEqual([[second], [5]])
    expect(await resultOf(engine.approve({ p2: { behavior: 'deny', message: 'No.' } }))).toBe('completed')
    expect([engine.pending(), paid]).toEqual([[], [5]])
  })

  test('rejects answers to calls that are not pending and invalid answers, and leaves the session unchanged', async () => {
    const store = new Store()
    await killedWaiting(store, [ofOne])
    const { engine } = processOn(store, ['done'])
    expect(() => engine.approve({ p9: { behavior: 'allow' } })).toThrow(
      new ConfigurationError('No call "p9" waits for an answer. These wait: p1.'),
    )
    expect(() => engine.approve({ p1: { behaviour: 'allow' } as never })).toThrow(/^approvals\["p1"\]: An answer is/)
    expect(engine.pending()).toHaveLength(1)
  })

  test('in two subagents with one id is answered by the keys', async () => {
    const store = new Store()
    const calls = {
      toolCalls: [
        { name: 'Help', id: 'h1' },
        { name: 'Help', id: 'h2' },
      ],
    }
    await killedWaiting(store, [calls, ofOne, ofOne], 2)
    const { engine, paid } = processOn(store, ['paid', 'not paid', 'done'])
    const pending = engine.pending()
    expect(pending.map(({ callId, tool: name, input }) => [callId, name, input])).toEqual([
      ['p1', 'Pay', { usd: 5 }],
      ['p1', 'Pay', { usd: 5 }],
    ])
    expect(() => engine.approve({ p1: { behavior: 'allow' } })).toThrow(
      /^2 calls with the id "p1" wait\. Answer each by its key: /,
    )
    const [one, two] = pending.map(({ key }) => String(key))
    const answers = {
      [String(one)]: { behavior: 'allow' },
      [String(two)]: { behavior: 'deny', message: 'No.' },
    } as const
    expect([await resultOf(engine.approve(answers)), paid]).toEqual(['completed', [5]])
  })
})
