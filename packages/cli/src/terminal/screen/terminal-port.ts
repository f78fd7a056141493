export interface Size {
  readonly columns: number
  readonly rows: number
}

/** How a terminal rewraps its lines after a resize: like most terminals, or like xterm.js, which some editors embed. */
export type ReflowKind = 'usual' | 'xterm.js'

/** The terminal as the screen needs it: `processTerminal` is the real one; tests provide another. */
export interface TerminalPort extends Size {
  readonly reflow: ReflowKind
  /** Writes data, buffered if the terminal is slow. */
  write(data: string): void
  onData(listener: (data: string) => void): () => void
  onResize(listener: () => void): () => void
  /** Raw mode: keys arrive immediately, without echo. Off: restores the mode and stops reading input. */
  setRaw(isRaw: boolean): void
  /** Registers callbacks for the end and the suspension of the process. */
  guard(guard: ProcessGuard): () => void
  /** Suspends the process, like Ctrl+Z; the guard is notified. */
  suspend(): void
}

/** Synchronous reactions of the screen to the end or suspension of the process. */
export interface ProcessGuard {
  /** Called before the process ends, for any reason, and before it is suspended. */
  readonly leave: () => void
  /** Called when the process resumes. */
  readonly resume: () => void
  /** Called for a signal that ends the process. Absent: the terminal is restored, and the signal has its default effect. */
  readonly onSignal?: ((signal: EndSignal) => void) | undefined
  /** Whether another program has the terminal. Its Ctrl-C and Ctrl-\ reach this process as signals, too, and are ignored. */
  readonly isLent: () => boolean
}

export type EndSignal = 'SIGTERM' | 'SIGHUP' | 'SIGINT' | 'SIGQUIT'

/** Timers of the screen. */
export interface Timers {
  now(): number
  /** Returns a function that cancels the call. */
  after(ms: number, call: () => void): () => void
}

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}
