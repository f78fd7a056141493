import {
  leftOfBudget,
  maxNanos,
  newBudget,
  noLease,
  type Lease,
  type SharedBudget,
  type Spent,
} from '@halting/core/adapters'

// The money of one tenant: its budget, the leases of its sessions, and the sessions that wait for money. No engine, no clock. Amounts are whole nano-dollars.

/** Identifies a session among those that have had the same name. */
export type LeasedSession = {
  readonly session: string
  /** Invocation in which it received its tenant; unique among sessions of the same name. */
  readonly began: string
}

export const leaseId = ({ session, began }: LeasedSession): string => `${began}/${session}`

/** A budget, as it is stored. */
export interface TenantBudget extends SharedBudget {
  /** Sessions that have leased more than they spent. Absent in state of earlier versions: then it is `holders`. */
  readonly reserving?: number
  /** How often money was returned, or the limit was raised. */
  readonly returns?: number
  /** Number of waiting sessions. Absent for none. */
  readonly waiting?: number
}

/** A lease, as it is stored. */
export interface TenantLease extends Lease {
  /** Whether the object of the session created the lease; otherwise calls in the name of the session are late. Absent for sessions of earlier versions. */
  readonly isOpened?: true
  /** The process that works at the session, and those before it. */
  readonly process?: string
  readonly past?: readonly string[]
  /** Number of the last call of that process. */
  readonly sequence?: number
  /** Money granted while it waited, which it has not requested since. */
  readonly grantedNanos?: number
}

/** A session that waits for money, in order of arrival. */
export type Waiter = LeasedSession & {
  /** The invocation to notify when there is enough. */
  readonly invocation: string
  /** The total lease that it wants, and the least that is useful. */
  readonly nanos: number
  readonly leastNanos: number
  /** The value of `returns` of the budget at the last check for returned money. */
  readonly returns: number
}

/** What a process requests for one session. */
export type LeaseAsk = LeasedSession & {
  /** Turn of the work at the session: the number of the first request of that work. */
  readonly turn: number
  readonly process: string
  /** Increases with each call of the process for the session. */
  readonly sequence: number
  /** Whether the object of the session created the lease. */
  readonly isOpened?: true
} & (
    | { readonly kind: 'open' }
    /** The session no longer waits. */
    | { readonly kind: 'leave' }
    | {
        readonly kind: 'raise'
        readonly nanos: number
        /** The least that is useful. Absent: whatever is available. */
        readonly leastNanos?: number
        /** Additional money to take if no other session waits. */
        readonly chunkNanos?: number
        /** Whether the session has waited for as long as it may. */
        readonly isOver?: true
      }
    | { readonly kind: 'join'; readonly nanos: number; readonly leastNanos: number; readonly invocation: string }
    | {
        readonly kind: 'report'
        /** What it has spent, plus what open requests may cost. */
        readonly nanos: number
        readonly spent: Spent
        readonly chunkNanos?: number
      }
  )

/** The budget's answer. */
export interface LeaseAnswer {
  /**
   * `has`: `nanos` is what was requested, or all that is possible. `short`: money that others have reserved may come back. `refused`: it could never be enough. `superseded`:
   * another process works at the session. `late`: a later call was handled before. `gone`: the session no longer exists.
   */
  readonly kind: 'has' | 'short' | 'refused' | 'superseded' | 'late' | 'gone'
  /** What the session may spend in all. */
  readonly nanos: number
  /** What others have reserved and not spent, and how many sessions they are. */
  readonly reservedNanos: number
  readonly holders: number
  /** Waiting sessions, including this one. */
  readonly waiting: number
}

/** Maximum number of past processes that are remembered for each session. */
const maxPastProcesses = 8
/** A turn number that is greater than that of any real turn of a session. */
const lastTurn = Number.MAX_SAFE_INTEGER

/**
 * The arithmetic of a tenant's money.
 * M1: the sum of all leases exceeds no limit, unless it was lowered or a service billed more than allowed.
 * M2: a repeated or outdated call changes nothing, and a call of a process that no longer works at its session returns nothing.
 * M3: waiting sessions are served in order of arrival, and no session receives what an earlier one waits for.
 * M4: the first one waits only while others have more than they have spent.
 * M5: what was granted to a waiting session stays with it until it asks again or leaves; its reports change neither that nor its place.
 */
