/** The cost of reading, independent of the machine. */
export interface Steps {
  /** Characters that searches and patterns examined, plus elements of lists that were examined. */
  readonly looked: number
  /** The longest input of a pattern. A bad pattern takes the square of it. */
  readonly longestSubject: number
}

type Method = (this: unknown, ...given: unknown[]) => unknown
type Prototype = Record<string | symbol, Method>

/** Counts what `read` examines with built-in searches. `read` must be synchronous. */
export function countSteps(read: () => void): Steps {
  let looked = 0
  let longestSubject = 0
  const restore: (() => void)[] = []
  const replace = (prototype: object, name: string | symbol, wrap: (method: Method) => Method): void => {
    // These properties of the prototype are methods.
    const methods = prototype as Prototype
    const method = methods[name]
    if (method === undefined) throw new Error(`there is no ${String(name)}`)
    methods[name] = wrap(method)
    restore.push(() => void (methods[name] = method))
  }
  let isInside = false
  for (const name of ['test', Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.split, Symbol.search, 'exec']) {
    replace(
      RegExp.prototype,
      name,
      (method) =>
        function (this: unknown, ...given) {
          // The methods of a pattern call each other.
          if (isInside) return method.apply(this, given)
          isInside = true
          const { length } = String(given[0])
          looked += length
          longestSubject = Math.max(longestSubject, length)
          try {
            return method.apply(this, given)
          } finally {
            isInside = false
          }
        },
    )
  }
  replace(
    String.prototype,
    'charCodeAt',
    (method) =>
      function (this: unknown, ...given) {
        looked++
        return method.apply(this, given)
      },
  )
  replace(
    String.prototype,
    'indexOf',
    (method) =>
      function (this: unknown, ...given) {
        const found = Number(method.apply(this, given))
        looked += Math.max(0, (found < 0 ? String(this).length : found) - Number(given[1] ?? 0)) + 1
        return found
      },
  )
  for (const name of ['find', 'findLast', 'findLastIndex', 'some', 'every', 'filter', 'map', 'toSorted'] as const) {
    replace(
      Array.prototype,
      name,
      (method) =>
        function (this: unknown, callback, ...rest) {
          if (typeof callback !== 'function') return method.call(this, callback, ...rest)
          const counting = function (this: unknown, ...given: unknown[]): unknown {
            looked++
            return (callback as Method).apply(this, given)
          }
          return method.call(this, counting, ...rest)
        },
    )
  }
  try {
    read()
  } finally {
    for (const undo of restore) undo()
  }
  return { looked, longestSubject }
}
