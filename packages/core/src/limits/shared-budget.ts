// A budget with many holders: sessions of a tenant on a cluster, or requests of all processes of a machine. Amounts are integers in nano-dollars.

/** A budget that many holders spend from, each with its own lease. JSON. */
export interface SharedBudget {
  /** Null for no limit. */
  readonly limitNanos: number | null
  /** The sum of `Lease.nanos`: reservations of the holders, plus the spending of holders that released theirs. */
  readonly leasedNanos: number
  /** The sum of `Lease.spentNanos`: spending as of each holder's last report. The rest of `leasedNanos` is reserved. */
  readonly spentNanos: number
  /** The part of `spentNanos` charged at the worst case because no usage was reported. */
  readonly unknownNanos: number
  /** Number of active leases. */
  readonly holders: number
}

/** A budget without a limit and without spending. */
export const newBudget: SharedBudget = Object.freeze({
  limitNanos: null,
  leasedNanos: 0,
  spentNanos: 0,
  unknownNanos: 0,
  holders: 0,
})

/** The total spending of a holder. */
export interface Spent {
  /** Nano-dollars: 1e-9 US dollars. */
  readonly nanos: number
  /** The part of `nanos` charged at the worst case. */
  readonly unknownNanos: number
}

/** What one holder, a session or a request, may spend in total. Everything that the holder ever spends counts against it. */
export interface Lease {
  /** Nano-dollars that the holder may spend in total. */
  readonly nanos: number
  /** Nano-dollars that the holder has spent. */
  readonly spentNanos: number
  /** The part of `spentNanos` that was charged at the worst case. */
  readonly unknownNanos: number
  /** The number of the work turn of the holder that has the lease, or had it last. These numbers increase. */
  readonly turn: number
  /** Whether the lease is active. An inactive lease equals what was spent. */
  readonly isHeld: boolean
}

/** The lease of a holder that never requested one. */
export const noLease: Lease = Object.freeze({ nanos: 0, spentNanos: 0, unknownNanos: 0, turn: 0, isHeld: false })

/** A budget and one of its leases. */
export interface Leased {
  /** The budget. */
  readonly budget: SharedBudget
  /** The lease. */
  readonly lease: Lease
}

/** The largest amount that is counted exactly (nine million dollars). Nothing is leased above it. */
export const maxNanos: number = Number.MAX_SAFE_INTEGER
/** The last possible work turn. */
const lastTurn = Number.MAX_SAFE_INTEGER

/** Changes the limit. Leases above the new limit remain until they are released. */
export function setBudgetLimit(budget: SharedBudget, limitNanos: number | null): SharedBudget {
  return { ...budget, limitNanos }
}

/**
 * Raises a lease so that the holder can spend `wantedNanos` in total. B1: A lease grows by at most what the limit
 * leaves. So the sum of all leases stays within the limit, unless the limit was lowered or a service billed too much.
 * B2: A repeated or out-of-order call changes nothing. B3: A work turn that released its lease gets no more. B4: A
 * holder that was closed gets nothing.
 */
export function raiseLease({ budget, lease }: Leased, turn: number, wantedNanos: number): Leased {
  if (isOutdated(lease, turn)) return { budget, lease }
  const nanos = lease.nanos + Math.max(0, Math.min(wantedNanos - lease.nanos, leftOfBudget(budget)))
  return withLease({ budget, lease }, { ...lease, nanos, turn, isHeld: true })
}

/** Ends a work turn of the holder and records its total spending. */
export function releaseLease({ budget, lease }: Leased, turn: number, { nanos, unknownNanos }: Spent): Leased {
  if (isOutdated(lease, turn)) return { budget, lease }
  return withLease({ budget, lease }, { nanos, spentNanos: nanos, unknownNanos, turn, isHeld: false })
}

/** Closes the holder: later calls for it change nothing. `spent` if its lease was active; otherwise its spending was reported before. */
export function closeLease({ budget, lease }: Leased, spent: Spent | null): Leased {
  const { spentNanos: nanos, unknownNanos } = lease
  return releaseLease({ budget, lease }, lastTurn, lease.isHeld && spent !== null ? spent : { nanos, unknownNanos })
}

/** What can still be leased. */
export function leftOfBudget({ limitNanos, leasedNanos }: SharedBudget): number {
  return Math.max(0, Math.min(limitNanos ?? maxNanos, maxNanos) - leasedNanos)
}

function isOutdated(lease: Lease, turn: number): boolean {
  return turn < lease.turn || (turn === lease.turn && !lease.isHeld)
}

function withLease({ budget, lease: leaseBefore }: Leased, lease: Lease): Leased {
  return {
    budget: {
      ...budget,
      leasedNanos: budget.leasedNanos + lease.nanos - leaseBefore.nanos,
      spentNanos: budget.spentNanos + lease.spentNanos - leaseBefore.spentNanos,
      unknownNanos: budget.unknownNanos + lease.unknownNanos - leaseBefore.unknownNanos,
      holders: budget.holders + Number(lease.isHeld) - Number(leaseBefore.isHeld),
    },
    lease,
  }
}
