import { fieldsOf } from '../values/validators.ts'
import type { Json } from '../values/json.ts'
import { wallTimeOf, type Clock } from '../values/clock.ts'

/** Start and latest end of a wait, in milliseconds since 1970. JSON. These times are the intent of the step. */
export type WaitTimes = { readonly since: number; readonly until: number }

/** The times of a wait that starts now. */
export function waitTimesFrom(clock: Clock, longestMs: number): WaitTimes {
  const since = wallTimeOf(clock)
  return { since, until: since + Math.max(0, longestMs) }
}

/** The times of a wait that an earlier process started; undefined for an intent without them. */
export function waitTimesIn(intent: Json | undefined): WaitTimes | undefined {
  const { since, until } = fieldsOf(intent) ?? {}
  return typeof since === 'number' && typeof until === 'number' ? { since, until } : undefined
}

/** Interval of checking the wall clock: after the machine has slept, no timer reports that time has passed. */
const checkIntervalMs = 15_000

/**
 * A wait until a point in time, in one process. It ends when the wall clock reaches that point, or when the remaining
 * time has passed on the steady clock. Setting back the wall clock therefore cannot extend the wait.
 */
export class WallWait {
  readonly #clock: Clock
  readonly #times: WaitTimes
  readonly #startedAt: number
  /** The part of the duration that had passed when this process continued the wait. */
  readonly #waitedBefore: number
  #cancel: (() => void) | undefined

  constructor(clock: Clock, times: WaitTimes) {
    this.#clock = clock
    this.#times = times
    this.#startedAt = clock.now()
    this.#waitedBefore = this.#within(wallTimeOf(clock) - times.since)
  }

  get #lengthMs(): number {
    return Math.max(0, this.#times.until - this.#times.since)
  }

  #within(ms: number): number {
    return Math.min(this.#lengthMs, Math.max(0, ms))
  }

  /** Milliseconds since it began, at most its duration. */
  get waitedMs(): number {
    const steady = this.#waitedBefore + this.#clock.now() - this.#startedAt
    return this.#within(Math.max(steady, wallTimeOf(this.#clock) - this.#times.since))
  }

  /** The end time if it ended now, calculated from its start. */
  get endedMs(): number {
    return this.#times.since + this.waitedMs
  }

  get leftMs(): number {
    return this.#lengthMs - this.waitedMs
  }

  /** Calls back once it is over, in a later turn. */
  start(onOver: () => void): void {
    const { leftMs } = this
    this.#cancel = this.#clock.after(Math.min(leftMs, checkIntervalMs), () => {
      if (this.leftMs <= 0) onOver()
      else this.start(onOver)
    })
  }

  cancel(): void {
    this.#cancel?.()
  }
}
