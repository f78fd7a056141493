/**
 * A promise of the engine. Only `Engine.first` awaits it, one call at a time: the engine reports which came first, and reports the same when the handler runs again. A native
 * `await`, `then` or `Promise.all` of several would break that.
 */
export interface EnginePromise<T> {
  /** A promise of the value that `change` returns. */
  map<U>(change: (value: T) => U): EnginePromise<U>
}

/** The engine functions that a handler uses. Every call returns the same result when the handler runs again. */
export interface Engine {
  /** Runs an effect once and puts its result on record. When the handler runs again, calls `effect` only if the result is not on record. */
  once(name: string, effect: () => Promise<string>): EnginePromise<string>
  /** Resolves after this many milliseconds, even if nobody runs the handler meanwhile. */
  sleep(ms: number): EnginePromise<void>
  /** The next message of this signal. Request one at a time. If several arrive while the handler awaits something else, only the last is delivered. */
  signal(name: string): EnginePromise<string>
  /** Resolves when the invocation is cancelled. */
  cancelled(): EnginePromise<void>
  /** The first of these to resolve. */
  first<T>(promises: readonly EnginePromise<T>[]): Promise<T>
  /** Aborted when the engine has given up this attempt, so that its further actions have no effect. */
  readonly gone: AbortSignal
}