export class TenantMoney {
  #budget: TenantBudget
  #queue: readonly Waiter[]
  /** Leases by their ids; null for none. */
  readonly #leases = new Map<string, TenantLease | null>()
  readonly #served: Waiter[] = []

  constructor(budget: TenantBudget | null, queue: readonly Waiter[] | null) {
    this.#budget = budget ?? newBudget
    this.#queue = queue ?? []
  }

  get budget(): TenantBudget {
    return this.#budget
  }

  get queue(): readonly Waiter[] {
    return this.#queue
  }

  /** Sessions whose wait is over: they are notified to ask again. */
  get served(): readonly Waiter[] {
    return this.#served
  }

  /** Adds a lease that is about to change. */
  load(id: string, lease: TenantLease | null): void {
    this.#leases.set(id, lease)
  }

  lease(leased: LeasedSession): TenantLease | null {
    return this.leaseOf(leaseId(leased))
  }

  leaseOf(id: string): TenantLease | null {
    return this.#leases.get(id) ?? null
  }

  setLimit(limitNanos: number | null): void {
    const isRaised = (limitNanos ?? maxNanos) > (this.#budget.limitNanos ?? maxNanos)
    this.#budget = { ...this.#budget, limitNanos, ...(isRaised && this.#oneMoreReturn) }
  }

  /** Begins the lease of a session that now exists. */
  open(leased: LeasedSession): void {
    if (this.lease(leased) === null) this.#leases.set(leaseId(leased), { ...noLease, isOpened: true })
  }

  ask(ask: LeaseAsk): LeaseAnswer {
    const found = this.lease(ask)
    if (found === null && ask.isOpened === true) return this.#answer(ask, 'gone')
    const lease: TenantLease = found ?? noLease
    if (isLate(lease, ask.turn)) return this.#answer(ask, 'gone')
    const { process, sequence } = ask
    if (ask.kind === 'open') return this.#answer(ask, this.#begin(ask, lease))
    if (lease.process !== process) return this.#answer(ask, 'superseded')
    if (sequence <= (lease.sequence ?? 0)) return this.#answer(ask, 'late')
    const current = { ...lease, sequence }
    if (ask.kind === 'raise') return this.#answer(ask, this.#raise(ask, current))
    if (ask.kind === 'join') return this.#answer(ask, this.#join(ask, current))
    if (ask.kind === 'leave') return this.#answer(ask, this.#withdraw(ask, current))
    this.#report(ask, current)
    return this.#answer(ask, 'has')
  }

  #begin(ask: LeaseAsk, lease: TenantLease): LeaseAnswer['kind'] {
    const { process, sequence, turn } = ask
    if (lease.past?.includes(process) === true) return 'superseded'
    // The call is a repetition.
    if (lease.process === process && lease.turn === turn) return 'late'
    const past = lease.process === undefined ? [] : [...(lease.past ?? []), lease.process].slice(-maxPastProcesses)
    this.#write(ask, { ...lease, turn, isHeld: true, process, sequence, ...(past.length > 0 && { past }) })
    return 'has'
  }

