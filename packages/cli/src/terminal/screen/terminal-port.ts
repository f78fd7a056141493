export interface Size {
  readonly columns: number
  readonly rows: number
}

/** How a terminal wraps its lines anew when it becomes narrower or wider: as most do, or as xterm.js does, which is that of some editors. */
export type ReflowKind = 'usual' | 'xterm.js'

/** The terminal as the screen needs it: `processTerminal` is the real one, tests bring another. */
export interface TerminalPort extends Size {
  readonly reflow: ReflowKind
  /** Whoever reads it sees it when this returns, or as soon as the terminal takes it. */
  write(data: string): void
  onData(listener: (data: string) => void): () => void
  onResize(listener: () => void): () => void
  /** Each key at once, without echo; and input flows. Off: as it was, and no input is taken from who comes next. */
  setRaw(isRaw: boolean): void
  /** Tells what happens to the process. */
  guard(guard: ProcessGuard): () => void
  /** Stops the process, as Ctrl+Z does; the guard is told. */
  suspend(): void
}

/** What the screen does where the process ends or is stopped. All of it at once, before anything else happens. */
export interface ProcessGuard {
  /** Called when the process ends, however, and before it is stopped. */
  readonly leave: () => void
  /** The process goes on after a stop. */
  readonly resume: () => void
  /** Somebody wants the process to end. Absent: the terminal is left, and the signal does what it does. */
  readonly onSignal?: ((signal: EndSignal) => void) | undefined
  /** The terminal is lent: its keys that end or stop a program are for who has it, and reach this process as signals beside. */
  readonly isLent: () => boolean
}

export type EndSignal = 'SIGTERM' | 'SIGHUP' | 'SIGINT' | 'SIGQUIT'

/** Time, as the screen needs it. */
export interface Timers {
  now(): number
  /** Gives the way to call it off. */
  after(ms: number, call: () => void): () => void
}

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms)
    return () => clearTimeout(timer)
  },
}
