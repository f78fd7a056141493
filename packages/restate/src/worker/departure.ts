import { sharedAbort } from '@halting/core/adapters'

/**
 * How a process gives up its sessions, so that it may end and another goes on with them.
 * D1: after `begin` no attempt begins here. D2: one that goes on ends at the next lap at which nothing else is under way, or at a rest; after `hurry` at once.
 * D3: `over` settles when nothing is left of any. D4: `giveWay` does what `begin` does, until `stay`: the process goes on. After `begin` there is no way back.
 */
export class Departure {
  #soon = sharedAbort()
  #isFinal = false
  readonly #now = sharedAbort()
  readonly #pending = new Set<Promise<unknown>>()

  /** Aborted from `begin` or `giveWay` on. */
  get soon(): AbortSignal {
    return this.#soon.signal
  }

  /** Aborted from `hurry` on. */
  get now(): AbortSignal {
    return this.#now.signal
  }

  /** This process ends: it takes nothing that others leave. */
  get isFinal(): boolean {
    return this.#isFinal
  }

  /** Accepts no new attempt; running ones end at the next opportunity. */
  begin(): void {
    this.#isFinal = true
    this.#soon.abort()
  }

  /** Another worker goes on with all sessions of this one. */
  giveWay(): void {
    this.#soon.abort()
  }

  /** Takes `giveWay` back, for attempts that begin from now on. */
  stay(): void {
    if (!this.#isFinal && this.soon.aborted) this.#soon = sharedAbort()
  }

  /** Ends running attempts at once. */
  hurry(): void {
    this.#isFinal = true
    this.#soon.abort()
    this.#now.abort()
  }

  /** Something that has to come to an end first. */
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

/** Why an attempt ends here: the engine goes on with the session elsewhere, or here when this process is back. */
export class LeftError extends Error {
  constructor() {
    super(leftMessage)
    this.name = 'LeftError'
  }
}

/** Whether the engine was told so of the last attempt. */
export function hasLeft(failure: string | null): boolean {
  return failure?.includes(leftMessage) === true
}
