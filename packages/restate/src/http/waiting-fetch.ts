/** Where `fetch` of Node keeps what connects; undici documents the name. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

type Dispatch = (options: object, handler: object) => boolean

/**
 * `fetch` for calls that wait long and whose caller ends them itself. While an answer is awaited, the timeouts of Node's `fetch` wake the process twice a second, which takes
 * more of a client than all else that waiting does; this is without them. Everywhere else, it is `fetch`.
 */
export const waitingFetch: typeof fetch = (input, init) => {
  const dispatcher = withoutTimeouts()
  return fetch(input, dispatcher === undefined ? init : { ...init, dispatcher })
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>

function withoutTimeouts(): Dispatcher | undefined {
  // Later versions of it speak another way to a dispatcher.
  const major = Number(/^\d+/.exec(process.versions['undici'] ?? '')?.[0])
  if (!(major >= 6 && major <= 7)) return undefined
  // Absent until something was fetched.
  const usual = (globalThis as { readonly [globalDispatcher]?: { readonly dispatch: Dispatch } })[globalDispatcher]
  if (usual === undefined) return undefined
  const dispatch: Dispatch = (options, handler) =>
    usual.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)
  // `fetch` asks nothing else of it.
  return { dispatch } as unknown as Dispatcher
}
