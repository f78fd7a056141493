/**
 * A value, or a promise of it. A phase returns a promise only if it awaited something. So a turn whose hooks, guards and
 * external inputs answer synchronously needs no promises. Promises of this type are native: untrusted thenables are
 * converted when they are received (`values/settle.ts`).
 */
export type MaybePromise<T> = T | Promise<T>

/** Continues with the value, synchronously if it is not a promise. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * Calls `ask` for one item after another and returns the first result that is not undefined. Such a list defines an
 * order of evaluation. The function does not recurse, so a list of any length needs the same stack.
 */
export function firstResult<I, T>(
  items: readonly I[],
  ask: (item: I) => MaybePromise<T | undefined>,
): MaybePromise<T | undefined> {
  let index = 0
  for (const item of items) {
    index++
    const found = ask(item)
    if (found instanceof Promise) return firstOfRest(found, items, index, ask)
    if (found !== undefined) return found
  }
  return undefined
}

async function firstOfRest<I, T>(
  asked: Promise<T | undefined>,
  items: readonly I[],
  from: number,
  ask: (item: I) => MaybePromise<T | undefined>,
): Promise<T | undefined> {
  let found = await asked
  for (let index = from; found === undefined && index < items.length; index++) {
    // `index` is below the length, and lists of phases have no holes.
    found = await ask(items[index] as I)
  }
  return found
}

/** Calls `next` until it returns false. The function does not recurse. */
export function repeatWhile(next: () => MaybePromise<boolean>): MaybePromise<void> {
  for (;;) {
    const isMore = next()
    if (isMore instanceof Promise) return whileMoreRest(isMore, next)
    if (!isMore) return undefined
  }
}

async function whileMoreRest(asked: Promise<boolean>, next: () => MaybePromise<boolean>): Promise<void> {
  let isMore = await asked
  while (isMore) isMore = await next()
}

/** Returns all of the values, in order. If promises fail, it waits for the others, then rejects with the first error. */
export function awaitAll<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return isSettled(values) ? values : allOf(values)
}

function isSettled<T>(values: readonly MaybePromise<T>[]): values is readonly T[] {
  return !values.some((value) => value instanceof Promise)
}

async function allOf<T>(values: readonly MaybePromise<T>[]): Promise<readonly T[]> {
  const only = values[0]
  if (values.length === 1 && only !== undefined) return [await only]
  const settled = await Promise.allSettled(values)
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

/** Ignores a value that nobody waits for. If it is a promise, its rejection is handled. */
export function ignoreRejection(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  new Promise((resolve) => {
    resolve(value)
  }).catch(() => {})
}
