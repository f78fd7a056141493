import { RestatePromise, type Context, type internal, type Serde } from '@restatedev/restate-sdk'
import { atEngineTime } from '../http/engine-clock.ts'
import type { Engine, EnginePromise } from './engine.ts'
import { ConfigurationError } from '@halting/core'

/** Adapts Restate's context to the `Engine` port. */
export function restateEngine(context: Context): Engine {
  checkNode()
  // This cast is safe: with `explicitCancellation`, every context on Node has these methods.
  const internalContext = context as internal.ContextInternal
  return {
    // No retries within a step: a step that fails ends the attempt, and the next attempt replays the records first.
    once: (name, effect) => wrapPromise(context.run(name, effect, { serde: rawText })),
    sleep: (ms) => wrapPromise(atEngineTime(() => context.sleep(ms))),
    signal: (name) => wrapPromise(context.signal<string>(name)),
    cancelled: () => wrapPromise(internalContext.cancellation()),
    // This cast is safe: all of these promises were created here.
    first: (promises) =>
      RestatePromise.race((promises as readonly WrappedPromise<never>[]).map(({ promise }) => promise)),
    gone: context.request().attemptCompletedSignal,
  }
}

/** Passes text through: a batch is JSON already and need not be encoded as a JSON string. */
const rawText: Serde<string> = {
  contentType: 'application/json',
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes).toString('utf8'),
}

interface WrappedPromise<T> extends EnginePromise<T> {
  readonly promise: RestatePromise<T>
}

function wrapPromise<T>(promise: RestatePromise<T>): WrappedPromise<T> {
  return {
    promise,
    map: (change) =>
      wrapPromise(
        promise.map((value, failure) => {
          if (failure !== undefined) throw failure
          // This cast is safe: there is a value if there is no failure.
          return change(value as T)
        }),
      ),
  }
}

/** @throws ConfigurationError on a Node version on which the engine's SDK would hang silently. */
export function checkNode(): void {
  if ('withResolvers' in Promise) return
  throw new ConfigurationError(
    `A worker of a cluster needs Node 22 or newer, and this is Node ${process.versions.node}. Clients of a cluster run on this version.`,
  )
}
