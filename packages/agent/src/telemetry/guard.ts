/** Does what a provider, or a function of the program, may throw at. Undefined where it did; it is told once. */
export type Guard = <T>(work: () => T) => T | undefined

/** Whatever they throw ends nothing, and keeps nothing else from being told. */
export function guardedBy(tell: ((message: string) => void) | undefined): Guard {
  let isTold = false
  return (work) => {
    try {
      return work()
    } catch (thrown) {
      if (isTold) return undefined
      isTold = true
      try {
        tell?.(`Telemetry failed, and the run goes on: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
      } catch {
        // Nobody is left to tell.
      }
      return undefined
    }
  }
}
