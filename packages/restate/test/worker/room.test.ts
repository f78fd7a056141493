// Holds rules of docs/spec: R-WORK-3a, R-LOAD-1, R-LOAD-4, R-LOAD-5
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import {
  attempt,
  mailSignal,
  type AttemptOptions,
  type AttemptTurn,
  type AttemptContext,
} from '../../src/engine/attempt.ts'
import { Departure, LeftError } from '../../src/worker/departure.ts'
import { Places, type Ticket } from '../../src/worker/places.ts'
import { FakeInvocation } from '../support/fake-engine.ts'

const intent = (key: string): StepRecord => ({ type: 'intent', key, digest: null, intent: null, at: 1 })
const keysOf = ({ records }: AttemptContext): readonly string[] =>
  records.flatMap((record) => (record.type === 'intent' ? [record.key] : []))

/** Polls until it holds: an attempt takes some moments to act at a rest. */
async function when(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

function turnOf(ticket: Ticket): AttemptTurn {
  return {
    next: () => ticket.next(),
    hear: (message) => message === 'the end' && ticket.hurry(),
    hurry: () => ticket.hurry(),
    rests: (giveUp) => ticket.rests(giveUp),
    works: () => ticket.works(),
    leave: () => ticket.leave(),
  }
}

/** A session whose place is returned when its work is released. */
class Attempts {
  readonly places = new Places(1)
  readonly begun: (AttemptContext & { readonly heard: string[] })[] = []
  readonly invocation = new FakeInvocation()

  begin(more: Partial<AttemptOptions> = {}): Promise<unknown> {
    return attempt({
      engine: this.invocation.attempt(),
      mail: ['the prompt'],
      turn: () => turnOf(this.places.ask({ group: '', sinceMs: 1 })),
      begin: (found, turn) => {
        const heard: string[] = []
        found.gone.addEventListener('abort', () => turn?.leave())
        this.begun.push({ ...found, heard })
        return { deliver: (message) => heard.push(message), cancel() {}, run: () => new Promise(() => {}) }
      },
      ...more,
    })
  }
}

test('a resting session releases its slot to a waiting one, and resumes from its records when a message arrives', async () => {
  const attempts = new Attempts()
  const { begun, places, invocation } = attempts
  const first = attempts.begin()
  await when(() => begun.length === 1)
  begun[0]?.log.append(intent('a'))
  begun[0]?.log.rests(null)
  await new Promise((resolve) => setTimeout(resolve, 300))
  // No other session wants the place, so it stays.
  expect(begun[0]?.gone.aborted).toBe(false)
  const other = places.ask({ group: '', sinceMs: 2 })
  expect(await other.next()).toBe('granted')
  expect(begun[0]?.gone.aborted).toBe(true)
  expect(() => begun[0]?.log.append(intent('b'))).toThrow('elsewhere')

  // It waits for its turn like others.
  invocation.signal(mailSignal, 'the answer')
  await when(() => places.waiting === 1)
  expect(begun).toHaveLength(1)
  other.leave()
  await when(() => begun.length === 2 && begun[1]?.heard.length === 2)
  expect(begun.map(keysOf)).toEqual([[], ['a']])
  expect(begun[1]?.heard).toEqual(['the prompt', 'the answer'])
  begun[1]?.log.append(intent('c'))
  begun[1]?.log.finish('done')
  expect(await first).toBe('done')
  // Another attempt makes the same calls to the engine.
  expect(await attempts.begin()).toBe('done')
  expect(begun).toHaveLength(2)
})

test('a session that waits for its turn begins and writes nothing, and a request that ends it is handled at once', async () => {
  const attempts = new Attempts()
  const { begun, places, invocation } = attempts
  places.ask({ group: '', sinceMs: 0 })
  void attempts.begin()
  await when(() => places.waiting === 1)
  invocation.signal(mailSignal, 'a steer')
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(begun).toEqual([])
  expect(invocation.kept).toEqual(['a steer'])
  invocation.signal(mailSignal, 'the end')
  await when(() => begun.length === 1)
  expect(begun[0]?.heard).toEqual(['the prompt', 'a steer', 'the end'])
})

test('an ending process leaves a waiting session at once, and its turn goes to the next', async () => {
  const attempts = new Attempts()
  const { places, begun } = attempts
  const place = places.ask({ group: '', sinceMs: 0 })
  const departure = new Departure()
  const left = attempts.begin({ departure })
  await when(() => places.waiting === 1)
  departure.begin()
  await expect(left).rejects.toThrow(LeftError)
  expect(places.waiting).toBe(0)
  place.leave()
  expect(places.free).toBe(1)
  expect(begun).toEqual([])
})
