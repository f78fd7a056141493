/** Time as a driver needs it. The loop itself reads no clock: it knows only the times in its step records. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number
  /** Calls back after `ms` milliseconds, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void
  /**
   * Resolves once the host's timers and I/O had a turn; undefined while they are not behind. Asked after every step. Without it, a model and tools
   * that answer at once keep timers from firing: time limits and aborts by timers would come late.
   */
  pause?(): Promise<void> | undefined
}
