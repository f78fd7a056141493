/** The outcome of one retry of a waiting request: it has its answer, or these lines have too little for it. */
type Retry<Line> = { readonly kind: 'answered' } | { readonly kind: 'waits'; readonly shortOn: readonly Line[] }

/** @param ahead Lines that earlier requests wait for: it may not pass them there. */
type RetryRequest<Line> = (ahead: ReadonlySet<Line>) => Retry<Line>

interface Waiter<Line> {
  readonly retry: RetryRequest<Line>
  readonly claims: Set<Line>
  readonly owner: object
}

const noLines: ReadonlySet<never> = new Set()
const noWaiters: readonly never[] = Object.freeze([])

/**
 * Requests that wait for reservations of others to be settled, in order of arrival.
 *
 * Q1: A line is claimed by the first request that found too little on it, until that request has its answer. Nobody who came later reserves on a claimed
 * line, so what is reserved there only falls, and the request is answered at the latest when nothing is reserved there any more.
 * Q2: Only an attempt at a model holds a reservation, and an attempt never waits in this queue. So nobody who waits is waited for, and there is no
 * cycle: each reservation is settled when its service answers, fails or is aborted (docs/halting.md).
 */
export class FundsQueue<Line extends object> {
  #waiters: readonly Waiter<Line>[] = noWaiters

  /** How many requests wait. */
  get length(): number {
    return this.#waiters.length
  }

  /** How many requests of an owner wait: runs that share a budget share the queue. */
  waitingOf(owner: object): number {
    return this.#waiters.filter((waiter) => waiter.owner === owner).length
  }

  /** Lines that somebody waits for. */
  get claimed(): ReadonlySet<Line> {
    if (this.#waiters.length === 0) return noLines
    return new Set(this.#waiters.flatMap(({ claims }) => [...claims]))
  }

  /** Puts a request at the end of the queue; `retry` is called each time that the ledger has changed, until it has its answer. `owner`: the ledger of its run. Returns how to leave. */
  join(shortOn: readonly Line[], retry: RetryRequest<Line>, owner: object): () => void {
    const waiter: Waiter<Line> = { retry, claims: new Set(shortOn), owner }
    this.#waiters = [...this.#waiters, waiter]
    return () => {
      if (!this.#waiters.includes(waiter)) return
      this.#waiters = this.#waiters.filter((each) => each !== waiter)
      // Whoever waited behind it may go on.
      this.serve()
    }
  }

  /** The ledger has changed: each request looks again, in order of arrival. */
  serve(): void {
    if (this.#waiters.length === 0) return
    const ahead = new Set<Line>()
    for (const waiter of this.#waiters) {
      // It left while another one had its answer.
      if (!this.#waiters.includes(waiter)) continue
      const came = waiter.retry(ahead)
      if (came.kind === 'answered') {
        this.#waiters = this.#waiters.filter((each) => each !== waiter)
        continue
      }
      for (const line of came.shortOn) waiter.claims.add(line)
      for (const line of waiter.claims) ahead.add(line)
    }
  }
}
