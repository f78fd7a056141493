// Holds rules of docs/spec: R-CLU-10, R-CLU-10a.
// The promises of the mailbox, M1 to M4 (packages/restate/src/service/mailbox.ts), under random histories: requests that are repeated, in any order, invocations that
// begin again after a crash, and work that ends while requests arrive.
import { array, assert, constant, constantFrom, integer, oneof, property, record, type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import { begin, emptyMailbox, listen, push, settle, wake, type Mailbox } from '../../src/service/mailbox.ts'
import { whenIdle, type NumberedRequest, type SessionRequest } from '../../src/service/messages.ts'

const requests: readonly SessionRequest[] = [
  { type: 'prompt', content: 'hello' },
  { type: 'set', change: {} },
  { type: 'stop' },
  { type: 'interrupt' },
  { type: 'answer', callId: 'c', answer: { behavior: 'allow' } },
  { type: 'approve', approvals: {} },
  { type: 'resume' },
  { type: 'close' },
]

type Event =
  | { readonly type: 'push'; readonly id: string; readonly request: SessionRequest }
  /** The called invocation begins, or begins again. */
  | { readonly type: 'begin' }
  /** Everything that it received is done. */
  | { readonly type: 'settle' }

const event: Arbitrary<Event> = oneof(
  {
    weight: 4,
    arbitrary: record({
      type: constant('push' as const),
      id: integer({ min: 0, max: 12 }).map((number) => `r${number}`),
      // Closing is rare, otherwise nothing else would happen.
      request: oneof(
        { weight: 20, arbitrary: constantFrom(...requests.slice(0, -1)) },
        { weight: 1, arbitrary: constant<SessionRequest>({ type: 'close' }) },
      ),
    }),
  },
  { weight: 2, arbitrary: constant<Event>({ type: 'begin' }) },
  { weight: 2, arbitrary: constant<Event>({ type: 'settle' }) },
)

/** The mailbox with the invocation that works for it, and what that received, in order. */
class World {
  mailbox: Mailbox = emptyMailbox
  /** Invocations that were called and have not ended. */
  called = 0
  invocation = 0
  heard: NumberedRequest[] = []
  readonly names = new Set<string>()
  /** Requests that are stored separately: accepted and not settled. */
  waiting: readonly NumberedRequest[] = []
  readonly done = new Set<string>()
  wasClosed = false
  readonly tookAfterClose: string[] = []

  get kept(): NumberedRequest[] {
    const numbers = new Set(this.mailbox.waiting.map(({ number }) => number))
    return this.waiting.filter(({ number }) => numbers.has(number))
  }

  apply(one: Event): void {
    if (one.type === 'push') this.#push(one.id, one.request)
    else if (one.type === 'begin') this.#begin()
    else this.#settle()
  }

  #push(id: string, request: SessionRequest): void {
    const pushed = push(this.mailbox, { id, request }, this.names.has(id))
    const { kind } = pushed
    if (this.wasClosed && kind !== 'again' && kind !== 'closed') this.tookAfterClose.push(id)
    if (kind === 'again' || kind === 'closed') return
    this.mailbox = pushed.mailbox
    this.names.add(id)
    if (request.type === 'close') this.wasClosed = true
    if (kind === 'moot') return
    if (pushed.call) this.called++
    this.waiting = [...this.waiting, pushed.request]
    // A working invocation receives it at once.
    if (typeof this.mailbox.worker === 'string') this.heard.push(pushed.request)
  }

  #begin(): void {
    if (this.called === 0) return
    this.invocation++
    this.mailbox = begin(this.mailbox, `i${this.invocation}`)
    this.heard = this.kept
  }

  #settle(): void {
    if (typeof this.mailbox.worker !== 'string' || this.heard.length === 0) return
    for (const { id } of this.heard) this.done.add(id)
    this.mailbox = settle(this.mailbox, this.heard.at(-1)?.number ?? 0)
    this.heard = this.mailbox.worker === undefined ? [] : this.kept
    if (this.mailbox.worker === undefined) this.called--
  }
}

test('an id counts once, waiting requests are processed, numbers increase by one, and nothing is accepted after close', () => {
  assert(
    property(array(event, { maxLength: 60 }), (events) => {
      const world = new World()
      let { next: before } = emptyMailbox
      for (const one of events) {
        world.apply(one)
        const { waiting, next, worker } = world.mailbox
        // M1: as many numbers as ids.
        expect(next - 1).toBe(world.names.size)
        // M2: exactly one invocation while work is needed.
        expect(world.called).toBe(worker === undefined ? 0 : 1)
        expect(worker !== undefined || waiting.every(({ type }) => whenIdle({ type }) === 'waits')).toBe(true)
        // M3
        expect([0, 1]).toContain(next - before)
        expect(waiting.map(({ number }) => number)).toEqual(
          waiting.map(({ number }) => number).toSorted((one, other) => one - other),
        )
        before = next
      }
      // M4
      expect(world.tookAfterClose).toEqual([])
      // Nothing is lost: when the work has ended, it has received every request with an effect.
      for (let left = 3; left > 0; left--) {
        world.apply({ type: 'begin' })
        world.apply({ type: 'settle' })
      }
      expect(world.mailbox.worker).toBe(undefined)
      const kept = new Set(world.kept.map(({ id }) => id))
      const lost = world.waiting.filter(({ id }) => !world.done.has(id) && !kept.has(id))
      // Requests meant for a run that was over by then.
      expect(lost.filter(({ request }) => whenIdle(request) !== 'moot')).toEqual([])
    }),
  )
})

const working = (): Mailbox => {
  const pushed = push(emptyMailbox, { id: 'p', request: { type: 'prompt', content: 'hello' } }, false)
  return 'mailbox' in pushed ? begin(pushed.mailbox, 'i') : emptyMailbox
}

test('a stop for an earlier run does not stop a later one', () => {
  const stopped = push(working(), { id: 's', request: { type: 'stop' } }, false)
  expect(stopped).toMatchObject({ kind: 'new', number: 2 })
  expect('mailbox' in stopped && settle(stopped.mailbox, 1)).toEqual({ next: 3, waiting: [] })
})

test('a request without effect has no effect later under the same id', () => {
  const moot = push(emptyMailbox, { id: 's', request: { type: 'interrupt' } }, false)
  expect(moot).toEqual({ kind: 'moot', mailbox: { next: 2, waiting: [] }, number: 1 })
  expect(push(working(), { id: 's', request: { type: 'interrupt' } }, true)).toEqual({ kind: 'again' })
})

test('a waiting caller is woken once', () => {
  const waiting = listen(listen(emptyMailbox, 'a'), 'b')
  expect(wake(waiting)).toEqual({ mailbox: emptyMailbox, listeners: ['a', 'b'] })
  expect(wake(emptyMailbox).listeners).toEqual([])
})
