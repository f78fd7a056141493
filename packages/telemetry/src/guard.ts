/**
 * Catches errors of providers and custom functions, so that they neither end a run nor stop other telemetry. Only the
 * first one is reported.
 */
export class FailureGuard {
  readonly #report: ((message: string) => void) | undefined
  #isReported = false

  constructor(report?: (message: string) => void) {
    this.#report = report
  }

  /** Runs a function; undefined if it throws. */
  try<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (thrown) {
      this.failed(thrown)
      return undefined
    }
  }

  /** Reports an error, for code that runs too often for a closure. */
  failed(thrown: unknown): void {
    if (this.#isReported) return
    this.#isReported = true
    try {
      this.#report?.(
        `Telemetry failed; the run continues: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      )
    } catch {
      // The error cannot be reported.
    }
  }
}
