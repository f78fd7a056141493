import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** What of a request decides whether it is answered. */
export interface AskedFor {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** Which of our addresses is meant, or why none is. */
export type Admission =
  | { readonly kind: 'admitted'; readonly name: string; readonly query: URLSearchParams }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string; readonly allow?: string }

/**
 * Who may ask: a program of this machine that knows the token and asks for this machine by its own name. A page of another origin is refused even
 * where it knows the token, and a name that somebody else had point here (DNS rebinding) is no name of ours.
 */
export function admission({ method, url = '', headers }: AskedFor, port: number, token: string): Admission {
  const [path = '', search = ''] = url.split(/\?(.*)/s)
  const [, given = '', ...rest] = path.split('/')
  // First: nothing else is said to who does not know it, so that nobody learns whether something is here.
  if (!path.startsWith('/') || !isSame(given, token)) return refused(404, nothingHere)
  const names = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!names.includes(headers.host?.toLowerCase() ?? ''))
    return refused(421, 'The inspector only answers at 127.0.0.1 and localhost.')
  if (method !== 'GET' && method !== 'HEAD')
    return { ...refused(405, 'The inspector only accepts GET and HEAD: it changes nothing.'), allow: 'GET, HEAD' }
  const name = rest.join('/')
  if (isOfAnotherOrigin(headers, names, name)) return refused(403, 'Pages of other origins get no answer.')
  return { kind: 'admitted', name, query: new URLSearchParams(search) }
}

/** The same for an address that is none and for one with another token. */
export const nothingHere = 'There is nothing at this address.'

function refused(status: number, error: string): Admission & { readonly kind: 'refused' } {
  return { kind: 'refused', status, error }
}

/** Browsers say where a request comes from. A person who follows a link to the page comes from anywhere. */
function isOfAnotherOrigin(headers: IncomingHttpHeaders, names: readonly string[], name: string): boolean {
  const { origin } = headers
  if (origin !== undefined && !names.some((each) => origin === `http://${each}`)) return true
  const site = headers['sec-fetch-site']
  const isPage = name === '' && headers['sec-fetch-mode'] === 'navigate'
  return site !== undefined && site !== 'same-origin' && site !== 'none' && !isPage
}

/** Takes as long for a wrong one as for a right one. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(token))
}
