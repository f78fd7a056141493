import type { Clock } from './clock.ts'

/** The time limit of a run: a timer that aborts work in progress, and a check for cancellation points. It is paused while the run waits for a person. */
export interface Deadline {
  /** Active milliseconds so far. */
  readonly usedMs: number
  /** Limit for the whole run in active milliseconds; `Infinity` without a limit. */
  readonly limitMs: number
  /** Sets another limit for the whole run, in active milliseconds; `Infinity` for none. If it has already passed, the timer fires immediately. */
  setLimit(limitMs: number): void
  /** Calls back if the limit has passed but the timer has not fired yet. */
  check(): void
  /** Calls back once this many active milliseconds have passed, whatever the limit. Returns a function that cancels the callback. */
  after(ms: number, callback: () => void): () => void
  pause(): void
  resume(): void
  cancel(): void
}

/** The deadline of a run that has not started. */
export const noDeadline: Deadline = Object.freeze<Deadline>({
  usedMs: 0,
  limitMs: Infinity,
  setLimit: () => {},
  check: () => {},
  after: () => () => {},
  pause: () => {},
  resume: () => {},
  cancel: () => {},
})

export interface DeadlineTimes {
  /** Active milliseconds that the run used before the deadline is created. */
  readonly usedMs: number
  readonly limitMs: number
}

/** Starts a deadline. It calls back once the limit has passed in active milliseconds, and immediately if it has already passed. */
export function createDeadline(clock: Clock, times: DeadlineTimes, onPassed: () => void): Deadline {
  // Waiting for a timer would allow a request that is charged, although it can only be aborted.
  if (times.limitMs <= times.usedMs) onPassed()
  // The deadline is needed even if the limit has passed, since a person may raise the limit.
  return new RunningDeadline(clock, times, onPassed)
}

/** The time limit of a part of a run, within the limit of the whole run. Both pause together. */
export function deadlineOfPart(whole: Deadline, part: Deadline): Deadline {
  return {
    get usedMs() {
      return part.usedMs
    },
    get limitMs() {
      return part.limitMs
    },
    setLimit: (limitMs) => part.setLimit(limitMs),
    check() {
      whole.check()
      part.check()
    },
    after: (ms, callback) => part.after(ms, callback),
    pause() {
      whole.pause()
      part.pause()
    },
    resume() {
      whole.resume()
      part.resume()
    },
    cancel: () => part.cancel(),
  }
}

/** A pending callback of a deadline. */
interface ActiveTimer {
  /** Due time, in active milliseconds of the run. */
  readonly dueMs: number
  readonly callback: () => void
  stop: () => void
}

const noTimer = (): void => {}

class RunningDeadline implements Deadline {
  readonly #clock: Clock
  readonly #onPassed: () => void
  #limitMs: number
  /** Active milliseconds up to `#since`, or up to the pause. */
  #usedMs: number
  #since: number
  /** Number of pauses in effect: concurrent calls may each wait for a person. */
  #waiting = 0
  #isCancelled = false
  #stopTimer: (() => void) | undefined
  #timers: Set<ActiveTimer> | undefined

  constructor(clock: Clock, { usedMs, limitMs }: DeadlineTimes, onPassed: () => void) {
    this.#clock = clock
    this.#onPassed = onPassed
    this.#usedMs = usedMs
    this.#limitMs = limitMs
    this.#since = clock.now()
    this.#startTimer()
  }

  get usedMs(): number {
    return this.#waiting > 0 ? this.#usedMs : this.#usedMs + this.#clock.now() - this.#since
  }

  get limitMs(): number {
    return this.#limitMs
  }

  setLimit(limitMs: number): void {
    this.#limitMs = limitMs
    this.#startTimer()
  }

  check(): void {
    // Without a limit, the clock is not read at each cancellation point.
    if (this.#limitMs === Infinity) return
    if (!this.#isCancelled && this.#waiting === 0 && this.usedMs >= this.#limitMs) this.#onPassed()
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { dueMs: this.usedMs + ms, callback, stop: noTimer }
    const timers = (this.#timers ??= new Set())
    timers.add(timer)
    if (this.#waiting === 0) this.#start(timer)
    return () => {
      timer.stop()
      timers.delete(timer)
    }
  }

  #start(timer: ActiveTimer): void {
    timer.stop = this.#clock.after(Math.max(0, timer.dueMs - this.usedMs), () => {
      this.#timers?.delete(timer)
      timer.callback()
    })
  }

  pause(): void {
    const { usedMs } = this
    if (this.#waiting++ > 0) return
    this.#usedMs = usedMs
    this.#stopTimer?.()
    for (const timer of this.#timers ?? []) timer.stop()
  }

  resume(): void {
    if (--this.#waiting > 0) return
    this.#since = this.#clock.now()
    this.#startTimer()
    for (const timer of this.#timers ?? []) this.#start(timer)
  }

  cancel(): void {
    this.#isCancelled = true
    this.#stopTimer?.()
  }

  #startTimer(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (this.#isCancelled || this.#waiting > 0 || this.#limitMs === Infinity) return
    this.#stopTimer = this.#clock.after(Math.max(0, this.#limitMs - this.usedMs), this.#onPassed)
  }
}
