import type { Clock } from './clock.ts'

// The one file of core that touches the host (docs/decisions/0002). Timers exist on every host, but in no ES library; the rest only on some.
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

/** Longest delay that hosts honour; a longer one would fire at once. */
const longestDelayMs = 2_147_483_647

/** How long steps may follow each other before timers, signals and other I/O of the host get their turn. */
const longestTurnMs = 100

/** What the clock showed when it was read last, and whether that was since the last step: reading it costs as much as calling a hook. */
let shown = 0
let hasRead = false

/** The host's own clock: the default of drivers, never of the loop. */
export const systemClock: Clock = Object.freeze<Clock>({
  // Whole milliseconds, as records have them.
  now() {
    hasRead = true
    return (shown = Math.floor(performance.now()))
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

/** When the first step of this turn of the event loop ended; undefined where none has. */
let turnBegan: number | undefined
let pausing: Promise<void> | undefined

/** One pause for everybody: whoever continued in parallel would keep the host from its turn. A host that gets its turns is never waited for. */
function pause(): Promise<void> | undefined {
  if (pausing !== undefined) return pausing
  // Drivers have just read it, for how long the step took.
  const now = hasRead ? shown : systemClock.now()
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
 * Calls back when the host has nothing left that could ever wake it, and is about to exit. A listener that answers true has done something about it:
 * the host goes on, and it is asked again should that have been in vain. Call the result to stop listening. Only hosts with `beforeExit` (Node) tell it.
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
  const acted = [...stalled].filter((listener) => listener())
  // An empty turn of the host, behind which it tells it again.
  if (acted.length > 0) inNextTurn(() => {})
}

function hostProcess(): typeof process {
  return typeof process === 'object' && process !== null ? process : undefined
}

/** Has Node take any number of listeners on a signal without a warning: one for each of many calls is no leak. */
export function allowManyListeners(signal: AbortSignal): AbortSignal {
  hostProcess()?.getBuiltinModule?.('node:events')?.setMaxListeners?.(0, signal)
  return signal
}
