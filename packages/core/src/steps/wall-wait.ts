import { fieldsOf } from '../values/given.ts'
import type { Json } from '../values/json.ts'
import { wallTimeOf, type Clock } from '../values/clock.ts'

/** When a wait began and when it ends at the latest, in milliseconds since 1970. JSON: the intent of its step. */
export type WaitMoments = { readonly since: number; readonly until: number }

/** The moments of a wait that begins now. */
export function momentsFrom(clock: Clock, longestMs: number): WaitMoments {
  const since = wallTimeOf(clock)
  return { since, until: since + Math.max(0, longestMs) }
}

/** Those of a wait that an earlier process began; undefined for an intent that has none. */
export function momentsOn(intent: Json | undefined): WaitMoments | undefined {
  const { since, until } = fieldsOf(intent) ?? {}
  return typeof since === 'number' && typeof until === 'number' ? { since, until } : undefined
}

/** How often the wall clock is looked at: a machine that slept has no timer that says so. */
const lookMs = 15_000

/**
 * A wait until a moment, in one process. It is over when the wall clock says so, or when so much time has passed on the steady clock as was left when this
 * process took it up: a wall clock that is set back makes no wait longer than it was meant to be.
 */
export class WallWait {
  readonly #clock: Clock
  readonly #moments: WaitMoments
  readonly #startedAt: number
  /** Of its length, when this process took it up. */
  readonly #waitedBefore: number
  #cancel: (() => void) | undefined

  constructor(clock: Clock, moments: WaitMoments) {
    this.#clock = clock
    this.#moments = moments
    this.#startedAt = clock.now()
    this.#waitedBefore = this.#within(wallTimeOf(clock) - moments.since)
  }

  get #lengthMs(): number {
    return Math.max(0, this.#moments.until - this.#moments.since)
  }

  #within(ms: number): number {
    return Math.min(this.#lengthMs, Math.max(0, ms))
  }

  /** Milliseconds since it began, at most its length. */
  get waitedMs(): number {
    const steady = this.#waitedBefore + this.#clock.now() - this.#startedAt
    return this.#within(Math.max(steady, wallTimeOf(this.#clock) - this.#moments.since))
  }

  /** When it ends if it ends now, by its beginning. */
  get endedMs(): number {
    return this.#moments.since + this.waitedMs
  }

  get leftMs(): number {
    return this.#lengthMs - this.waitedMs
  }

  /** Calls back once it is over, in a later turn. */
  start(onOver: () => void): void {
    const { leftMs } = this
    this.#cancel = this.#clock.after(Math.min(leftMs, lookMs), () => {
      if (this.leftMs <= 0) onOver()
      else this.start(onOver)
    })
  }

  cancel(): void {
    this.#cancel?.()
  }
}
