/** Time as a driver needs it. The loop itself reads no clock: it knows what its step records say. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number
  /** Calls back after `ms` milliseconds; the returned function takes it back. */
  after(ms: number, callback: () => void): () => void
}
