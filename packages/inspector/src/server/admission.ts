import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The parts of a request that decide whether it is answered. */
export interface RequestInfo {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** The requested path, or why the request is refused. */
export type Admission =
  | { readonly kind: 'admitted'; readonly name: string; readonly query: URLSearchParams }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string; readonly allow?: string }

/**
 * Admits only programs of this machine that know the token and use a local host name. Pages of other origins are refused even if they know the token.
 * So are other host names that resolve to this machine (DNS rebinding).
 */
export function admit({ method, url = '', headers }: RequestInfo, port: number, token: string): Admission {
  const [path = '', search = ''] = url.split(/\?(.*)/s)
  const [, receivedToken = '', ...rest] = path.split('/')
  // Checked first, with the same answer as for an unknown path, so that a client without the token cannot detect that an inspector is running.
  if (!path.startsWith('/') || !isSame(receivedToken, token)) return refused(404, notFoundText)
  const names = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!names.includes(headers.host?.toLowerCase() ?? ''))
    return refused(421, 'The inspector only answers at 127.0.0.1 and localhost.')
  if (method !== 'GET' && method !== 'HEAD')
    return { ...refused(405, 'The inspector only accepts GET and HEAD: it changes nothing.'), allow: 'GET, HEAD' }
  const name = rest.join('/')
  if (isOfAnotherOrigin(headers, names, name)) return refused(403, 'Pages of other origins get no answer.')
  return { kind: 'admitted', name, query: new URLSearchParams(search) }
}

/** The same text for an unknown path and for a wrong token. */
export const notFoundText = 'There is nothing at this address.'

function refused(status: number, error: string): Admission & { readonly kind: 'refused' } {
  return { kind: 'refused', status, error }
}

/** Browsers send the origin of a request. Following a link to the page is allowed from anywhere. */
function isOfAnotherOrigin(headers: IncomingHttpHeaders, names: readonly string[], name: string): boolean {
  const { origin } = headers
  if (origin !== undefined && !names.some((each) => origin === `http://${each}`)) return true
  const site = headers['sec-fetch-site']
  const isPage = name === '' && headers['sec-fetch-mode'] === 'navigate'
  return site !== undefined && site !== 'same-origin' && site !== 'none' && !isPage
}

/** Constant-time comparison. */
function isSame(received: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(received), digest(token))
}
