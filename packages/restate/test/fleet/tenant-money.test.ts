// Holds rules of docs/spec: R-FUND-5, R-FUND-6, R-FUND-7: the money of a tenant, with sessions that wait for it, are killed, are late, and are removed.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  leaseId,
  TenantMoney,
  type LeaseAnswer,
  type LeaseAsk,
  type TenantBudget,
  type TenantLease,
  type Waiter,
} from '../../src/fleet/tenant-money.ts'

/** The state of the tenant's object. Each change starts from the stored state. */
class Stored {
  budget: TenantBudget | null = null
  queue: readonly Waiter[] | null = null
  readonly leases = new Map<string, TenantLease>()
  served: readonly string[] = []

  change<Answer>(
    of: readonly { readonly session: string; readonly began: string }[],
    how: (money: TenantMoney) => Answer,
  ): Answer {
    const money = new TenantMoney(this.budget, this.queue)
    const ids = new Set(of.map(leaseId))
    for (const id of ids) money.load(id, this.leases.get(id) ?? null)
    const answer = how(money)
    for (let missing = money.serve(); missing !== undefined; missing = money.serve()) {
      ids.add(missing)
      money.load(missing, this.leases.get(missing) ?? null)
    }
    // It is JSON.
    this.budget = JSON.parse(JSON.stringify(money.budget)) as TenantBudget
    this.queue = money.queue.length === 0 ? null : (JSON.parse(JSON.stringify(money.queue)) as readonly Waiter[])
    for (const id of ids) {
      const lease = money.leaseOf(id)
      if (lease === null) this.leases.delete(id)
      else this.leases.set(id, lease)
    }
    this.served = [...this.served, ...money.served.map(({ session }) => session)]
    return answer
  }

  ask(ask: LeaseAsk): LeaseAnswer {
    return this.change([ask], (money) => money.ask(ask))
  }
}

const leased = (session: string, began = 'inv') => ({ session, began })

/** A process that works at a session. */
class At {
  readonly #stored: Stored
  readonly name: string
  readonly process: string
  #sequence = 0

  constructor(stored: Stored, name: string, process = `process of ${name}`) {
    this.#stored = stored
    this.name = name
    this.process = process
  }

  #of() {
    return { ...leased(this.name), turn: 1, process: this.process, sequence: ++this.#sequence, isOpened: true as const }
  }

  open() {
    return this.#stored.ask({ ...this.#of(), kind: 'open' })
  }

  raise(nanos: number, leastNanos?: number, more: { chunkNanos?: number; isOver?: true } = {}) {
    return this.#stored.ask({
      ...this.#of(),
      kind: 'raise',
      nanos,
      ...(leastNanos !== undefined && { leastNanos }),
      ...more,
    })
  }

  join(nanos: number, leastNanos = nanos) {
    return this.#stored.ask({ ...this.#of(), kind: 'join', nanos, leastNanos, invocation: `inv of ${this.name}` })
  }

  leave() {
    return this.#stored.ask({ ...this.#of(), kind: 'leave' })
  }

  report(nanos: number, spent: number, { chunkNanos = 0 } = {}) {
    return this.#stored.ask({
      ...this.#of(),
      kind: 'report',
      nanos,
      spent: { nanos: spent, unknownNanos: 0 },
      chunkNanos,
    })
  }
}

function tenant(limitNanos: number | null, names: readonly string[]) {
  const stored = new Stored()
  stored.change([], (money) => money.setLimit(limitNanos))
  const sessions = names.map((name) => {
    stored.change([leased(name)], (money) => money.open(leased(name)))
    const at = new At(stored, name)
    at.open()
    return at
  })
  return { stored, sessions: sessions as [At, At, At, At] }
}

const has = (stored: Stored, name: string): number | undefined => stored.leases.get(leaseId(leased(name)))?.nanos

