// Holds rules of docs/spec: R-WORK-3, R-WORK-3a, R-LOAD-1 to R-LOAD-3
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlaceQueue } from '../../src/worker/place-queue.ts'
import { Places, type Ticket } from '../../src/worker/places.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the longest-waiting session of a tenant is next, and tenants take turns', () => {
  const queue = new PlaceQueue<{ group: string; sinceMs: number }>()
  for (let at = 0; at < 490; at++) queue.add({ group: 'many', sinceMs: at })
  // It came back from a rest, so it is older than the waiting ones.
  queue.add({ group: 'many', sinceMs: 100.5 })
  for (let at = 0; at < 3; at++) queue.add({ group: 'few', sinceMs: 1_000 + at })
  const order = Array.from({ length: 495 }, () => queue.next())
  expect(order.slice(0, 7).map((entry) => entry?.group)).toEqual(['many', 'few', 'many', 'few', 'many', 'few', 'many'])
  const many = order.filter((entry) => entry?.group === 'many').map((entry) => entry?.sinceMs)
  expect(many).toEqual(many.toSorted((a, b) => (a ?? 0) - (b ?? 0)))
  expect(order.at(-1)).toBeUndefined()
})

interface Waiting {
  readonly group: string
  readonly sinceMs: number
  readonly number: number
}

type Act = { readonly add: string; readonly sinceMs: number } | { readonly remove: number } | { readonly take: true }

/** Faults of a queue under these operations, in order. */
function problemsOf(acts: readonly Act[]): readonly string[] {
  const queue = new PlaceQueue<Waiting>()
  let waiting: readonly Waiting[] = []
  /** For each waiting group, which others got a place since its last one. */
  const passedBy = new Map<string, string[]>()
  const problems: string[] = []
  const demand = (holds: boolean, what: string): void => void (holds || problems.push(what))
  const removed = (entry: Waiting): void => void (waiting = waiting.filter((each) => each !== entry))
  const take = (): void => {
    const entry = queue.next()
    if (entry === undefined) return demand(waiting.length === 0, 'nobody is next')
    const mine = waiting.filter(({ group }) => group === entry.group)
    const [oldest] = mine.toSorted((one, other) => one.sinceMs - other.sinceMs || one.number - other.number)
    demand(entry === oldest, 'one of its group came before')
    removed(entry)
    passedBy.delete(entry.group)
    for (const group of new Set(waiting.map((each) => each.group))) {
      if (group === entry.group) continue
      const by = passedBy.get(group) ?? []
      demand(!by.includes(entry.group), `${entry.group} goes twice while ${group} waits`)
      passedBy.set(group, [...by, entry.group])
    }
  }
  for (const [number, act] of acts.entries()) {
    if ('add' in act) {
      const entry = { group: act.add, sinceMs: act.sinceMs, number }
      queue.add(entry)
      waiting = [...waiting, entry]
    } else if ('take' in act) take()
    else {
      const entry = waiting[act.remove]
      if (entry === undefined) continue
      demand(queue.remove(entry) && !queue.remove(entry), 'it leaves once')
      removed(entry)
    }
    for (const group of passedBy.keys()) if (!waiting.some((each) => each.group === group)) passedBy.delete(group)
    demand(queue.size === waiting.length && [...queue].length === waiting.length, 'it has those that wait')
  }
  return problems
}

test('no session is overtaken by a later one of its group, nor twice by another group', () => {
  const act = fc.oneof(
    fc.record({ add: fc.constantFrom('a', 'b', 'c'), sinceMs: fc.integer({ min: 0, max: 5 }) }),
    fc.record({ take: fc.constant(true as const) }),
    fc.record({ remove: fc.nat({ max: 20 }) }),
  )
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      expect(problemsOf(acts)).toEqual([])
    }),
  )
})

test('no slot is lost or granted twice, in any order of arrivals, departures, rests, work and hurries', async () => {
  const acts = fc.array(
    fc.record({
      act: fc.constantFrom('ask', 'leave', 'rest', 'work', 'hurry'),
      which: fc.nat({ max: 12 }),
      group: fc.constantFrom('a', 'b'),
    }),
    { maxLength: 50 },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), acts, async (most, steps) => {
      const places = new Places(most)
      const tickets: Ticket[] = []
      const hurried = new Set<Ticket>()
      let at = 0
      const leave = (ticket: Ticket | undefined): void => {
        if (ticket === undefined) return
        ticket.leave()
        // Calling it again has no effect.
        ticket.leave()
        tickets.splice(tickets.indexOf(ticket), 1)
        hurried.delete(ticket)
      }
      for (const { act, which, group } of steps) {
        const ticket = tickets[which]
        if (act === 'ask') {
          const asked = places.ask({ group, sinceMs: at++ })
          asked.next().catch(() => {})
          tickets.push(asked)
        } else if (act === 'leave') leave(ticket)
        else if (act === 'rest') ticket?.rests(() => queueMicrotask(() => leave(ticket)))
        else if (act === 'work') ticket?.works()
        else if (ticket !== undefined && !ticket.hasPlace) {
          ticket.hurry()
          hurried.add(ticket)
        }
        await settled()
        const taken = tickets.filter(({ hasPlace }) => hasPlace).length
        expect(places.taken).toBe(taken)
        expect(places.waiting).toBe(tickets.length - taken)
        expect(taken).toBeLessThanOrEqual(most + hurried.size)
        // No session waits next to a free place.
        expect(places.free === 0 || places.waiting === 0).toBe(true)
      }
      while (tickets.length > 0) leave(tickets[0])
      expect([places.free, places.waiting]).toEqual([most, 0])
    }),
    { numRuns: 60 },
  )
})

test('a session that stops waiting is rejected and gets no slot', async () => {
  const places = new Places(1)
  const [first, second] = [places.ask({ group: '', sinceMs: 1 }), places.ask({ group: '', sinceMs: 2 })]
  const waits = second.next()
  second.leave()
  await expect(waits).rejects.toThrow('leaves the session')
  await expect(second.next()).rejects.toThrow('leaves the session')
  first.leave()
  expect(places.free).toBe(1)
})

test('at most as many resting sessions release their slots as others wait', async () => {
  const places = new Places(3)
  const gaveUp: number[] = []
  const resting = [0, 1, 2].map((index) => {
    const ticket = places.ask({ group: '', sinceMs: index })
    ticket.rests(() => gaveUp.push(index))
    return ticket
  })
  const waits = places.ask({ group: '', sinceMs: 9 })
  expect(gaveUp).toEqual([0])
  resting[0]?.leave()
  expect(await waits.next()).toBe('granted')
  places.ask({ group: '', sinceMs: 10 })
  expect(gaveUp).toEqual([0, 1])
})

test('sessions are given away evenly over the queue, and the rest keep their order', async () => {
  const places = new Places(1)
  const first = places.ask({ group: 'a', sinceMs: 0 })
  const left: number[] = []
  const granted: number[] = []
  const waiting = Array.from({ length: 10 }, (_, index) => {
    const ticket = places.ask({ group: index % 2 === 0 ? 'a' : 'b', sinceMs: index })
    ticket.next().then(
      () => {
        granted.push(index)
        ticket.leave()
      },
      () => left.push(index),
    )
    return ticket
  })
  places.giveAway(4)
  await settled()
  expect(left).toEqual([0, 2, 5, 7])
  first.leave()
  for (let at = 0; at < 10; at++) await settled()
  expect(granted).toEqual([1, 4, 3, 6, 9, 8])
  places.giveAway(3)
  expect([waiting.length, places.free, places.waiting]).toEqual([10, 1, 0])
})
