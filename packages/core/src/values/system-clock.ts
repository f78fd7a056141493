import type { Clock } from './clock.ts'

// The only file of core that uses the host (docs/decisions/0002). Timers exist on every host, but not in the ES library;
// the other functions exist only on some hosts.
declare const performance: { now(): number }
declare function setTimeout(callback: () => void, durationMs: number): unknown
declare function clearTimeout(timer: unknown): void
declare const setImmediate: ((callback: () => void) => unknown) | undefined
declare const process:
  | {
      readonly on?: (event: 'beforeExit', listener: () => void) => unknown
      readonly off?: (event: 'beforeExit', listener: () => void) => unknown
      readonly getBuiltinModule?: (
        name: 'node:events',
      ) => { readonly setMaxListeners?: (most: number, target: AbortSignal) => void } | undefined
    }
  | undefined

/** The longest delay that hosts support; a longer one would fire immediately. */
const longestDelayMs = 2_147_483_647

/** How long steps may follow each other before the host's timers, signals and other I/O can run. */
const longestTurnMs = 100

/** The last reading of the clock, and whether it was taken since the last step. Reading the clock costs as much as calling a hook. */
let lastReading = 0
let hasRead = false

/** The host's own clock: the default of step engines, never of the loop. */
export const systemClock: Clock = Object.freeze<Clock>({
  // Whole milliseconds, as in records.
  now() {
    hasRead = true
    return (lastReading = Math.floor(performance.now()))
  },
  wallTime: () => Date.now(),
  after(ms, callback) {
    if (ms > longestDelayMs) {
      if (ms === Number.POSITIVE_INFINITY) return () => {}
      let cancel = systemClock.after(longestDelayMs, () => {
        cancel = systemClock.after(ms - longestDelayMs, callback)
      })
      return () => cancel()
    }
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  pause: () => pause(),
})

/** The time at which the first step of this turn of the event loop ended; undefined if none has ended. */
let turnBegan: number | undefined
let pausing: Promise<void> | undefined

/** One pause that all callers share: if one of them continued in parallel, the host could not run. If the host runs regularly, there is no pause. */
function pause(): Promise<void> | undefined {
  if (pausing !== undefined) return pausing
  // Step engines have just read the clock to measure the step.
  const now = hasRead ? lastReading : systemClock.now()
  hasRead = false
  if (turnBegan === undefined) {
    turnBegan = now
    inNextTurn(() => (turnBegan = undefined))
    return undefined
  }
  if (now - turnBegan < longestTurnMs) return undefined
  pausing = new Promise((resolve) => {
    inNextTurn(() => {
      pausing = undefined
      resolve()
    })
  })
  return pausing
}

function inNextTurn(callback: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(callback)
  else setTimeout(callback, 0)
}

const stalled = new Set<() => boolean>()

/**
 * Calls back when the host is about to exit because nothing is pending. If a listener returns true, it has taken an
 * action: the host continues, and the listener is called again if the action had no effect. Call the returned function
 * to unsubscribe. Only works on hosts with `beforeExit` (Node).
 */
export function onStalled(listener: () => boolean): () => void {
  if (stalled.size === 0) hostProcess()?.on?.('beforeExit', hostStalled)
  stalled.add(listener)
  return () => {
    if (!stalled.delete(listener) || stalled.size > 0) return
    hostProcess()?.off?.('beforeExit', hostStalled)
  }
}

function hostStalled(): void {
  const handled = [...stalled].filter((listener) => listener())
  // An empty turn of the host, after which it calls `beforeExit` again.
  if (handled.length > 0) inNextTurn(() => {})
}

function hostProcess(): typeof process {
  return typeof process === 'object' && process !== null ? process : undefined
}

/** Lets Node accept any number of listeners on a signal without a leak warning. */
export function allowManyListeners(signal: AbortSignal): AbortSignal {
  hostProcess()?.getBuiltinModule?.('node:events')?.setMaxListeners?.(0, signal)
  return signal
}
