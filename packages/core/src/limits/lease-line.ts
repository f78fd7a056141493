import type { BudgetLease, LeaseUse } from './lease.ts'
import { usdOf, type NanoUsd } from '../model/prices.ts'

/** An amount in a ledger. */
interface Nanos {
  readonly nanos: NanoUsd
}

/** Amounts that count against the lease. */
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
 * What a session uses of its lease; the lease is notified whenever it falls.
 * U1: Until the result of a request is recorded, it counts at its worst case if its intent may be on record. A process
 * that resumes from the record counts it the same way.
 */
export class LeaseLine implements LeaseUse {
  readonly #lease: BudgetLease
  readonly #line: SpentLine
  /** Requests that have begun and whose result is not on record yet, with the amount that settling them freed. */
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

  /** From now on the intent of the request may be on record. */
  begin(reservation: LeaseReservation): void {
    this.#begun.set(reservation, 0)
  }

  settle(reservation: LeaseReservation, spentNanos: NanoUsd): void {
    if (this.#begun.has(reservation)) this.#begun.set(reservation, Math.max(0, reservation.amount.nanos - spentNanos))
  }

  /** The result of the request is on record, or the request never began. */
  end(reservation: LeaseReservation | undefined): void {
    if (reservation !== undefined) this.#begun.delete(reservation)
    this.#notify()
  }

  /** Announces spending that no reservation shows. Returns a function that ends the announcement. */
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
