// What the sessions of one tenant may spend together. Amounts are whole nano-dollars.

/** What stands with a tenant. */
export interface TenantBudget {
  /** Null for no limit. */
  readonly limitNanos: number | null
  /** What its sessions hold, and what those have spent that hold nothing: the sum of `Lease.nanos`. */
  readonly leasedNanos: number
  /** What they had spent when each was told last: the sum of `Lease.spentNanos`. All else that is leased is reserved. */
  readonly spentNanos: number
  /** Of that, charged at worst case: nobody could say what it came to. */
  readonly unknownNanos: number
  /** Sessions that hold a lease. */
  readonly holders: number
}

export const newBudget: TenantBudget = Object.freeze({
  limitNanos: null,
  leasedNanos: 0,
  spentNanos: 0,
  unknownNanos: 0,
  holders: 0,
})

/** What a session has spent in all. */
export interface Spent {
  readonly nanos: number
  /** Of that, at worst case. */
  readonly unknownNanos: number
}

/** What one session may have spent in all: all that it ever spends counts against it. */
export interface Lease {
  readonly nanos: number
  readonly spentNanos: number
  readonly unknownNanos: number
  /** The turn of work at the session that has it, or had it last. They go up. */
  readonly turn: number
  /** Somebody may spend it. It is what was spent otherwise. */
  readonly isHeld: boolean
}

export const noLease: Lease = Object.freeze({ nanos: 0, spentNanos: 0, unknownNanos: 0, turn: 0, isHeld: false })

/** The tenant and one of its sessions. */
export interface Leased {
  readonly budget: TenantBudget
  readonly lease: Lease
}

/** Above what is counted exactly, nothing is leased: nine million dollars. */
export const mostNanos: number = Number.MAX_SAFE_INTEGER
/** No turn of work comes after it. */
const lastTurn = Number.MAX_SAFE_INTEGER

/** Another limit. What is held above it stays held until it is given back. */
export function setLimit(budget: TenantBudget, limitNanos: number | null): TenantBudget {
  return { ...budget, limitNanos }
}

/**
 * A session wants to spend `wantedNanos` in all.
 * B1: a lease grows by no more than the limit leaves, so the sum of all passes no limit, unless that was lowered or a service billed more than it may. B2: a
 * call that comes again, or after a later one, changes nothing. B3: what a turn has given back it gets no more. B4: a session that is gone gets nothing.
 */
export function raiseTo({ budget, lease }: Leased, turn: number, wantedNanos: number): Leased {
  if (isLate(lease, turn)) return { budget, lease }
  const nanos = lease.nanos + Math.max(0, Math.min(wantedNanos - lease.nanos, leftOf(budget)))
  return withLease({ budget, lease }, { ...lease, nanos, turn, isHeld: true })
}

/** A turn of work is over, and the session has spent so much in all. */
export function release({ budget, lease }: Leased, turn: number, { nanos, unknownNanos }: Spent): Leased {
  if (isLate(lease, turn)) return { budget, lease }
  return withLease({ budget, lease }, { nanos, spentNanos: nanos, unknownNanos, turn, isHeld: false })
}

/** The session is gone: nothing that its processes still ask for is heard. `spent` where it was at work; else it has told. */
export function close({ budget, lease }: Leased, spent: Spent | null): Leased {
  const { spentNanos: nanos, unknownNanos } = lease
  return release({ budget, lease }, lastTurn, lease.isHeld && spent !== null ? spent : { nanos, unknownNanos })
}

/** What may still be leased. */
export function leftOf({ limitNanos, leasedNanos }: TenantBudget): number {
  return Math.max(0, Math.min(limitNanos ?? mostNanos, mostNanos) - leasedNanos)
}

function isLate(lease: Lease, turn: number): boolean {
  return turn < lease.turn || (turn === lease.turn && !lease.isHeld)
}

function withLease({ budget, lease: before }: Leased, lease: Lease): Leased {
  return {
    budget: {
      ...budget,
      leasedNanos: budget.leasedNanos + lease.nanos - before.nanos,
      spentNanos: budget.spentNanos + lease.spentNanos - before.spentNanos,
      unknownNanos: budget.unknownNanos + lease.unknownNanos - before.unknownNanos,
      holders: budget.holders + Number(lease.isHeld) - Number(before.isHeld),
    },
    lease,
  }
}
