interface DispatcherLimits {
  /** Milliseconds; 0 for none. */
  readonly headersTimeout: number
  readonly bodyTimeout: number
}

type MakeDispatcher = new (limits: DispatcherLimits) => object

/** Where Node's HTTP client keeps the dispatcher that `fetch` uses: the name by which its package finds it, too. */
const dispatcherSymbol = Symbol.for('undici.globalDispatcher.1')

let made: { readonly from: object; readonly dispatcher: object } | undefined

/**
 * A dispatcher like the one that `fetch` uses by itself, with other limits; undefined where the program has put one of
 * its own in place, which then decides, and where there is none to be found.
 */
export function patientDispatcher(limits: DispatcherLimits): object | undefined {
  // Touching it loads Node's client, which sets the dispatcher.
  void globalThis.Headers
  const current: unknown = Reflect.get(globalThis, dispatcherSymbol)
  if (typeof current !== 'object' || current === null || current.constructor.name !== 'Agent') return undefined
  if (made?.from !== current) {
    // Of a plain Agent, the constructor takes limits: the class is the one in undici's documentation.
    const Dispatcher = current.constructor as MakeDispatcher
    made = { from: current, dispatcher: new Dispatcher(limits) }
  }
  return made.dispatcher
}

/** `dispatcher` is an extension of Node's to the `fetch` of the web. */
export function withDispatcher(init: RequestInit | undefined, dispatcher: object | undefined): RequestInit {
  if (dispatcher === undefined) return { ...init }
  // Made by the very client that is called: its types know only the copy of the class that they were written for.
  return { ...init, dispatcher: dispatcher as NonNullable<RequestInit['dispatcher']> }
}
