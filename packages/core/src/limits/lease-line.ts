import type { BudgetLease, LeaseUse } from './lease.ts'
import { usdOf, type NanoUsd } from '../model/prices.ts'

/** An amount of a ledger. */
interface Nanos {
  readonly nanos: NanoUsd
}

/** What stands against the lease. */
interface SpentLine {
  readonly settled: Nanos
  readonly reserved: Nanos
  readonly unknown: Nanos
}

interface Reserved {
  readonly amount: Nanos
}

// Spec R-FUND-2.
/**
 * What a session uses of its lease, told to it each time that it falls.
 * U1: a request whose intent may be on record counts at its worst case until its result is there, because a process that goes on from the record counts it so.
 */
export class LeaseLine implements LeaseUse {
  readonly #lease: BudgetLease
  readonly #line: SpentLine
  /** Requests that were begun and whose result is not on record, with what was freed when they were settled. */
  readonly #begun = new Map<Reserved, NanoUsd>()
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

  /** Its intent may be on record from now on. */
  begin(reservation: Reserved): void {
    this.#begun.set(reservation, 0)
  }

  settle(reservation: Reserved, spentNanos: NanoUsd): void {
    if (this.#begun.has(reservation)) this.#begun.set(reservation, Math.max(0, reservation.amount.nanos - spentNanos))
  }

  /** Its result is on record, or it was never begun. */
  end(reservation: Reserved | undefined): void {
    if (reservation !== undefined) this.#begun.delete(reservation)
    this.#tell()
  }

  /** Somebody may spend of it what no reservation shows. Returns how to say that this is over. */
  spend(): () => void {
    this.#spenders++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#spenders--
      this.#tell()
    }
  }

  #tell(): void {
    if (this.#spenders === 0) this.#lease.uses?.(this)
  }
}
