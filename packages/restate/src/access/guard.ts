import { TerminalError, type HooksProvider } from '@restatedev/restate-sdk'
import { checkToken, isProof, proofHeader } from './proof.ts'

/** Options of a service whose handlers may be called from outside, all but those that only other handlers call. */
export interface HandlerGuard {
  readonly hooks?: HooksProvider[]
}

/**
 * Every handler of the service asks for a proof of one of the tokens, but for the inner ones, which the engine keeps from the outside. A handler that nobody named here
 * asks. Without tokens none does, but a web page is refused: the engine answers calls of any origin.
 */
export function requireProof(tokens: readonly string[] = [], inner: readonly string[] = []): HandlerGuard {
  for (const token of tokens) checkToken(token)
  return { hooks: [proofInterceptor(tokens, inner)] }
}

function proofInterceptor(tokens: readonly string[], inner: readonly string[]): HooksProvider {
  return ({ request: { target, headers, body } }) => {
    const { service, handler, key } = target
    if (inner.includes(handler)) return {}
    return {
      interceptor: {
        // It is asked before the input is looked at, and by every attempt, which all find the same.
        handler(next) {
          if (tokens.length === 0) return isFromWebPage(headers, body) ? Promise.reject(webPageRefusal()) : next()
          const proof = headers.get(proofHeader)
          const parts = key === undefined ? [service, handler] : [service, key, handler]
          const subject = { target: parts.map((part) => encodeURIComponent(part)).join('/'), body }
          if (tokens.some((token) => isProof(proof, token, subject))) return next()
          const message =
            proof === undefined
              ? 'This cluster asks for proof of its token: set HALTING_CLUSTER_TOKEN, or the `token` of the client.'
              : 'The token of this client is not that of the cluster (HALTING_CLUSTER_TOKEN).'
          return Promise.reject(new TerminalError(message, { errorCode: proof === undefined ? 401 : 403 }))
        },
      },
    }
  }
}

/**
 * A page can have its browser ask anything by GET, such as for an image, and the engine takes that for a call without input. Browsers say of no such request where it is from, but
 * they cannot keep from it all of what other programs leave out. One by POST has an origin and, where it is without input, a length.
 */
function isFromWebPage(headers: ReadonlyMap<string, string>, body: Uint8Array): boolean {
  if (headers.has('origin') || headers.has('sec-fetch-site')) return true
  if (body.length > 0 || headers.has('content-length')) return false
  // Node.js sends a language, too, and with it what a browser does not send alone.
  const isOfBrowser = headers.has('accept-language') && !headers.has('sec-fetch-mode')
  return isOfBrowser || headers.has('referer') || /^mozilla\//i.test(headers.get('user-agent') ?? '')
}

function webPageRefusal(): TerminalError {
  const message =
    'A web page asks nothing of this cluster: it has no HALTING_CLUSTER_TOKEN by which a page could prove that it may.'
  return new TerminalError(message, { errorCode: 403 })
}