  #raise(
    ask: Extract<LeaseAsk, { readonly kind: 'raise' }>,
    { grantedNanos: _claimed, ...lease }: TenantLease,
  ): LeaseAnswer['kind'] {
    const { nanos, leastNanos, chunkNanos = 0, isOver } = ask
    const left = this.#isBehind(ask) ? 0 : leftOfBudget(this.#budget)
    const grow = (wanted: number): void => this.#write(ask, { ...lease, nanos: Math.max(lease.nanos, wanted) })
    if (leastNanos === undefined) {
      grow(Math.min(nanos, lease.nanos + left))
      return 'has'
    }
    const wanted = Math.min(nanos, this.#maxOf(lease))
    const isEnough = wanted >= leastNanos && wanted <= lease.nanos + left
    if (isEnough) {
      // No other session waits for the additional money.
      const more = wanted < nanos || this.#queue.length > 0 ? 0 : chunkNanos
      grow(Math.min(wanted + more, lease.nanos + left))
      return 'has'
    }
    grow(0)
    const own = this.#placeOf(ask)
    if (wanted < leastNanos) return 'refused'
    if (isOver !== true || own === undefined) return 'short'
    const returns = this.#budget.returns ?? 0
    if (own.returns === returns) this.#leave(ask)
    else this.#place({ ...own, returns })
    return own.returns === returns ? 'refused' : 'short'
  }

  /** Takes a place in the queue. The session is notified when its turn has come, even if that is at once. */
  #join(
    { session, began, nanos, leastNanos, invocation }: Extract<LeaseAsk, { readonly kind: 'join' }>,
    { grantedNanos: _claimed, ...lease }: TenantLease,
  ): LeaseAnswer['kind'] {
    const leased = { session, began }
    const returns = this.#placeOf(leased)?.returns ?? this.#budget.returns ?? 0
    const waiter = { ...leased, invocation, nanos, leastNanos, returns }
    const wanted = Math.min(nanos, this.#maxOf(lease))
    // It was served, and the process that continues it does not know; or the money will never be enough.
    if (wanted <= lease.nanos || wanted < leastNanos) {
      this.#leave(leased)
      this.#write(leased, wanted >= leastNanos ? { ...lease, grantedNanos: wanted } : lease)
      this.#served.push(waiter)
      return 'short'
    }
    this.#write(leased, lease)
    this.#place(waiter)
    return 'short'
  }

  #withdraw(leased: LeasedSession, { grantedNanos: _claimed, ...lease }: TenantLease): LeaseAnswer['kind'] {
    this.#leave(leased)
    this.#write(leased, lease)
    return 'has'
  }

  #report(ask: Extract<LeaseAsk, { readonly kind: 'report' }>, lease: TenantLease): void {
    const { nanos, spent, chunkNanos = 0 } = ask
    const least = Math.max(nanos, spent.nanos, lease.grantedNanos ?? 0)
    const unspentChunk = this.#queue.some((each) => leaseId(each) !== leaseId(ask)) ? 0 : chunkNanos
    this.#write(ask, {
      ...lease,
      // A run that replays its records reserves their requests again: they are in what it has.
      nanos: Math.max(spent.nanos, Math.min(lease.nanos, least + unspentChunk)),
      spentNanos: spent.nanos,
      unknownNanos: spent.unknownNanos,
    })
  }

  /** For workers of earlier versions: grants what is available and not waited for. Returns what the session has. */
  raise(leased: LeasedSession, turn: number, nanos: number): number {
    const lease = this.lease(leased) ?? noLease
    if (isLate(lease, turn)) return lease.nanos
    const left = this.#isBehind(leased) ? 0 : leftOfBudget(this.#budget)
    const raised = lease.nanos + Math.max(0, Math.min(nanos - lease.nanos, left))
    this.#write(leased, { ...lease, nanos: raised, turn, isHeld: true })
    return raised
  }

  /** Ends the work of a turn, after which the session has spent this much in all. Returns what the session has. */
  release(leased: LeasedSession & { readonly isOpened?: true }, turn: number, { nanos, unknownNanos }: Spent): number {
    const found = this.lease(leased)
    if (found === null && leased.isOpened === true) return 0
    const lease: TenantLease = found ?? noLease
    if (isLate(lease, turn)) return lease.nanos
    this.#leave(leased)
    const { isOpened } = lease
    const released = { nanos, spentNanos: nanos, unknownNanos, turn, isHeld: false }
    this.#write(leased, { ...released, ...(isOpened && { isOpened }) })
    return nanos
  }

  /**
   * Closes the lease of a session that was removed. `spent`: given if the session had a lease; otherwise it reported
   * before. Returns what it has spent.
   */
  close(leased: LeasedSession, spent: Spent | null): number {
    const lease = this.lease(leased)
    if (lease === null) return 0
    const { spentNanos: nanos, unknownNanos, isHeld, isOpened } = lease
    const released = this.release(leased, lastTurn, isHeld && spent !== null ? spent : { nanos, unknownNanos })
    // Its spending is part of the budget. Only its object can create the lease again.
    if (isOpened === true) this.#leases.set(leaseId(leased), null)
    return released
  }

  /** Drops the lease of a session that receives no more requests: its spending is part of the budget. */
  drop(leased: LeasedSession): void {
    const lease = this.lease(leased)
    if (lease?.isOpened === true && !lease.isHeld) this.#leases.set(leaseId(leased), null)
  }

  /** Serves waiting sessions for as long as there is money. Returns the id of a lease that must be loaded first. */
  serve(): string | undefined {
    for (;;) {
      const [first] = this.#queue
      if (first === undefined) return undefined
      const id = leaseId(first)
      if (!this.#leases.has(id)) return id
      const lease = this.lease(first)
      if (lease?.isHeld === true) {
        const wanted = Math.min(first.nanos, this.#maxOf(lease))
        const isOfUse = wanted >= first.leastNanos
        if (isOfUse && wanted > lease.nanos + leftOfBudget(this.#budget)) return undefined
        if (isOfUse) this.#write(first, { ...lease, nanos: Math.max(lease.nanos, wanted), grantedNanos: wanted })
        this.#served.push(first)
      }
      this.#leave(first)
    }
  }

  /** What the session could have in all if the others returned everything that they have not spent. */
  #maxOf({ spentNanos }: TenantLease): number {
    const limit = Math.min(this.#budget.limitNanos ?? maxNanos, maxNanos)
    return Math.max(0, limit - (this.#budget.spentNanos - spentNanos))
  }

  /** Whether another session arrived before it. */
  #isBehind(leased: LeasedSession): boolean {
    const [first] = this.#queue
    return first !== undefined && leaseId(first) !== leaseId(leased)
  }

  #placeOf(leased: LeasedSession): Waiter | undefined {
    return this.#queue.find((each) => leaseId(each) === leaseId(leased))
  }

  /** Adds the session at the end, or updates its entry in place. */
  #place(waiter: Waiter): void {
    const isThere = this.#placeOf(waiter) !== undefined
    this.#setQueue(
      isThere
        ? this.#queue.map((each) => (leaseId(each) === leaseId(waiter) ? waiter : each))
        : [...this.#queue, waiter],
    )
  }

  #leave(leased: LeasedSession): void {
    if (this.#placeOf(leased) !== undefined)
      this.#setQueue(this.#queue.filter((each) => leaseId(each) !== leaseId(leased)))
  }

  #setQueue(queue: readonly Waiter[]): void {
    this.#queue = queue
    const { waiting: _, ...budget } = this.#budget
    this.#budget = { ...budget, ...(queue.length > 0 && { waiting: queue.length }) }
  }

  get #oneMoreReturn(): Pick<TenantBudget, 'returns'> {
    return { returns: (this.#budget.returns ?? 0) + 1 }
  }

  #write(leased: LeasedSession, lease: TenantLease): void {
    const before = this.lease(leased) ?? noLease
    this.#leases.set(leaseId(leased), lease)
    const { leasedNanos, spentNanos, unknownNanos, holders, reserving = holders } = this.#budget
    const isReserving = Number(lease.nanos > lease.spentNanos) - Number(before.nanos > before.spentNanos)
    this.#budget = {
      ...this.#budget,
      leasedNanos: leasedNanos + lease.nanos - before.nanos,
      spentNanos: spentNanos + lease.spentNanos - before.spentNanos,
      unknownNanos: unknownNanos + lease.unknownNanos - before.unknownNanos,
      holders: holders + Number(lease.isHeld) - Number(before.isHeld),
      reserving: Math.max(0, reserving + isReserving),
      ...(lease.nanos < before.nanos && this.#oneMoreReturn),
    }
  }

  #answer(leased: LeasedSession, kind: LeaseAnswer['kind']): LeaseAnswer {
    const { nanos, spentNanos } = this.lease(leased) ?? noLease
    const { leasedNanos, spentNanos: spentOfAll, holders, reserving = holders } = this.#budget
    return {
      kind,
      nanos: kind === 'gone' || kind === 'superseded' ? 0 : nanos,
      reservedNanos: Math.max(0, leasedNanos - spentOfAll - (nanos - spentNanos)),
      holders: Math.max(0, reserving - Number(nanos > spentNanos)),
      waiting: this.#queue.length,
    }
  }
}

function isLate(lease: Lease, turn: number): boolean {
  return turn < lease.turn || (turn === lease.turn && !lease.isHeld)
}
