// What many spend of one budget: sessions of a tenant on a cluster, or requests of all processes of a machine. Amounts are whole nano-dollars.

/** A budget that many spend from, each by a lease of its own. JSON. */
export interface SharedBudget {
  /** Null for no limit. */
  readonly limitNanos: number | null
  /** What its holders have reserved, and what those have spent that hold nothing any more: the sum of `Lease.nanos`. */
  readonly leasedNanos: number
  /** What they had spent when each reported last: the sum of `Lease.spentNanos`. All else that is leased is reserved. */
  readonly spentNanos: number
  /** Of that, charged at worst case: nobody could say what it came to. */
  readonly unknownNanos: number
  /** Leases that are held. */
  readonly holders: number
}

/** A budget without a limit of which nothing was spent. */
export const newBudget: SharedBudget = Object.freeze({
  limitNanos: null,
  leasedNanos: 0,
  spentNanos: 0,
  unknownNanos: 0,
  holders: 0,
})

/** What a holder has spent in all. */
export interface Spent {
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: number
  /** Of that, at worst case. */
  readonly unknownNanos: number
}

/** What one holder, a session or a request, may have spent in all: all that it ever spends counts against it. */
export interface Lease {
  /** Nano-dollars that it may have spent in all. */
  readonly nanos: number
  /** Nano-dollars that it has spent. */
  readonly spentNanos: number
  /** The part of `spentNanos` that was charged at worst case. */
  readonly unknownNanos: number
  /** The turn of work of the holder that has it, or had it last. They go up. */
  readonly turn: number
  /** Whether it may still be spent. Otherwise it is what was spent. */
  readonly isHeld: boolean
}

/** The lease of a holder that never asked. */
export const noLease: Lease = Object.freeze({ nanos: 0, spentNanos: 0, unknownNanos: 0, turn: 0, isHeld: false })

/** A budget and one of its leases. */
export interface Leased {
  /** The budget. */
  readonly budget: SharedBudget
  /** The lease. */
  readonly lease: Lease
}

/** Above what is counted exactly, nothing is leased: nine million dollars. */
export const mostNanos: number = Number.MAX_SAFE_INTEGER
/** No turn of work comes after it. */
const lastTurn = Number.MAX_SAFE_INTEGER

/** Another limit. What is held above it stays held until it is given back. */
export function setBudgetLimit(budget: SharedBudget, limitNanos: number | null): SharedBudget {
  return { ...budget, limitNanos }
}

/**
 * A holder wants to spend `wantedNanos` in all.
 * B1: a lease grows by no more than the limit leaves, so the sum of all passes no limit, unless that was lowered or a service billed more than it may. B2: a
 * call that comes again, or after a later one, changes nothing. B3: what a turn has given back it gets no more. B4: a holder that is gone gets nothing.
 */
export function raiseLease({ budget, lease }: Leased, turn: number, wantedNanos: number): Leased {
  if (isLate(lease, turn)) return { budget, lease }
  const nanos = lease.nanos + Math.max(0, Math.min(wantedNanos - lease.nanos, leftOfBudget(budget)))
  return withLease({ budget, lease }, { ...lease, nanos, turn, isHeld: true })
}

/** A turn of work is over, and the holder has spent so much in all. */
export function releaseLease({ budget, lease }: Leased, turn: number, { nanos, unknownNanos }: Spent): Leased {
  if (isLate(lease, turn)) return { budget, lease }
  return withLease({ budget, lease }, { nanos, spentNanos: nanos, unknownNanos, turn, isHeld: false })
}

/** The holder is gone: later requests for it change nothing. `spent` where it held a part; else it reported that before. */
export function closeLease({ budget, lease }: Leased, spent: Spent | null): Leased {
  const { spentNanos: nanos, unknownNanos } = lease
  return releaseLease({ budget, lease }, lastTurn, lease.isHeld && spent !== null ? spent : { nanos, unknownNanos })
}

/** What may still be leased. */
export function leftOfBudget({ limitNanos, leasedNanos }: SharedBudget): number {
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
