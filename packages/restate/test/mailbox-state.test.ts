import { expect, test } from 'vitest'
import { begin, push, settle } from '../src/service/mailbox.ts'
import {
  isKnown,
  maxKnownNames,
  readMailbox,
  readWaitingAfter,
  writeMailbox,
  writePushOutcome,
  writeSettled,
} from '../src/service/mailbox-state.ts'
import type { SessionRequest } from '../src/service/messages.ts'
import { MemoryState } from './support/memory-state.ts'

/** The mailbox's handling of a request. */
async function ask(state: MemoryState, id: string, request: SessionRequest): Promise<boolean> {
  const pushed = push(await readMailbox(state), { id, request }, await isKnown(state, id))
  await writePushOutcome(state, id, pushed)
  return pushed.kind === 'new'
}

async function answer(state: MemoryState, upTo: number): Promise<void> {
  const before = await readMailbox(state)
  writeSettled(state, before, settle(before, upTo))
}

const prompt = (content: string): SessionRequest => ({ type: 'prompt', content })

test('an id counts once among the last five thousand, and the state stops growing', async () => {
  const state = new MemoryState()
  for (let number = 1; number <= maxKnownNames + 10; number++) {
    expect(await ask(state, `name ${number}`, prompt('go'))).toBe(true)
    await answer(state, number)
  }
  const storedKeys = state.values.size
  expect(await ask(state, `name ${maxKnownNames + 10}`, prompt('go'))).toBe(false)
  expect(await ask(state, 'name 11', prompt('go'))).toBe(false)
  // The ten oldest are forgotten.
  expect(await ask(state, 'name 10', prompt('go'))).toBe(true)
  await answer(state, maxKnownNames + 11)
  expect(state.values.size).toBe(storedKeys)
}, 60_000)

test('the cost of a request depends neither on known ids nor on waiting requests', async () => {
  const costOf = async (state: MemoryState): Promise<number> => {
    const before = state.readBytes + state.writtenBytes
    await ask(state, 'the one', prompt('go'))
    return state.readBytes + state.writtenBytes - before
  }
  const used = new MemoryState()
  for (let number = 1; number <= 1_000; number++) {
    await ask(used, `name ${number}`, prompt('x'.repeat(10_000)))
    if (number < 990) await answer(used, number)
  }
  expect(await costOf(used)).toBeLessThan((await costOf(new MemoryState())) + 1_000)
})

test('waiting requests are read in order, in answers that the engine accepts', async () => {
  const state = new MemoryState()
  const contents = Array.from({ length: 5 }, (_, index) => String(index).repeat(3_000_000))
  for (const [index, content] of contents.entries()) await ask(state, `name ${index}`, prompt(content))
  const mailbox = await readMailbox(state)
  const first = await readWaitingAfter(state, mailbox, 0)
  const second = await readWaitingAfter(state, mailbox, 2)
  const third = await readWaitingAfter(state, mailbox, 4)
  expect(
    [first, second, third].map(({ requests, hasMore }) => [requests.map(({ number }) => number), hasMore]),
  ).toEqual([
    [[1, 2], true],
    [[3, 4], true],
    [[5], false],
  ])
  expect(first.requests[1]).toEqual({ id: 'name 1', number: 2, request: prompt(contents[1] ?? '') })
})

test('settled requests are deleted, and later ones stay', async () => {
  const state = new MemoryState()
  await ask(state, 'first', prompt('one'))
  writeMailbox(state, { ...(await readMailbox(state)), worker: 'somebody' })
  await ask(state, 'second', { type: 'set', change: { limits: { maxTurns: 3 } } })
  await ask(state, 'third', prompt('three'))
  await answer(state, 2)
  const left = await readMailbox(state)
  expect(left).toEqual({ next: 4, waiting: [{ number: 3, type: 'prompt' }], worker: 'somebody' })
  expect((await readWaitingAfter(state, left, 0)).requests).toEqual([
    { id: 'third', number: 3, request: prompt('three') },
  ])
  expect([...state.values.keys()].filter((key) => key.startsWith('request/'))).toEqual(['request/3'])
})

test('a call that finds nothing, as after a removal, leaves no state', async () => {
  const state = new MemoryState()
  await ask(state, 'first', prompt('one'))
  state.values.clear()
  writeMailbox(state, begin(await readMailbox(state), 'called before'))
  expect(await ask(state, 'first', prompt('one'))).toBe(true)
  // The session is called again.
  expect(await readMailbox(state)).toMatchObject({ worker: null })
})
