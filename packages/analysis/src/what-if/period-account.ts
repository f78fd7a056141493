/** What became of one standing budget in one of its periods. JSON. */
export interface PeriodSpent {
  /** The budget: `$20 a day`. */
  readonly budget: string
  /** `2026-11-28` or `2026-11`, in the local time zone. */
  readonly period: string
  /** The limit of the period, in US dollars. */
  readonly maxUsd: number
  /** What the sessions spent of it on record, with what was charged at worst case. */
  readonly recordedUsd: number
  /** What they would have spent under the budgets. */
  readonly spentUsd: number
  /** Runs that it would have ended. */
  readonly ended: number
  /** Requests that would not have been made, since this budget had ended their run. */
  readonly notMade: number
  /** Requests that would have waited for what others had reserved. */
  readonly waited: number
}

/** Reserved for a request that is under way. */
interface Open {
  readonly endedAt: number
  readonly reservedNanos: number
  readonly nanos: number
}

/** A standing budget in one period, while requests are replayed against it in the order of time. */
export class PeriodAccount {
  readonly period: string
  /** When the next one begins, in milliseconds since 1970. */
  readonly end: number
  readonly maxNanos: number
  recordedNanos = 0
  /** What was charged, also for requests that are under way. */
  chargedNanos = 0
  ended = 0
  notMade = 0
  waited = 0
  #settled = 0
  #reserved = 0
  readonly #open = new OpenQueue()

  constructor(period: string, end: number, maxNanos: number) {
    this.period = period
    this.end = end
    this.maxNanos = maxNanos
  }

  /** Once all that is reserved came back at what it came to. */
  get settledNanos(): number {
    return this.#settled
  }

  get leftNanos(): number {
    return this.maxNanos - this.#settled - this.#reserved
  }

  /** Settles what was over by then. */
  settleUntil(moment: number): void {
    while ((this.#open.next?.endedAt ?? Infinity) <= moment) this.settleNext()
  }

  /** Settles the reservation that comes back first; false where there is none. */
  settleNext(): boolean {
    const open = this.#open.take()
    if (open === undefined) return false
    this.#reserved -= open.reservedNanos
    this.#settled += open.nanos
    return true
  }

  reserve(open: Open): void {
    this.#reserved += open.reservedNanos
    this.chargedNanos += open.nanos
    this.#open.add(open)
  }
}

/** A heap: what is over first is on top. */
class OpenQueue {
  readonly #heap: Open[] = []

  get next(): Open | undefined {
    return this.#heap[0]
  }

  add(open: Open): void {
    const heap = this.#heap
    let at = heap.push(open) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (this.#endOf(above) <= this.#endOf(at)) return
      this.#swap(at, above)
      at = above
    }
  }

  take(): Open | undefined {
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
