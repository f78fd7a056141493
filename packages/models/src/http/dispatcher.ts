/** Where Node's HTTP client keeps the dispatcher that `fetch` uses: the name by which its package finds it, too. */
const dispatcherSymbol = Symbol.for('undici.globalDispatcher.1')

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean
}

/**
 * The dispatcher that `fetch` uses by itself, or that the program has put in its place, without limits of its own on
 * how long an answer may take. Undefined where there is none to be found.
 */
export function patientDispatcher(): object | undefined {
  // Touching it loads Node's client, which sets the dispatcher.
  void globalThis.Headers
  const current: unknown = Reflect.get(globalThis, dispatcherSymbol)
  if (!isDispatcher(current)) return undefined
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    current.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)
  return { dispatch }
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function'
}

/** `dispatcher` is an extension of Node's to the `fetch` of the web. */
export function withDispatcher(init: RequestInit | undefined, dispatcher: object | undefined): RequestInit {
  if (dispatcher === undefined) return { ...init }
  // Of a dispatcher `fetch` calls `dispatch` alone; the types want all of undici's class.
  return { ...init, dispatcher: dispatcher as NonNullable<RequestInit['dispatcher']> }
}
