/** Time as a driver needs it. The loop itself reads no clock: it knows only the times in its step records. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number
  /** Calls back after `ms` milliseconds, unless the returned function was called before. */
  after(ms: number, callback: () => void): () => void
}
