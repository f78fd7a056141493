// Holds rules of docs/spec: R-FUND-5 to R-FUND-6b: sessions that wait for the money of their tenant in processes that are killed, that release them at rest, and that
// are notified of money before they wait for it. The budget, its desks and its leases are real; the records, the messages and the processes are a model.
import type { ObjectContext } from '@restatedev/restate-sdk'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { budgetDefinition, type BudgetHandlers, type BudgetStatus } from '../../src/fleet/budget-service.ts'
import { LeaseDesk } from '../../src/fleet/lease-desk.ts'
import { TenantLease } from '../../src/fleet/tenant-lease.ts'
import { MemoryState } from '../support/memory-state.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Handler = (context: ObjectContext, input: unknown) => Promise<unknown>

/** The budget of a tenant behind an ingress with late answers. Its messages to sessions go to `tell`. */
function budgetOf(tell: (invocation: string) => void, lateMs: () => number) {
  const state = new MemoryState()
  const invocation = (id: string) => ({ signal: () => ({ resolve: () => tell(id) }) })
  const context = Object.assign(state, { invocation }) as unknown as ObjectContext
  // Handlers of a budget use nothing else.
  const { object } = budgetDefinition() as unknown as { readonly object: Readonly<Record<string, Handler>> }
  let last: Promise<unknown> = Promise.resolve()
  const call = (name: keyof BudgetHandlers, input?: unknown): Promise<unknown> => {
    const made = last.then(() => object[name]?.(context, input))
    last = made.catch(() => {})
    return made
  }
  const fake: typeof fetch = async (input, init) => {
    const name = (input as URL).pathname.split('/').at(-1) as 'ask'
    await new Promise((resolve) => setTimeout(resolve, lateMs()))
    // A call that was cancelled before it arrived is not handled; the budget answers all others, whether or not anyone listens.
    init?.signal?.throwIfAborted()
    const answer = await call(name, JSON.parse(init?.body as string))
    await new Promise((resolve) => setTimeout(resolve, lateMs()))
    init?.signal?.throwIfAborted()
    return Response.json(answer)
  }
  return { call, ingress: { url: 'http://engine', fetch: fake } }
}

const worst = 40
const cost = 3

/** The recorded state of a request, and the process in which it continues. */
class Request {
  state: 'asks' | 'waits' | 'runs' | 'over' = 'asks'
}

/** A session as its records and the engine have it. */
class Session {
  readonly name: string
  readonly #desks: readonly LeaseDesk[]
  /** How long after a rest its place is needed. */
  readonly #letGoMs: number
  /** Subagents make requests concurrently. */
  readonly lanes: Request[][]
  turn = 1
  spent = 0
  refused = 0
  #gone: AbortController | undefined
  #lease: TenantLease | undefined
  #holds = 0
  #isAtRest = false
  /** Messages that arrived before the work began in this process. */
  #heard = 0
  began = 0
  letGos = 0

  constructor(
    name: string,
    { desks, letGoMs }: { desks: readonly LeaseDesk[]; letGoMs: number },
    lanes: readonly number[],
  ) {
    this.name = name
    this.#desks = desks
    this.#letGoMs = letGoMs
    this.lanes = lanes.map((requests) => Array.from({ length: requests }, () => new Request()))
  }

  get isOver(): boolean {
    return this.lanes.every((lane) => lane.every(({ state }) => state === 'over'))
  }

