/**
 * A value that is there, or a promise of it. A phase gives a value unless something was awaited, so a turn whose hooks, guards
 * and controls answer at once costs no promise for them.
 * Promises here are native ones: what strangers give is made native where it enters (`values/settle.ts`).
 */
export type Eventually<T> = T | Promise<T>

/** Goes on with the value: at once when it is there. */
export function after<T, R>(value: Eventually<T>, next: (value: T) => Eventually<R>): Eventually<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * Asks one item after another until one gives something, which is the answer; undefined when none does.
 * An order of evaluation is such a list. It never recurses: a list of any length needs the same stack.
 */
export function firstOf<I, T>(
  items: readonly I[],
  ask: (item: I) => Eventually<T | undefined>,
): Eventually<T | undefined> {
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
  ask: (item: I) => Eventually<T | undefined>,
): Promise<T | undefined> {
  let found = await asked
  for (let index = from; found === undefined && index < items.length; index++) {
    // `index` is below the length, and no list of phases has holes.
    found = await ask(items[index] as I)
  }
  return found
}

/** Does one thing after another while there is more to do. It never recurses. */
export function whileMore(next: () => Eventually<boolean>): Eventually<void> {
  for (;;) {
    const isMore = next()
    if (isMore instanceof Promise) return whileMoreRest(isMore, next)
    if (!isMore) return undefined
  }
}

async function whileMoreRest(asked: Promise<boolean>, next: () => Eventually<boolean>): Promise<void> {
  let isMore = await asked
  while (isMore) isMore = await next()
}

/** All of the values, in their order. Where promises fail it waits for the others first, then fails as the first of them did. */
export function together<T>(values: readonly Eventually<T>[]): Eventually<readonly T[]> {
  return isSettled(values) ? values : allOf(values)
}

function isSettled<T>(values: readonly Eventually<T>[]): values is readonly T[] {
  return !values.some((value) => value instanceof Promise)
}

async function allOf<T>(values: readonly Eventually<T>[]): Promise<readonly T[]> {
  const only = values[0]
  if (values.length === 1 && only !== undefined) return [await only]
  const settled = await Promise.allSettled(values)
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

/** For what somebody gave although nobody waits for it: that it fails, if it is a promise, is then nobody's affair. */
export function disregard(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  new Promise((resolve) => {
    resolve(value)
  }).catch(() => {})
}
