// Tests R-IN-1 to R-IN-6.
import { describe, expect, test } from 'vitest'
import {
  createMemorySteps,
  streamRun,
  replay,
  resume,
  startRun,
  type RunEvent,
  type StepRecord,
} from '../../src/index.ts'
import { type InboxMessage } from '../../src/entries/steps.ts'
import { foldRun } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { engineOf } from '../support/engine.ts'
import { begin, calls, json, reader, loopMessages, type RunningRun } from '../support/harness.ts'

const tools = [reader('Look')]

/** Messages that the events report as taken: their ids, and their kinds. */
const takenMessages = (events: readonly RunEvent[]): readonly (readonly [id: string, origin: string])[] =>
  events.flatMap((event) =>
    event.type === 'message' && event.entry.kind === 'user' && event.entry.inboxId !== undefined
      ? [[event.entry.inboxId, event.entry.origin] as const]
      : [],
  )

/** Messages in the control records of a run. */
const onRecord = (records: readonly StepRecord[]): readonly InboxMessage[] =>
  records.flatMap((record) => (record.type === 'control' ? (record.control.messages ?? []) : []))

/** A turn with a call, during which something is done, and then an answer. */
const inFirstTurn =
  (what: () => unknown, then: readonly ScriptedReply[] = ['done']) =>
  (_request: unknown, index: number): ScriptedReply =>
    index === 0 ? { ...calls('Look'), before: what } : (then[index - 1] ?? 'done')

describe('a submitted message', () => {
  test('has its own id or a derived one: in the return value, in the record, and in the event for the taken message', async () => {
    const ids: string[] = []
    const script = inFirstTurn(() => {
      ids.push(going.loop.steer('left', 'mine'), going.loop.steer('right'), going.loop.followUp('and then?'))
    })
    const going = begin(script, { tools })
    const { events, steps } = await going.end()
    expect(ids).toEqual(['mine', 'message1', 'message2'])
    expect(onRecord(steps.records)).toEqual([
      { id: 'mine', kind: 'steer', content: 'left' },
      { id: 'message1', kind: 'steer', content: 'right' },
      { id: 'message2', kind: 'follow_up', content: 'and then?' },
    ])
    expect(takenMessages(events)).toEqual([
      ['mine', 'steer'],
      ['message1', 'steer'],
      ['message2', 'follow_up'],
    ])
  })

  test('waits until it is taken', async () => {
    const seen: (readonly string[])[] = []
    const look = (going: RunningRun): void => void seen.push(going.loop.waiting.map(({ id }) => id))
    const script = (_request: unknown, index: number): ScriptedReply => {
      look(going)
      if (index > 0) return 'done'
      const before = (): void => {
        going.loop.followUp('later', 'b')
        going.loop.steer('now', 'a')
        look(going)
      }
      return { ...calls('Look'), before }
    }
    const going = begin(script, { tools })
    await going.end()
    look(going)
    // Before the first request; on submission; before the second; when the answer was sent back; at the end.
    expect(seen).toEqual([[], ['b', 'a'], ['b'], [], []])
  })

  test('can be retracted until then, and leaves no trace', async () => {
    const retracted: boolean[] = []
    const script = inFirstTurn(() => {
      going.loop.steer('no', 'no')
      going.loop.steer('yes', 'yes')
      retracted.push(going.loop.retract('no'), going.loop.retract('no'))
    })
    const going = begin(script, { tools })
    const ended = await going.end()
    expect(retracted).toEqual([true, false])
    expect(loopMessages(ended)).toEqual([['steer', 'yes']])
    expect(onRecord(ended.steps.records).map(({ id }) => id)).toEqual(['yes'])
  })

  test('cannot be retracted once a run has received it, or when it does not exist', async () => {
    const retracted: boolean[] = []
    const script = (_request: unknown, index: number): ScriptedReply => {
      if (index === 0) return { ...calls('Look'), before: () => going.loop.steer('now', 'a') }
      retracted.push(going.loop.retract('a'), going.loop.retract('b'))
      return 'done'
    }
    const going = begin(script, { tools })
    expect(loopMessages(await going.end())).toEqual([['steer', 'now']])
    expect(retracted).toEqual([false, false])
  })

  test('waits until its taking is on record, and cannot be retracted meanwhile', async () => {
    const steps = createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) })
    const recorded = steps.control.bind(steps)
    const seen: unknown[] = []
    // A step engine that has to wait for its disk.
    steps.control = async (key, poll, options) => {
      const control = await recorded(key, poll, options)
      if (control?.messages !== undefined)
        seen.push(
          going.loop.waiting.map(({ id }) => id),
          going.loop.retract('a'),
        )
      return control
    }
    const going = begin(
      inFirstTurn(() => going.loop.steer('now', 'a')),
      { tools, steps },
    )
    expect(loopMessages(await going.end())).toEqual([['steer', 'now']])
    expect([...seen, going.loop.waiting]).toEqual([['a'], false, []])
  })

  test('is taken once, however often it is submitted', async () => {
    const script = (_request: unknown, index: number): ScriptedReply => {
      const again = (): void => {
        expect(going.loop.steer('once', 'a')).toBe('a')
        going.loop.followUp('once more', 'a')
      }
      return index < 2 ? { ...calls('Look'), before: again } : 'done'
    }
    const going = begin(script, { tools })
    const ended = await going.end()
    expect(loopMessages(ended)).toEqual([['steer', 'once']])
  })

  test('stays in the inbox when the run ends before it is taken', async () => {
    const script = (): ScriptedReply => ({ ...calls('Look'), before: () => going.loop.steer('too late', 'a') })
    const going = begin(script, { tools, maxTurns: 1 })
    const { terminal } = await going.end()
    expect(terminal.reason).toBe('max_turns')
    expect(going.loop.waiting).toEqual([{ id: 'a', kind: 'steer', content: 'too late' }])
  })
})

