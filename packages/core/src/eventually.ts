/**
 * A value that is there, or a promise of it. A phase gives a value unless something was awaited, so a turn whose hooks, guards
 * and controls answer at once costs no promise for them.
 * Promises here are native ones: what strangers give is made native where it enters (`cancel/settle.ts`).
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
  items: Iterable<I>,
  ask: (item: I) => Eventually<T | undefined>,
): Eventually<T | undefined> {
  const iterator = items[Symbol.iterator]()
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
    const found = ask(next.value)
    if (found instanceof Promise) return firstOfRest(found, iterator, ask)
    if (found !== undefined) return found
  }
  return undefined
}

async function firstOfRest<I, T>(
  asked: Promise<T | undefined>,
  rest: Iterator<I>,
  ask: (item: I) => Eventually<T | undefined>,
): Promise<T | undefined> {
  let found = await asked
  while (found === undefined) {
    const next = rest.next()
    if (next.done === true) return undefined
    found = await ask(next.value)
  }
  return found
}

/** All of the values, in their order. Where promises fail it waits for the others first, then fails as the first of them did. */
export function together<T>(values: readonly Eventually<T>[]): Eventually<readonly T[]> {
  return isSettled(values) ? values : allOf(values)
}

function isSettled<T>(values: readonly Eventually<T>[]): values is readonly T[] {
  return !values.some((value) => value instanceof Promise)
}

async function allOf<T>(values: readonly Eventually<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(values)
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}
