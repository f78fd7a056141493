// What the sessions of one tenant may spend together. Amounts are whole nano-dollars.

/** What stands with a tenant. */
export interface TenantBudget {
  /** Null for no limit. */
  readonly limitNanos: number | null
  /** What its sessions hold, and what those have spent that hold nothing: the sum of `Lease.nanos`. */
  readonly leasedNanos: number
  /** Sessions that hold a lease. */
  readonly holders: number
}

export const newBudget: TenantBudget = Object.freeze({ limitNanos: null, leasedNanos: 0, holders: 0 })

/** What one session may have spent in all: all that it ever spends counts against it. */
export interface Lease {
  readonly nanos: number
  /** The turn of work at the session that has it, or had it last. They go up. */
  readonly turn: number
  /** Somebody may spend it. It is what was spent otherwise. */
  readonly isHeld: boolean
}

export const noLease: Lease = Object.freeze({ nanos: 0, turn: 0, isHeld: false })

/** The tenant and one of its sessions. */
export interface Leased {
  readonly budget: TenantBudget
  readonly lease: Lease
}

/** Another limit. What is held above it stays held until it is given back. */
export function setLimit(budget: TenantBudget, limitNanos: number | null): TenantBudget {
  return { ...budget, limitNanos }
}

/**
 * A session wants to spend `wantedNanos` in all.
 * B1: a lease grows by no more than the limit leaves, so the sum of all passes no limit, unless that was lowered or a service billed more than it may. B2: a
 * call that comes again, or after a later one, changes nothing. B3: what a turn has given back it gets no more.
 */
export function raiseTo({ budget, lease }: Leased, turn: number, wantedNanos: number): Leased {
  if (turn < lease.turn || (turn === lease.turn && !lease.isHeld)) return { budget, lease }
  const nanos = lease.nanos + Math.max(0, Math.min(wantedNanos - lease.nanos, leftOf(budget)))
  return withLease({ budget, lease }, { nanos, turn, isHeld: true })
}

/** A turn of work is over, and the session has spent so much in all. */
export function release({ budget, lease }: Leased, turn: number, spentNanos: number): Leased {
  if (turn < lease.turn || (turn === lease.turn && !lease.isHeld)) return { budget, lease }
  return withLease({ budget, lease }, { nanos: spentNanos, turn, isHeld: false })
}

/** What may still be leased. */
export function leftOf({ limitNanos, leasedNanos }: TenantBudget): number {
  return limitNanos === null ? Infinity : Math.max(0, limitNanos - leasedNanos)
}

function withLease({ budget, lease: before }: Leased, lease: Lease): Leased {
  return {
    budget: {
      ...budget,
      leasedNanos: budget.leasedNanos + lease.nanos - before.nanos,
      holders: budget.holders + Number(lease.isHeld) - Number(before.isHeld),
    },
    lease,
  }
}
