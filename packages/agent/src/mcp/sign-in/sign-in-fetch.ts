import { anySignal } from '@halting/core/adapters'
import { isLoopback } from './loopback.ts'
import { byteLimiter } from '../bounded-fetch.ts'

const maxMs = 20_000
const maxBytes = 1024 * 1024
const maxRedirects = 3

/** A server-supplied address that is not allowed. */
class UnfitAddress extends Error {}

/**
 * A fetch for the servers of a sign-in. The MCP server supplies their addresses, so each address must be `https`, or
 * on this machine if the MCP server is too: other servers must not direct requests to this machine, or have them sent
 * in clear text. Redirects are followed only for requests without a secret.
 */
export function signInFetch(serverUrl: string, signal: AbortSignal): typeof fetch {
  return async (input, init) => {
    let url = new URL(input instanceof Request ? input.url : input)
    const isReading = (init?.method ?? 'GET') === 'GET'
    const within = anySignal([signal, AbortSignal.timeout(maxMs)])
    for (let redirects = 0; ; redirects++) {
      checkAddress(url, serverUrl)
      const response = await fetch(url, { ...init, signal: within, redirect: 'manual' })
      const location = response.headers.get('location')
      const isRedirect = response.status >= 300 && response.status < 400 && location !== null
      if (isRedirect && isReading && redirects < maxRedirects) {
        await response.body?.cancel()
        url = new URL(location, url)
        continue
      }
      if (isRedirect) throw new UnfitAddress(`${url.origin} redirects what was to stay with it`)
      return new Response(response.body?.pipeThrough(byteLimiter(maxBytes)) ?? null, response)
    }
  }
}

/** @throws UnfitAddress */
export function checkAddress(url: URL, serverUrl: string): void {
  const server = new URL(serverUrl)
  const isNear = isLoopback(url.hostname) && isLoopback(server.hostname)
  if (isNear && (url.protocol === 'http:' || url.protocol === 'https:')) return
  if (url.protocol === 'https:' && (!mayBeHere(url.hostname) || mayBeHere(server.hostname))) return
  throw new UnfitAddress(
    `it sends to ${url.origin}, which a sign-in does not allow: it must be https:// and not this machine`,
  )
}

/**
 * Whether an address may be this machine in another notation. More notations are refused than are allowed in clear
 * text.
 */
function mayBeHere(hostName: string): boolean {
  const host = hostName.replace(/\.$/, '')
  return (
    isLoopback(host) ||
    host.endsWith('.localhost') ||
    /^0(?:\.\d{1,3}){3}$/.test(host) ||
    /^\[::(?:ffff:(?:7f[\da-f]{2}|0):[\da-f]{1,4})?\]$/.test(host)
  )
}
