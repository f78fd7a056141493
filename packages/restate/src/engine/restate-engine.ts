import { RestatePromise, type Context, type internal, type Serde } from '@restatedev/restate-sdk'
import { atEngineTime } from '../http/engine-clock.ts'
import type { Engine, EnginePromise } from './engine.ts'
import { ConfigurationError } from '@halting/core'

/** Restate's context as the port. */
export function restateEngine(context: Context): Engine {
  checkNode()
  // With `explicitCancellation`, every context of Node has this.
  const internalContext = context as internal.ContextInternal
  return {
    // Nothing is tried again here: a step that fails ends the attempt, and the next one reads the record first.
    once: (name, effect) => wrapPromise(context.run(name, effect, { serde: rawText })),
    sleep: (ms) => wrapPromise(atEngineTime(() => context.sleep(ms))),
    signal: (name) => wrapPromise(context.signal<string>(name)),
    cancelled: () => wrapPromise(internalContext.cancellation()),
    // All of them are made here.
    first: (promises) =>
      RestatePromise.race((promises as readonly WrappedPromise<never>[]).map(({ promise }) => promise)),
    gone: context.request().attemptCompletedSignal,
  }
}

/** As it is: a batch is JSON already, and need not be made a string of JSON. */
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
          // It is there where there is no failure.
          return change(value as T)
        }),
      ),
  }
}

/** @throws ConfigurationError on a Node on which the engine's SDK would hang without a word. */
export function checkNode(): void {
  if ('withResolvers' in Promise) return
  throw new ConfigurationError(
    `A worker of a cluster needs Node 22 or newer, and this is Node ${process.versions.node}. What only asks a cluster runs here.`,
  )
}