describe('over a crash', () => {
  const options = (model: Parameters<typeof scriptedModel>[0]) => ({
    model: scriptedModel(model),
    tools,
    clock: createFakeClock({ autoAdvance: true }),
  })

  /** A run in which a message arrived in each of the first two turns: its records, as JSON. */
  async function recorded(): Promise<readonly StepRecord[]> {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index < 2 ? { ...calls('Look'), before: () => going.loop.steer(`said ${index}`) } : 'done'
    const going = begin(script, { tools })
    const { steps } = await going.end()
    return steps.records.map((record) => json(record) as unknown as StepRecord)
  }

  /** The index after the n-th control record. */
  const after = (records: readonly StepRecord[], nth: number): readonly StepRecord[] => {
    const controls = records.flatMap(({ type }, index) => (type === 'control' ? [index] : []))
    return records.slice(0, controls[nth]! + 1)
  }

  const going = (messages: readonly { readonly role: string }[]): ScriptedReply =>
    messages.filter(({ role }) => role === 'assistant').length < 2 ? calls('Look') : 'done'

  test.each([
    ['in a past turn', 1],
    ['in the open turn', 0],
  ])('a message that was taken %s is ignored when it is submitted again', async (_where, nth) => {
    const records = after(await recorded(), nth)
    const { loop: resumed } = resume(
      records,
      options(({ messages }) => going(messages)),
    )
    resumed.steer('said 0', 'message1')
    const { state } = await resumed.ended
    expect(loopMessages({ state }).filter(([, text]) => text === 'said 0')).toHaveLength(1)
    expect(resumed.waiting).toEqual([])
  })

  test('a derived id is never that of a message that was taken before', async () => {
    const completeRun = await recorded()
    for (const nth of [0, 1]) {
      const { loop: resumed } = resume(
        after(completeRun, nth),
        options(({ messages }) => going(messages)),
      )
      const id = resumed.steer('new')
      const { state } = await resumed.ended
      expect([nth, id]).toEqual([nth, `message${nth + 2}`])
      expect(loopMessages({ state }).filter(([, text]) => text === 'new')).toHaveLength(1)
    }
  })

  test('a queued message is removed when a record shows it as taken', async () => {
    const folded = foldRun(after(await recorded(), 0))
    if (folded.kind === 'ended') throw new Error('The record was to be cut before its end.')
    const { clock, ...rest } = options(({ messages }) => going(messages))
    const steps = createMemorySteps({ past: folded.past, replay: folded.replay, clock })
    const running = streamRun(folded.state, { ...rest, clock, steps }, { resumed: true })
    // This inbox was made without the record.
    running.steer('said 0', 'message1')
    const { state } = await running.ended
    expect(loopMessages({ state }).filter(([, text]) => text === 'said 0')).toHaveLength(1)
    expect(running.waiting).toEqual([])
  })

  test('a replay has the same ids', async () => {
    const script = inFirstTurn(() => handing.loop.steer('left', 'mine'))
    const handing = begin(script, { tools })
    const { events, steps } = await handing.end()
    const replayed = await replay(steps.records, options([]))
    expect(takenMessages(replayed.events)).toEqual(takenMessages(events))
    expect(takenMessages(replayed.events)).toEqual([['mine', 'steer']])
  })

  const full = () =>
    createMemorySteps({
      clock: createFakeClock(),
      onRecord(record) {
        if (record.type === 'control') throw new Error('the disk is full')
      },
    })

  test('a message that a step engine took and could not record is queued again, and can be retracted', async () => {
    const running = streamRun(startRun({ prompt: 'go' }), { ...options(() => 'done'), steps: full() })
    running.steer('keep me', 'a')
    expect((await running.result).reason).toBe('error')
    expect(running.waiting).toEqual([{ id: 'a', kind: 'steer', content: 'keep me' }])
    expect([running.retract('a'), running.waiting]).toEqual([true, []])
  })

  test('a message that a step engine took and could not record is taken by the next run of the session', async () => {
    const { engine, events } = engineOf(() => 'done', {
      stepsFor: (runId) => (runId === 'run1' ? full() : createMemorySteps({ clock: createFakeClock() })),
    })
    engine.steer('keep me', 'a')
    await all(engine.submit('go'))
    expect([engine.lastTerminal?.reason, takenMessages(events)]).toEqual(['error', []])
    await all(engine.submit('go on'))
    expect([engine.lastTerminal?.reason, takenMessages(events)]).toEqual(['completed', [['a', 'steer']]])
  })
})

