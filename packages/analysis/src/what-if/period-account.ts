/** The result of one standing budget in one period. JSON. */
export interface PeriodSpent {
  /** The budget: `$20 a day`. */
  readonly budget: string
  /** `2026-11-28` or `2026-11`, in the local time zone. */
  readonly period: string
  /** The limit of the period, in US dollars. */
  readonly maxUsd: number
  /** Recorded spending of the sessions in this period, including what was charged at worst case. */
  readonly recordedUsd: number
  /** Spending that would have happened under the budgets. */
  readonly spentUsd: number
  /** Runs that it would have stopped. */
  readonly ended: number
  /** Requests that would not have been made because this budget had stopped their run. */
  readonly notMade: number
  /** Requests that would have waited for money reserved by others. */
  readonly waited: number
}

/** A reservation for an open request. */
interface Reservation {
  readonly endedAt: number
  readonly reservedNanos: number
  readonly nanos: number
}

/** A standing budget in one period, during the replay of requests in chronological order. */
export class PeriodAccount {
  readonly period: string
  /** When the next period begins, in milliseconds since 1970. */
  readonly end: number
  readonly maxNanos: number
  recordedNanos = 0
  /** Total charges, including those of open requests. */
  chargedNanos = 0
  ended = 0
  notMade = 0
  waited = 0
  #settled = 0
  #reserved = 0
  readonly #open = new ReservationQueue()

  constructor(period: string, end: number, maxNanos: number) {
    this.period = period
    this.end = end
    this.maxNanos = maxNanos
  }

  /** What was spent, without open reservations. */
  get settledNanos(): number {
    return this.#settled
  }

  get leftNanos(): number {
    return this.maxNanos - this.#settled - this.#reserved
  }

  /** Settles the reservations that had ended by then. */
  settleUntil(moment: number): void {
    while ((this.#open.next?.endedAt ?? Infinity) <= moment) this.settleNext()
  }

  /** Settles the reservation that ends first; false without any. */
  settleNext(): boolean {
    const open = this.#open.take()
    if (open === undefined) return false
    this.#reserved -= open.reservedNanos
    this.#settled += open.nanos
    return true
  }

  reserve(open: Reservation): void {
    this.#reserved += open.reservedNanos
    this.chargedNanos += open.nanos
    this.#open.add(open)
  }
}

/** A binary heap with the reservation that ends first on top. */
class ReservationQueue {
  readonly #heap: Reservation[] = []

  get next(): Reservation | undefined {
    return this.#heap[0]
  }

  add(open: Reservation): void {
    const heap = this.#heap
    let at = heap.push(open) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (this.#endOf(above) <= this.#endOf(at)) return
      this.#swap(at, above)
      at = above
    }
  }

  take(): Reservation | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    heap[0] = last
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const below = this.#endOf(right) < this.#endOf(left) ? right : left
      if (this.#endOf(at) <= this.#endOf(below)) return first
      this.#swap(at, below)
      at = below
    }
  }

  #endOf(at: number): number {
    return this.#heap[at]?.endedAt ?? Infinity
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]]
    if (first === undefined || second === undefined) return
    this.#heap[a] = second
    this.#heap[b] = first
  }
}
