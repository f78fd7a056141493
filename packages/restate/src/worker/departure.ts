/**
 * How a process gives up its sessions, so that it may end and another goes on with them.
 * D1: after `begin` no attempt begins here. D2: one that goes on ends at the next lap at which nothing else is under way, or at a rest; after `hurry` at once.
 * D3: `over` settles when nothing is left of any.
 */
export class Departure {
  readonly #soon = new AbortController()
  readonly #now = new AbortController()
  readonly #held = new Set<Promise<unknown>>()

  /** Aborted from `begin` on. */
  get soon(): AbortSignal {
    return this.#soon.signal
  }

  /** Aborted from `hurry` on. */
  get now(): AbortSignal {
    return this.#now.signal
  }

  begin(): void {
    this.#soon.abort()
  }

  hurry(): void {
    this.#soon.abort()
    this.#now.abort()
  }

  /** Something that has to come to an end first. */
  hold(work: Promise<unknown>): void {
    const held: Promise<unknown> = work.catch(() => undefined).finally(() => this.#held.delete(held))
    this.#held.add(held)
  }

  async over(): Promise<void> {
    while (this.#held.size > 0) await Promise.all(this.#held)
  }
}

/** Why an attempt ends here: the engine goes on with the session elsewhere, or here when this process is back. */
export class LeftError extends Error {
  constructor() {
    super('This worker is about to end. The engine goes on with the session in another one, or here when it is back.')
    this.name = 'LeftError'
  }
}