describe('a waiting session', () => {
  test('is served in order of arrival when money is returned', () => {
    const {
      stored,
      sessions: [a, b, c],
    } = tenant(100, ['a', 'b', 'c'])
    expect(a.raise(90, 50)).toMatchObject({ kind: 'has', nanos: 90 })
    expect(b.raise(40, 20)).toMatchObject({ kind: 'short', nanos: 0, reservedNanos: 90, holders: 1 })
    expect(b.join(40, 20)).toMatchObject({ kind: 'short', waiting: 1 })
    // It would fit, but b came first.
    expect(c.raise(10, 5)).toMatchObject({ kind: 'short' })
    expect(c.join(10, 5)).toMatchObject({ kind: 'short', waiting: 2 })
    expect(stored.served).toEqual([])
    a.report(10, 10)
    expect([stored.served, has(stored, 'b'), has(stored, 'c')]).toEqual([['b', 'c'], 40, 10])
    expect(b.raise(40, 20)).toMatchObject({ kind: 'has', nanos: 40, waiting: 0 })
  })

  test('gets what is left when everything else is settled, and is refused if that is too little', () => {
    const {
      stored,
      sessions: [a, b],
    } = tenant(100, ['a', 'b'])
    a.raise(90, 50)
    b.join(60, 30)
    a.report(60, 60)
    expect([stored.served, has(stored, 'b')]).toEqual([['b'], 40])
    const other = tenant(100, ['a', 'b'])
    other.sessions[0].raise(90, 50)
    other.sessions[1].join(60, 30)
    other.sessions[0].report(80, 80)
    expect([other.stored.served, has(other.stored, 'b')]).toEqual([['b'], 0])
    expect(other.sessions[1].raise(60, 30)).toMatchObject({ kind: 'refused', reservedNanos: 0, holders: 0 })
  })

  test('is served when the limit is raised, and refused when it is lowered too far', () => {
    const {
      stored,
      sessions: [a, b, c],
    } = tenant(100, ['a', 'b', 'c'])
    a.raise(90, 50)
    b.join(40, 30)
    c.join(80, 80)
    stored.change([], (money) => money.setLimit(130))
    expect([stored.served, has(stored, 'b')]).toEqual([['b'], 40])
    stored.change([], (money) => money.setLimit(70))
    expect([stored.served, has(stored, 'c'), has(stored, 'a')]).toEqual([['b', 'c'], 0, 90])
  })

  test('keeps its place and its grant, whatever it reports, until it asks or leaves', () => {
    const {
      stored,
      sessions: [a, b, c],
    } = tenant(100, ['a', 'b', 'c'])
    a.raise(100, 100)
    b.join(60)
    c.join(60)
    a.report(0, 0)
    expect(stored.served).toEqual(['b'])
    // Other money of b has come back; b does not know yet that it was served.
    b.report(0, 0)
    expect(has(stored, 'b')).toBe(60)
    c.report(0, 0)
    expect(stored.queue?.map(({ session }) => session)).toEqual(['c'])
    // It is interrupted.
    b.leave()
    b.report(0, 0)
    expect([has(stored, 'b'), has(stored, 'c')]).toEqual([0, 60])
  })

  test('is notified at once if it returns with its grant, even while others wait', () => {
    const {
      stored,
      sessions: [a, b, c],
    } = tenant(100, ['a', 'b', 'c'])
    a.raise(100, 100)
    b.join(60)
    c.join(60)
    a.report(0, 0)
    // The notified process is lost; the next one waits again.
    const next = new At(stored, 'b', 'another')
    next.open()
    next.join(60)
    expect([stored.served, stored.queue?.map(({ session }) => session)]).toEqual([['b', 'b'], ['c']])
    // It keeps its money meanwhile.
    next.report(0, 0)
    expect(has(stored, 'b')).toBe(60)
  })

  test('is refused if nothing was returned during its maximum wait, and otherwise keeps its place', () => {
    const {
      stored,
      sessions: [a, b, c],
    } = tenant(100, ['a', 'b', 'c'])
    a.raise(90, 90)
    b.join(50)
    c.join(40)
    a.report(80, 10)
    expect(b.raise(50, 50, { isOver: true })).toMatchObject({ kind: 'short' })
    expect(stored.queue?.map(({ session }) => session)).toEqual(['b', 'c'])
    expect(b.raise(50, 50, { isOver: true })).toMatchObject({ kind: 'refused', reservedNanos: 70, holders: 1 })
    expect(stored.queue?.map(({ session }) => session)).toEqual(['c'])
  })

  test('does not block a session that has enough', () => {
    const {
      sessions: [a, b],
    } = tenant(100, ['a', 'b'])
    a.raise(60, 60)
    b.join(60)
    expect(a.raise(60, 60)).toMatchObject({ kind: 'has', nanos: 60 })
    expect(a.raise(61, 61)).toMatchObject({ kind: 'short', nanos: 60 })
  })
})

test('a report never raises a lease', () => {
  const {
    stored,
    sessions: [a, b],
  } = tenant(100, ['a', 'b'])
  a.raise(90, 90)
  b.raise(10, 10)
  // It replays its record, where a request counts at its worst case for a moment.
  b.report(40, 5)
  expect([has(stored, 'b'), stored.budget?.leasedNanos]).toEqual([10, 100])
})