/** Reads a run to its end. */
async function all(messages: AsyncIterable<unknown>): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]()
  while ((await iterator.next()).done !== true);
}

describe('an engine', () => {
  test('returns ids, lists queued messages, retracts them, and passes the rest to the next run', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index === 0 ? { ...calls('Look'), before: () => engineParts.engine.followUp('later', 'b') } : 'done'
    const engineParts = engineOf(script, { tools, maxTurns: 1 })
    const { engine, events } = engineParts
    expect([engine.steer('first'), engine.steer('second', 'mine'), engine.retract('message1')]).toEqual([
      'message1',
      'mine',
      true,
    ])
    await all(engine.submit('go'))
    expect(engine.lastTerminal?.reason).toBe('max_turns')
    expect(engine.waiting).toEqual([{ id: 'b', kind: 'follow_up', content: 'later' }])
    await all(engine.submit('go on'))
    expect(takenMessages(events)).toEqual([
      ['mine', 'steer'],
      ['b', 'follow_up'],
    ])
    expect([engine.waiting, engine.retract('b'), engine.retract('mine')]).toEqual([[], false, false])
  })

  test('over a stored session ignores what that session has taken', async () => {
    const first = engineOf(() => 'done')
    first.engine.steer('only once', 'a')
    await all(first.engine.submit('go'))
    const second = engineOf(() => 'done', { transcript: first.engine.transcript })
    second.engine.steer('only once', 'a')
    expect([second.engine.waiting, second.engine.steer('new')]).toEqual([[], 'message1'])
  })
})

test('does not pass submitted messages to a subagent', async () => {
  const agent = { ...reader('Task'), concurrencySafe: true, spawn: () => ({ prompt: 'a part of it' }) }
  const script = ({ messages }: { readonly messages: readonly { readonly content: unknown }[] }): ScriptedReply => {
    if (messages[0]?.content === 'a part of it') {
      going.loop.steer('for the main loop', 'a')
      return 'a part'
    }
    return messages.length === 1 ? calls('Task') : 'done'
  }
  const going = begin(script, { tools: [agent] })
  const { events } = await going.end()
  expect(takenMessages(events)).toEqual([['a', 'steer']])
  expect(takenMessages(events.flatMap((event) => (event.type === 'agent' ? [event.event] : [])))).toEqual([])
})
