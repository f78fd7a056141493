import { TerminalError, type HooksProvider } from '@restatedev/restate-sdk'
import { checkToken, isProof, proofHeader } from './proof.ts'

/** Service options that protect the handlers that can be called from outside. */
export interface HandlerGuard {
  readonly hooks?: HooksProvider[]
}

/**
 * Requires a proof of one of the tokens for every handler of the service, except the inner handlers, which the engine does not expose. Without tokens, no proof is required, but
 * requests from web pages are refused: the engine answers calls of any origin.
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
        // The guard runs before the input is read, and in every attempt with the same result.
        handler(next) {
          if (tokens.length === 0) return isFromWebPage(headers, body) ? Promise.reject(webPageRefusal()) : next()
          const proof = headers.get(proofHeader)
          const parts = key === undefined ? [service, handler] : [service, key, handler]
          const subject = { target: parts.map((part) => encodeURIComponent(part)).join('/'), body }
          if (tokens.some((token) => isProof(proof, token, subject))) return next()
          const message =
            proof === undefined
              ? 'This cluster requires a token. Set HALTING_CLUSTER_TOKEN, or the `token` option of the client.'
              : 'The token of this client is not the one of the cluster (HALTING_CLUSTER_TOKEN).'
          return Promise.reject(new TerminalError(message, { errorCode: proof === undefined ? 401 : 403 }))
        },
      },
    }
  }
}

/**
 * A page can make its browser send any GET request, for example for an image, and the engine treats it as a call without input. Browsers do not state the origin of such a
 * request, but they cannot avoid sending headers that other programs omit. A POST request has an origin and, without input, a length.
 */
function isFromWebPage(headers: ReadonlyMap<string, string>, body: Uint8Array): boolean {
  if (headers.has('origin') || headers.has('sec-fetch-site')) return true
  if (body.length > 0 || headers.has('content-length')) return false
  // Node.js sends a language, too, but together with a header that a browser never sends alone.
  const isOfBrowser = headers.has('accept-language') && !headers.has('sec-fetch-mode')
  return isOfBrowser || headers.has('referer') || /^mozilla\//i.test(headers.get('user-agent') ?? '')
}

function webPageRefusal(): TerminalError {
  const message =
    'Web pages may not call this cluster: it has no HALTING_CLUSTER_TOKEN with which a page could prove that it is allowed to.'
  return new TerminalError(message, { errorCode: 403 })
}
