/**
 * A promise of the engine. It is awaited by `Engine.first` alone, one call at a time: the engine tells what came first, and tells the same when the handler runs
 * again. A native `await`, `then` or `Promise.all` of several breaks that.
 */
export interface EnginePromise<T> {
  /** A promise of what `change` makes of the value. */
  map<U>(change: (value: T) => U): EnginePromise<U>
}

/** What a handler gets of the engine, as far as a session needs it. All of it gives the same when the handler runs again. */
export interface Engine {
  /** Does something once, and puts what it gives on record. When the handler runs again, `effect` is called only if that is not there. */
  once(name: string, effect: () => Promise<string>): EnginePromise<string>
  /** Over when so many milliseconds have passed, also when nobody runs the handler meanwhile. */
  sleep(ms: number): EnginePromise<void>
  /** The next message under this name. Ask for one at a time. Of several that come while the handler awaits something else the last alone is told. */
  signal(name: string): EnginePromise<string>
  /** Somebody cancels the invocation. */
  cancelled(): EnginePromise<void>
  /** What comes first of these. */
  first<T>(promises: readonly EnginePromise<T>[]): Promise<T>
  /** Aborted when the engine has no part in this attempt any more: what it does from now on counts for nothing. */
  readonly gone: AbortSignal
}