test('a session gets more than it needs only while nobody waits', () => {
  const {
    stored,
    sessions: [a, b, c],
  } = tenant(100, ['a', 'b', 'c'])
  expect(a.raise(30, 10, { chunkNanos: 20 }).nanos).toBe(50)
  expect(a.report(25, 5, { chunkNanos: 20 }).nanos).toBe(45)
  c.raise(55, 55)
  b.join(40)
  expect(a.report(25, 5, { chunkNanos: 20 }).nanos).toBe(25)
  expect(stored.served).toEqual([])
  expect(a.report(5, 5).nanos).toBe(5)
  expect([stored.served, has(stored, 'b')]).toEqual([['b'], 40])
})

describe('a late call', () => {
  test('of a process that no longer works at the session changes nothing', () => {
    const {
      stored,
      sessions: [a],
    } = tenant(100, ['a'])
    a.raise(50, 50)
    const next = new At(stored, 'a', 'another')
    expect(next.open()).toMatchObject({ kind: 'has', nanos: 50 })
    expect(next.raise(80, 80).nanos).toBe(80)
    const before = JSON.stringify([stored.budget, [...stored.leases]])
    expect(a.report(10, 10)).toMatchObject({ kind: 'superseded', nanos: 0 })
    expect(a.raise(90, 90)).toMatchObject({ kind: 'superseded' })
    expect(a.open()).toMatchObject({ kind: 'superseded' })
    expect(JSON.stringify([stored.budget, [...stored.leases]])).toBe(before)
  })

  test('of a removed or closed session changes nothing and leaves no key', () => {
    for (const end of ['close', 'drop'] as const) {
      const {
        stored,
        sessions: [a],
      } = tenant(100, ['a'])
      a.raise(50, 50)
      if (end === 'drop') {
        stored.change([leased('a')], (money) => money.release(leased('a'), 1, { nanos: 20, unknownNanos: 5 }))
        stored.change([leased('a')], (money) => money.drop(leased('a')))
      } else stored.change([leased('a')], (money) => money.close(leased('a'), { nanos: 20, unknownNanos: 5 }))
      expect([stored.leases.size, stored.budget]).toEqual([
        0,
        { limitNanos: 100, leasedNanos: 20, spentNanos: 20, unknownNanos: 5, holders: 0, reserving: 0, returns: 1 },
      ])
      const before = JSON.stringify(stored.budget)
      for (const late of [() => a.open(), () => a.raise(99, 99), () => a.join(99), () => a.report(0, 0)])
        expect(late()).toMatchObject({ kind: 'gone', nanos: 0 })
      stored.change([leased('a')], (money) =>
        money.release({ ...leased('a'), isOpened: true }, 1, { nanos: 99, unknownNanos: 0 }),
      )
      stored.change([leased('a')], (money) => money.close(leased('a'), { nanos: 99, unknownNanos: 0 }))
      expect([stored.leases.size, JSON.stringify(stored.budget)]).toEqual([0, before])
    }
  })

  test('of a session of an earlier version changes nothing, but its key stays', () => {
    const stored = new Stored()
    stored.change([], (money) => money.setLimit(100))
    const raise = (turn: number, nanos: number) =>
      stored.change([leased('old')], (money) => money.raise(leased('old'), turn, nanos))
    expect([raise(1, 60), raise(1, 500)]).toEqual([60, 100])
    stored.change([leased('old')], (money) => money.close(leased('old'), { nanos: 30, unknownNanos: 0 }))
    expect([raise(2, 90), stored.budget?.leasedNanos, stored.leases.size]).toEqual([30, 30, 1])
  })
})

// Checked after every step.

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

interface Session {
  readonly name: string
  began: number
  turn: number
  at: { process: string; sequence: number } | undefined
  /** What the process may spend in all, according to its last answer. */
  nanos: number
  spent: number
  /** The worst case of the open request, which is on record. */
  open: number
  /** The total that it waits for. */
  wants: { readonly nanos: number; readonly leastNanos: number } | undefined
  refused: number
}

const step = fc.record({
  session: fc.nat({ max: 4 }),
  /** The worst case of its next request, the least that is useful, and its actual cost. */
  worst: fc.integer({ min: 1, max: 60 }),
  least: fc.double({ min: 0, max: 1, noNaN: true }),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  act: fc.constantFrom(
    'asks',
    'asks',
    'asks',
    'ends',
    'ends',
    'killed',
    'rests',
    'removed',
    'interrupted',
    'raised',
    'lowered',
    'late',
    'ghost',
  ),
})

