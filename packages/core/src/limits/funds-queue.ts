/** The outcome of one retry of a waiting request: either the request has its answer, or these lines still have too little left. */
type Retry<Line> = { readonly kind: 'answered' } | { readonly kind: 'waits'; readonly shortOn: readonly Line[] }

/** @param ahead Lines that earlier requests wait for. The retry must not reserve on these lines before those requests. */
type RetryRequest<Line> = (ahead: ReadonlySet<Line>) => Retry<Line>

interface Waiter<Line> {
  readonly retry: RetryRequest<Line>
  readonly claims: Set<Line>
  readonly owner: object
}

const noLines: ReadonlySet<never> = new Set()
const noWaiters: readonly never[] = Object.freeze([])

/**
 * Requests that wait until other reservations are settled, in order of arrival. Q1: The first request that finds too
 * little on a line claims the line until that request has its answer. Later requests cannot reserve on a claimed line,
 * so its reserved amount only falls. The request is answered at the latest when nothing is reserved on the line. Q2:
 * Only an attempt at a model has a reservation, and an attempt never waits in this queue. So no waiting request blocks
 * another one, and there is no cycle. Each reservation is settled when its service answers, fails or is aborted
 * (docs/halting.md).
 */
export class FundsQueue<Line extends object> {
  #waiters: readonly Waiter<Line>[] = noWaiters

  /** Number of waiting requests. */
  get length(): number {
    return this.#waiters.length
  }

  /** Number of waiting requests of one owner. Runs that share a budget have one common queue. */
  waitingOf(owner: object): number {
    return this.#waiters.filter((waiter) => waiter.owner === owner).length
  }

  /** Lines that a request waits for. */
  get claimed(): ReadonlySet<Line> {
    if (this.#waiters.length === 0) return noLines
    return new Set(this.#waiters.flatMap(({ claims }) => [...claims]))
  }

  /**
   * Adds a request to the end of the queue. `retry` is called after each change of the ledger until it returns an
   * answer. `owner`: the ledger of its run. Returns a function that leaves the queue.
   */
  join(shortOn: readonly Line[], retry: RetryRequest<Line>, owner: object): () => void {
    const waiter: Waiter<Line> = { retry, claims: new Set(shortOn), owner }
    this.#waiters = [...this.#waiters, waiter]
    return () => {
      if (!this.#waiters.includes(waiter)) return
      this.#waiters = this.#waiters.filter((each) => each !== waiter)
      // Later requests in the queue may be able to continue.
      this.retryWaiting()
    }
  }

  /** Call this after the ledger changed: retries each request, in order of arrival. */
  retryWaiting(): void {
    if (this.#waiters.length === 0) return
    const ahead = new Set<Line>()
    for (const waiter of this.#waiters) {
      // The request left the queue while an earlier request was retried.
      if (!this.#waiters.includes(waiter)) continue
      const outcome = waiter.retry(ahead)
      if (outcome.kind === 'answered') {
        this.#waiters = this.#waiters.filter((each) => each !== waiter)
        continue
      }
      for (const line of outcome.shortOn) waiter.claims.add(line)
      for (const line of waiter.claims) ahead.add(line)
    }
  }
}
