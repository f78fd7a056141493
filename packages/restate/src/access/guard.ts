import { TerminalError, type HooksProvider } from '@restatedev/restate-sdk'
import { checkToken, isProof, proofHeader } from './proof.ts'

/** Options of a service whose handlers may be called from outside, all but those that only other handlers call. */
export interface Guarded {
  readonly hooks?: HooksProvider[]
}

/**
 * Every handler of the service asks for a proof of one of the tokens, but for the inner ones, which the engine keeps from the outside. A handler that nobody named here
 * asks. Without tokens none does, but a web page is refused: the engine answers calls of any origin.
 */
export function guarded(tokens: readonly string[] = [], inner: readonly string[] = []): Guarded {
  for (const token of tokens) checkToken(token)
  return { hooks: [proven(tokens, inner)] }
}

function proven(tokens: readonly string[], inner: readonly string[]): HooksProvider {
  return ({ request: { target, headers, body } }) => {
    const { service, handler, key } = target
    if (inner.includes(handler)) return {}
    return {
      interceptor: {
        // It is asked before the input is looked at, and by every attempt, which all find the same.
        handler(next) {
          if (tokens.length === 0) return headers.has('origin') ? Promise.reject(ofWebPage()) : next()
          const given = headers.get(proofHeader)
          const parts = key === undefined ? [service, handler] : [service, key, handler]
          const asked = { target: parts.map((part) => encodeURIComponent(part)).join('/'), body }
          if (tokens.some((token) => isProof(given, token, asked))) return next()
          const because =
            given === undefined
              ? 'This cluster asks for proof of its token: set HALTING_CLUSTER_TOKEN, or the `token` of the client.'
              : 'The token of this client is not that of the cluster (HALTING_CLUSTER_TOKEN).'
          return Promise.reject(new TerminalError(because, { errorCode: given === undefined ? 401 : 403 }))
        },
      },
    }
  }
}

function ofWebPage(): TerminalError {
  const because =
    'A web page asks nothing of this cluster: it has no HALTING_CLUSTER_TOKEN by which a page could prove that it may.'
  return new TerminalError(because, { errorCode: 403 })
}