  get #identity() {
    return { session: this.name, began: 'inv', turn: this.turn, isOpened: true as const }
  }

  /** The possible cost of open requests on record, and what was spent. */
  get committed(): number {
    const open = this.lanes.flat().filter(({ state }) => state === 'runs').length
    return this.spent + open * worst
  }

  async begin(): Promise<void> {
    const gone = new AbortController()
    this.#gone = gone
    this.#holds = 0
    this.#isAtRest = false
    this.began++
    // Open requests count at their worst case.
    for (const request of this.lanes.flat()) {
      if (request.state !== 'runs') continue
      request.state = 'over'
      this.spent += worst
    }
    const committed = { nanos: this.spent, unknownNanos: 0 }
    const log = {
      flush: () => undefined,
      batches: 0,
      confirmed: () => Promise.resolve(),
      hold: () => {
        this.#holds++
        let isOver = false
        return () => {
          if (!isOver && this.#gone === gone) this.#holds--
          isOver = true
        }
      },
    }
    const desk = this.#desks[this.began % this.#desks.length]!
    const how = { desk, committed, log, gone: gone.signal, invocation: this.name, chunkUsd: 5e-9 }
    const lease = await TenantLease.open({ ...this.#identity, ...how }).catch(() => undefined)
    if (lease === undefined || gone.signal.aborted) return
    this.#lease = lease
    // Earlier messages are delivered before anything waits.
    for (; this.#heard > 0; this.#heard--) lease.wakeWaiters()
    await Promise.all(this.lanes.map((lane) => this.#run(lane, lease, gone.signal))).catch(() => {})
  }

  async #run(lane: readonly Request[], lease: TenantLease, gone: AbortSignal): Promise<void> {
    const pass = async (ms: number): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, ms))
      gone.throwIfAborted()
    }
    for (const request of lane) {
      let leave = (): void => {}
      while (request.state !== 'over') {
        // A resumed run replays its record first.
        await pass(3)
        if (request.state === 'asks') {
          const wanted = (this.committed + worst) / 1e9
          const hasEnough = (): boolean => Math.round(lease.usd * 1e9) >= this.committed + worst
          const short = hasEnough() ? undefined : await lease.growTo(wanted, { signal: gone, leastUsd: wanted })
          gone.throwIfAborted()
          if (short === undefined && hasEnough()) request.state = 'runs'
          else if (short?.mayComeBack === false) {
            request.state = 'over'
            this.refused++
          } else if (short !== undefined) request.state = 'waits'
        }
        if (request.state === 'waits') {
          await pass(1)
          const wanted = { usd: (this.committed + worst) / 1e9, leastUsd: (this.committed + worst) / 1e9 }
          const before = leave
          let onGone = (): void => {}
          await new Promise<void>((resolve, reject) => {
            leave = lease.wait?.(wanted, resolve) ?? leave
            before()
            onGone = () => reject(new Error('gone'))
            gone.addEventListener('abort', onGone)
            this.#lookForRest()
          })
          gone.removeEventListener('abort', onGone)
          this.#isAtRest = false
          request.state = 'asks'
        }
        if (request.state === 'runs') {
          await pass(20)
          request.state = 'over'
          this.spent += cost
          this.#tell(lease)
        }
      }
      leave()
      this.#tell(lease)
    }
  }

  #tell(lease: TenantLease): void {
    const [committed, spent] = [() => this.committed, () => this.spent]
    lease.uses({
      get usd() {
        return committed() / 1e9
      },
      get settledUsd() {
        return spent() / 1e9
      },
      unknownUsd: 0,
    })
  }

  #lookForRest(): void {
    const isResting = this.lanes.every((lane) => {
      const next = lane.find(({ state }) => state !== 'over')
      return next === undefined || next.state === 'waits'
    })
    this.#isAtRest = isResting && !this.isOver
    if (this.#isAtRest) setTimeout(() => this.#letGo(), this.#letGoMs)
  }

  /** The process dies, or the engine continues the session elsewhere. */
  kill(): void {
    this.#end()
    void this.begin()
  }

  /** Others need its place. It begins anew when a message arrives. */
  #letGo(): void {
    if (!this.#isAtRest || this.#lease === undefined) return
    if (this.#holds > 0) {
      setTimeout(() => this.#letGo(), 1)
      return
    }
    this.letGos++
    this.#end()
  }

  #end(): void {
    this.#gone?.abort()
    this.#gone = undefined
    this.#lease = undefined
    this.#isAtRest = false
  }

  tell(): void {
    if (this.#lease !== undefined) {
      this.#lease.wakeWaiters()
      return
    }
    this.#heard++
    if (this.#gone === undefined) void this.begin()
  }

  release(): { session: string; began: string; turn: number; nanos: number; unknownNanos: number } {
    this.#end()
    const { isOpened: _, ...leased } = this.#identity
    return { ...leased, nanos: this.spent, unknownNanos: 0 }
  }
}

const act = fc.record({
  session: fc.nat({ max: 5 }),
  afterMs: fc.integer({ min: 1, max: 60 }),
  isKilled: fc.boolean(),
})

test('every request is served, the limit holds and all money is returned, whatever happens to processes', async () => {
  let everLetGo = 0
  let notifiedInAll = 0
  const lateness = fc.array(fc.integer({ min: 0, max: 250 }), { minLength: 1, maxLength: 5 })
  const lanes = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(lanes, { minLength: 6, maxLength: 6 }),
      fc.array(act, { maxLength: 12, size: 'max' }),
      lateness,
      fc.integer({ min: 0, max: 60 }),
      async (all, acts, late, letGoMs) => {
        const kills = acts.filter(({ isKilled }) => isKilled).length
        const requests = all.flat().reduce((sum, each) => sum + each, 0)
        // Total cost, including the unknown part of killed requests, leaves enough for two more requests.
        const limit = requests * cost + kills * 2 * worst + 2 * worst
        let calls = 0
        const sessions: Session[] = []
        const tell = (invocation: string): void => {
          notifiedInAll++
          const session = sessions.find(({ name }) => name === invocation)
          setTimeout(() => session?.tell(), late[calls % late.length])
        }
        const { call, ingress } = budgetOf(tell, () => late[calls++ % late.length] ?? 0)
        await call('setLimit', limit / 1e9)
        const desks = [new LeaseDesk(ingress, 't'), new LeaseDesk(ingress, 't')]
        for (const [index, of] of all.entries()) {
          const session = new Session(`s${index}`, { desks, letGoMs }, of)
          sessions.push(session)
          await call('open', { session: session.name, began: 'inv' })
        }
        const look = async (): Promise<void> => {
          const { leasedUsd } = (await call('status')) as BudgetStatus
          if (Math.round(leasedUsd * 1e9) > limit) throw new Error('The limit is passed.')
          const committed = sessions.reduce((sum, each) => sum + each.committed, 0)
          if (committed > Math.round(leasedUsd * 1e9)) throw new Error('More may be spent than is leased.')
        }
        for (const session of sessions) void session.begin()
        for (const { session: index, afterMs, isKilled } of acts) {
          await vi.advanceTimersByTimeAsync(afterMs)
          await new Promise(setImmediate)
          const session = sessions[index]!
          if (isKilled && !session.isOver) session.kill()
          await look()
        }
        for (let rounds = 0; rounds < 600 && sessions.some(({ isOver }) => !isOver); rounds++) {
          await vi.advanceTimersByTimeAsync(50)
          await new Promise(setImmediate)
          if (rounds % 10 === 0) await look()
        }
        everLetGo += sessions.reduce((sum, { letGos }) => sum + letGos, 0)
        const stuck = sessions.filter(({ isOver }) => !isOver)
        const waiters = await call('waiters')
        expect({
          stuck: stuck.map(({ name }) => name),
          refused: sessions.map(({ refused }) => refused),
          waiters,
        }).toEqual({ stuck: [], refused: sessions.map(() => 0), waiters: [] })
        await vi.advanceTimersByTimeAsync(2_000)
        for (const session of sessions) await call('release', session.release())
        const end = (await call('status')) as BudgetStatus
        expect([end.reservedUsd, end.holders, end.waiting]).toEqual([0, 0, 0])
        expect(Math.round(end.settledUsd * 1e9)).toBe(sessions.reduce((sum, { spent }) => sum + spent, 0))
      },
    ),
    { numRuns: 6 },
  )
  expect([everLetGo > 0, notifiedInAll > 0]).toEqual([true, true])
})
