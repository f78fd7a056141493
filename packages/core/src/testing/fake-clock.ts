import type { Clock } from '../values/clock.ts'

/** A clock that moves only when a test advances it, so tests take no real time. */
export interface FakeClock extends Clock {
  /** Advances time and fires due timers, in order. Side effects can run in the microtask queue between two timers. */
  advance(ms: number): Promise<void>
  /** Number of timers that have not fired. */
  readonly pending: number
}

interface Timer {
  readonly due: number
  readonly callback: () => void
}

/** Number of microtask turns after which no other work is left. */
const settleTurns = 100

/**
 * Creates a clock that moves only when a test advances it.
 * @param options.autoAdvance When no other work is left, time jumps to the next timer: sleeps and deadlines pass by
 * themselves.
 */
export function createFakeClock(
  options: {
    /** The initial time in milliseconds. Default: 0. */
    readonly start?: number
    /** Jump to the next timer when no other work is left. Default: false. */
    readonly autoAdvance?: boolean
  } = {},
): FakeClock {
  let time = options.start ?? 0
  const timers = new Set<Timer>()
  const next = (): Timer | undefined => {
    let first: Timer | undefined
    for (const timer of timers) if (first === undefined || timer.due < first.due) first = timer
    return first
  }
  const fire = (timer: Timer): void => {
    timers.delete(timer)
    time = Math.max(time, timer.due)
    timer.callback()
  }
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < settleTurns; turns++) await Promise.resolve()
  }
  let timersMade = 0
  /**
   * Fires timers one after another while there are any, whenever no other work is left. Before that, a caller that has
   * just started to wait gets several turns of the microtask queue, because it may have concurrent work.
   */
  let pumping = false
  const pump = async (): Promise<void> => {
    if (pumping) return
    pumping = true
    while (timers.size > 0) {
      const before = timersMade
      await settle()
      const timer = next()
      if (before === timersMade && timer !== undefined) fire(timer)
    }
    pumping = false
  }
  return {
    now: () => time,
    get pending() {
      return timers.size
    },
    after(ms, callback) {
      const timer = { due: time + ms, callback }
      if (ms === Infinity) return () => {}
      timers.add(timer)
      timersMade++
      if (options.autoAdvance === true) void pump()
      return () => {
        timers.delete(timer)
      }
    },
    async advance(ms) {
      const until = time + ms
      for (;;) {
        await settle()
        const timer = next()
        if (timer === undefined || timer.due > until) break
        fire(timer)
      }
      time = until
      await settle()
    },
  }
}
