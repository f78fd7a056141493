import type { Clock } from '../values/clock.ts'

/** Counts what goes on in a run, and tells when nothing of it but waiting is left. */
export class Rest {
  readonly #tell: (ms: number | null | undefined) => void
  readonly #clock: Clock
  #working = 0
  /** By step: until when it waits, on the clock; Infinity for a person. */
  readonly #waits = new Map<string, number>()
  #told: number | undefined

  constructor(tell: (ms: number | null | undefined) => void, clock: Clock) {
    this.#tell = tell
    this.#clock = clock
  }

  /** The step goes on until this settles, unless it waits. */
  during<T>(key: string, step: Promise<T>): Promise<T> {
    return this.#waits.has(key) ? step : this.#goingOn(step)
  }

  async #goingOn<T>(step: Promise<T>): Promise<T> {
    this.#working++
    this.#look()
    try {
      return await step
    } finally {
      this.#working--
      this.#look()
    }
  }

  /** `until`: milliseconds of the clock; Infinity for a person. */
  waits(key: string, until: number): void {
    this.#waits.set(key, until)
    this.#look()
  }

  wakes(key: string): void {
    this.#waits.delete(key)
    this.#look()
  }

  #look(): void {
    const until = this.#working > 0 || this.#waits.size === 0 ? undefined : Math.min(...this.#waits.values())
    if (until === this.#told) return
    this.#told = until
    if (until === undefined) this.#tell(undefined)
    else this.#tell(until === Infinity ? null : Math.max(0, until - this.#clock.now()))
  }
}