test('leases stay within the limit, the first waiting session is served when possible, nothing deadlocks, and all money is returned', () => {
  let everServed = 0
  let everRefused = 0
  let everLate = 0
  fc.assert(
    fc.property(
      fc.integer({ min: 30, max: 120 }),
      fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
      (firstLimit, steps) => {
        const stored = new Stored()
        let limit = firstLimit
        /** A lowered limit may be exceeded by earlier leases. */
        let most = limit
        stored.change([], (money) => money.setLimit(limit))
        const sessions: Session[] = [0, 1, 2, 3, 4].map((index) => ({
          name: `s${index}`,
          began: 0,
          turn: 1,
          at: undefined,
          nanos: 0,
          spent: 0,
          open: 0,
          wants: undefined,
          refused: 0,
        }))
        let processes = 0
        let settledOfGone = 0
        const ghosts: LeaseAsk[] = []
        const ofSession = (of: Session) => ({ session: of.name, began: `inv${of.began}` })
        const begin = (of: Session): void => {
          stored.change([ofSession(of)], (money) => money.open(ofSession(of)))
        }
        const ask = (of: Session, what: object): LeaseAnswer => {
          if (of.at === undefined) {
            of.at = { process: `p${++processes}`, sequence: 0 }
            const opening = {
              ...ofSession(of),
              turn: of.turn,
              isOpened: true,
              ...of.at,
              sequence: ++of.at.sequence,
              kind: 'open',
            } as const
            of.nanos = stored.ask(opening).nanos
            ghosts.push(opening)
          }
          const asked = {
            ...ofSession(of),
            turn: of.turn,
            isOpened: true,
            process: of.at.process,
            sequence: ++of.at.sequence,
            ...what,
          } as LeaseAsk
          ghosts.push(asked)
          const answer = stored.ask(asked)
          of.nanos = answer.nanos
          return answer
        }
        const tryToAsk = (of: Session): void => {
          if (of.wants === undefined) return
          const { nanos, leastNanos } = of.wants
          const answer = ask(of, { kind: 'raise', nanos, leastNanos, chunkNanos: 7 })
          if (answer.kind === 'short') {
            ask(of, { kind: 'join', nanos, leastNanos, invocation: 'inv' })
            return
          }
          if (answer.kind === 'has') {
            demand(answer.nanos >= leastNanos, 'A request was given less than it needs.')
            // The request is on record with its possible cost.
            of.open = Math.min(nanos, answer.nanos) - of.spent
          } else {
            of.refused++
            everRefused++
            // All that others have would be too little.
            const { limitNanos, spentNanos = 0 } = stored.budget ?? {}
            const own = Math.min(of.spent, stored.leases.get(leaseId(ofSession(of)))?.spentNanos ?? 0)
            demand((limitNanos ?? 0) - (spentNanos - own) < leastNanos, 'A request was refused that may fit.')
          }
          of.wants = undefined
        }
        const report = (of: Session): void => {
          ask(of, {
            kind: 'report',
            nanos: of.spent + of.open,
            spent: { nanos: of.spent, unknownNanos: 0 },
            chunkNanos: of.open > 0 ? 7 : 0,
          })
        }
        const finish = (of: Session, share: number): void => {
          of.spent += Math.floor(of.open * share)
          of.open = 0
          report(of)
        }
        const serveWoken = (): void => {
          for (const name of stored.served) {
            everServed++
            const of = sessions.find((each) => each.name === name)
            if (of !== undefined) tryToAsk(of)
          }
          if (stored.served.length === 0) return
          stored.served = []
        }
        const drain = (): void => {
          for (let rounds = 0; stored.served.length > 0 && rounds < 50; rounds++) {
            const woken = stored.served
            stored.served = []
            for (const name of woken) {
              everServed++
              const of = sessions.find((each) => each.name === name)
              if (of !== undefined) tryToAsk(of)
            }
          }
        }
        const look = (): void => {
          const { leasedNanos = 0, spentNanos = 0, holders = 0, reserving = 0, limitNanos } = stored.budget ?? {}
          demand(leasedNanos <= most, 'The limit is passed.')
          let leased = settledOfGone
          let committed = settledOfGone
          for (const of of sessions) {
            const lease = stored.leases.get(leaseId(ofSession(of)))
            leased += lease?.nanos ?? 0
            committed += of.spent + of.open
            // L1: possible charges are leased.
            demand((lease?.nanos ?? 0) >= of.spent + of.open, 'A session may be charged more than it has.')
            demand(of.at === undefined || of.nanos <= (lease?.nanos ?? 0), 'A process has more than the budget gave.')
          }
          demand(leased === leasedNanos && committed <= most, 'The sums are wrong.')
          const all = [...stored.leases.values()]
          demand(holders === all.filter(({ isHeld }) => isHeld).length, 'Holders are counted wrongly.')
          demand(
            reserving === all.filter((each) => each.nanos > each.spentNanos).length,
            'Reservations are counted wrongly.',
          )
          // M4: the first one waits only while others have more than they have spent.
          const [first] = stored.queue ?? []
          if (first === undefined) return
          const own = stored.leases.get(leaseId(first))
          const [has, spent] = [own?.nanos ?? 0, own?.spentNanos ?? 0]
          demand(leasedNanos - spentNanos > has - spent, 'It waits, and nobody has anything to give back.')
          const wanted = Math.min(first.nanos, (limitNanos ?? 0) - (spentNanos - spent))
          demand(wanted > has + Math.max(0, (limitNanos ?? 0) - leasedNanos), 'It waits, and there is enough.')
        }
        for (const of of sessions) begin(of)
        for (const { session, worst, least, share, act } of steps) {
          const of = sessions[session]!
          if (act === 'asks' && of.open === 0 && of.wants === undefined) {
            of.wants = { nanos: of.spent + worst, leastNanos: of.spent + Math.max(1, Math.floor(worst * least)) }
            tryToAsk(of)
          } else if (act === 'ends' && of.open > 0) finish(of, share)
          else if (act === 'killed') {
            // Open requests count at their worst case; a waiting session waits again in the next process.
            of.at = undefined
            of.spent += of.open
            of.open = 0
            tryToAsk(of)
            report(of)
          } else if (act === 'interrupted' && of.wants !== undefined) {
            of.wants = undefined
            ask(of, { kind: 'leave' })
            report(of)
          } else if (act === 'rests' && of.open === 0 && of.wants === undefined) {
            stored.change([ofSession(of)], (money) =>
              money.release({ ...ofSession(of), isOpened: true }, of.turn, { nanos: of.spent, unknownNanos: 0 }),
            )
            of.turn++
            of.at = undefined
          } else if (act === 'removed') {
            stored.change([ofSession(of)], (money) =>
              money.close(ofSession(of), { nanos: of.spent + of.open, unknownNanos: 0 }),
            )
            demand(!stored.leases.has(leaseId(ofSession(of))), 'A key of it stays.')
            // At a rest it has reported its spending.
            settledOfGone += of.spent + of.open
            Object.assign(of, {
              began: of.began + 1,
              turn: 1,
              at: undefined,
              nanos: 0,
              spent: 0,
              open: 0,
              wants: undefined,
            })
            begin(of)
          } else if (act === 'raised' || act === 'lowered') {
            limit = act === 'raised' ? limit + worst : Math.max(0, limit - worst)
            most = Math.max(limit, stored.budget?.leasedNanos ?? 0)
            stored.change([], (money) => money.setLimit(limit))
          } else if (act === 'late' || act === 'ghost') {
            // A repeated call changes nothing that any session has.
            const again = ghosts[Math.floor(share * (ghosts.length - 1))]
            if (again !== undefined) {
              const seen = (): string => JSON.stringify([stored.budget, [...stored.leases], stored.queue])
              const before = seen()
              const { kind } = stored.ask(again)
              demand(['late', 'superseded', 'gone'].includes(kind), `A call that came again was ${kind}.`)
              demand(seen() === before, 'A call that came again has changed something.')
              everLate++
            }
          }
          drain()
          serveWoken()
          look()
        }
        // All open requests end, one after another: every waiting session is served or refused, and all money is returned.
        for (
          let rounds = 0;
          rounds < 200 && sessions.some(({ open, wants }) => open > 0 || wants !== undefined);
          rounds++
        ) {
          const of = sessions.find(({ open }) => open > 0)
          // No deadlock: some session has an open request, or holds money that it will return.
          if (of !== undefined) finish(of, 0.5)
          else for (const each of sessions) if (each.wants === undefined) report(each)
          drain()
          look()
        }
        for (const of of sessions) {
          demand(of.open === 0 && of.wants === undefined, 'Somebody waits for ever.')
          report(of)
        }
        demand(stored.budget?.leasedNanos === stored.budget?.spentNanos, 'Something stays reserved.')
        demand(stored.queue === null, 'Somebody stays in the queue.')
      },
    ),
    { numRuns: 40 },
  )
  expect([everServed > 0, everRefused > 0, everLate > 0]).toEqual([true, true, true])
})
