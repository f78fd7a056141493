import { passOverContinues } from './continue-answers.ts'
import { patientDispatcher, withDispatcher } from './dispatcher.ts'
import { proxiedFetch, proxyFor } from './proxy.ts'

type Fetch = typeof globalThis.fetch

/**
 * `fetch` as a program on this machine should do it: through the proxy that the environment names, without limits of its
 * own, and without being put off by a `100 Continue`. Node's gives up after 300 s without headers or between two pieces; ours are the caller's to set.
 */
export const fetchFor: Fetch = (input, init) => {
  passOverContinues()
  const url = new URL(input instanceof Request ? input.url : input)
  const proxy = proxyFor(url, process.env)
  if (proxy !== undefined) return proxiedFetch(proxy, url, init)
  return globalThis.fetch(input, withDispatcher(init, patientDispatcher()))
}
