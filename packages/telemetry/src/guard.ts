/** Whatever a provider, or a function of the program, throws ends nothing, and keeps nothing else from being told. The first of it is told. */
export class FailureGuard {
  readonly #report: ((message: string) => void) | undefined
  #isReported = false

  constructor(report?: (message: string) => void) {
    this.#report = report
  }

  /** Undefined where it throws. */
  try<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (thrown) {
      this.failed(thrown)
      return undefined
    }
  }

  /** For what happens too often for a closure each time. */
  failed(thrown: unknown): void {
    if (this.#isReported) return
    this.#isReported = true
    try {
      this.#report?.(
        `Telemetry failed, and the run goes on: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      )
    } catch {
      // Nobody is left to tell.
    }
  }
}
