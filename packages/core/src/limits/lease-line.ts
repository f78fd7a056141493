import type { BudgetLease, LeaseUse } from './lease.ts'
import { usdOf, type NanoUsd } from '../model/prices.ts'

/** An amount in a ledger. */
interface Nanos {
  readonly nanos: NanoUsd
}

/** The amounts in a ledger that count against the lease. */
interface SpentLine {
  readonly settled: Nanos
  readonly reserved: Nanos
  readonly unknown: Nanos
}

interface LeaseReservation {
  readonly amount: Nanos
}

// Spec R-FUND-2.
/**
 * The part of its lease that a session uses. The lease is notified whenever that part decreases. U1: Until the result of
 * a request is recorded, the request counts at its worst case if its intent may be on record. A process that resumes
 * from the record counts it in the same way.
 */
export class LeaseLine implements LeaseUse {
  readonly #lease: BudgetLease
  readonly #line: SpentLine
  /** Requests that have begun and whose result is not on record yet, with the amount that was freed when they were settled. */
  readonly #begun = new Map<LeaseReservation, NanoUsd>()
  #spenders = 0

  constructor(lease: BudgetLease, line: SpentLine) {
    this.#lease = lease
    this.#line = line
  }

  get usd(): number {
    const { settled, reserved } = this.#line
    const freed = [...this.#begun.values()].reduce((sum, nanos) => sum + nanos, 0)
    return usdOf(settled.nanos + reserved.nanos + freed)
  }

  get settledUsd(): number {
    return usdOf(this.#line.settled.nanos)
  }

  get unknownUsd(): number {
    return usdOf(this.#line.unknown.nanos)
  }

  /** Marks the request as begun: its intent may be on record from then on. */
  begin(reservation: LeaseReservation): void {
    this.#begun.set(reservation, 0)
  }

  settle(reservation: LeaseReservation, spentNanos: NanoUsd): void {
    if (this.#begun.has(reservation)) this.#begun.set(reservation, Math.max(0, reservation.amount.nanos - spentNanos))
  }

  /** Marks the request as ended: its result is on record, or it never began. */
  end(reservation: LeaseReservation | undefined): void {
    if (reservation !== undefined) this.#begun.delete(reservation)
    this.#notify()
  }

  /** Announces spending that has no reservation. Returns a function that ends the announcement. */
  spend(): () => void {
    this.#spenders++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#spenders--
      this.#notify()
    }
  }

  #notify(): void {
    if (this.#spenders === 0) this.#lease.uses?.(this)
  }
}
