import { sharedAbort } from '@halting/core/adapters'

/**
 * How a process gives up its sessions, so that it can end and another one continues them.
 * D1: after `begin` no attempt begins here.
 * D2: a running attempt ends at its next iteration without open effects, or at a rest; after `hurry` at once.
 * D3: `over` settles when no attempt is left.
 * D4: `giveWay` does the same as `begin` until `stay` is called: the process keeps running. `begin` cannot be undone.
 */
export class Departure {
  #soon = sharedAbort()
  #isFinal = false
  readonly #now = sharedAbort()
  readonly #pending = new Set<Promise<unknown>>()

  /** Aborted by `begin` or `giveWay`. */
  get soon(): AbortSignal {
    return this.#soon.signal
  }

  /** Aborted by `hurry`. */
  get now(): AbortSignal {
    return this.#now.signal
  }

  /** Whether this process is ending, so that it takes over no sessions. */
  get isFinal(): boolean {
    return this.#isFinal
  }

  /** Accepts no new attempt; running ones end at the next opportunity. */
  begin(): void {
    this.#isFinal = true
    this.#soon.abort()
  }

  /** Lets another worker continue all sessions of this one. */
  giveWay(): void {
    this.#soon.abort()
  }

  /** Undoes `giveWay`, for attempts that begin from now on. */
  stay(): void {
    if (!this.#isFinal && this.soon.aborted) this.#soon = sharedAbort()
  }

  /** Ends running attempts at once. */
  hurry(): void {
    this.#isFinal = true
    this.#soon.abort()
    this.#now.abort()
  }

  /** Adds work that has to end before the process. */
  hold(work: Promise<unknown>): void {
    const pending: Promise<unknown> = work.catch(() => undefined).finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
  }

  /** Settles when no attempt is left. */
  async over(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }
}

const leftMessage =
  'This worker leaves the session. The engine goes on with it in another one, or here when this one works again.'

/** Thrown to end an attempt here: the engine continues the session elsewhere, or here when this process is back. */
export class LeftError extends Error {
  constructor() {
    super(leftMessage)
    this.name = 'LeftError'
  }
}

/** Whether the last attempt ended with a `LeftError`. */
export function isLeftFailure(failure: string | null): boolean {
  return failure?.includes(leftMessage) === true
}
