import { messageOf } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import { withDispatcher } from './dispatcher.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The proxy that a request goes through, and the variable that names it. */
export interface Proxy {
  readonly url: string
  readonly variable: string
}

/**
 * The proxy for an address: HTTPS_PROXY or HTTP_PROXY by its protocol, else ALL_PROXY, in small letters first, as curl
 * reads them. None for what NO_PROXY names, nor for this machine itself, which no proxy can reach.
 */
export function proxyFor(url: URL, env: Environment): Proxy | undefined {
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY']
  const variable = [...names, 'all_proxy', 'ALL_PROXY'].find((name) => (env[name] ?? '').trim() !== '')
  if (variable === undefined || isLoopback(url.hostname)) return undefined
  const noProxy = [env.no_proxy, env.NO_PROXY].find((value) => (value ?? '').trim() !== '') ?? ''
  if (isExempt(url, noProxy)) return undefined
  return { url: (env[variable] ?? '').trim(), variable }
}

/** True for this machine by its own names. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname.startsWith('127.') ||
    ['[::1]', '[::]', '0.0.0.0'].includes(hostname)
  )
}

/** NO_PROXY: `*`, or names with everything under them, each with a port if it is for that port alone. */
function isExempt({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true
    const [, name = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    if (name === '' || (only !== undefined && only !== own)) return false
    return hostname === name || hostname === `[${name}]` || hostname.endsWith(`.${name}`)
  })
}

const dispatchers = new Map<string, object>()

/** @throws ModelError when the proxy is what failed. */
export async function proxiedFetch(proxy: Proxy, url: URL, init: RequestInit | undefined): Promise<Response> {
  const place = placeOf(proxy)
  // Loaded late: only who is behind a proxy pays for it. Bundled, a CommonJS package has its default export alone.
  const {
    default: { ProxyAgent, fetch },
  } = await import('undici')
  let dispatcher = dispatchers.get(proxy.url)
  if (dispatcher === undefined) {
    // Without TLS the proxy is handed the request itself, as by curl: tunnels to port 80 are often forbidden.
    const limits = { headersTimeout: 0, bodyTimeout: 0, connectTimeout: 10_000 }
    dispatcher = new ProxyAgent({ uri: place.uri, proxyTunnel: false, ...limits })
    dispatchers.set(proxy.url, dispatcher)
  }
  // The same interfaces of the web, declared twice.
  const proxied = fetch as unknown as typeof globalThis.fetch
  try {
    return await proxied(url, withDispatcher(init, dispatcher))
  } catch (thrown) {
    throw failureOfProxy(thrown, place, proxy) ?? thrown
  }
}

interface Place {
  readonly uri: string
  readonly host: string
  readonly port: string
}

/** @throws ModelError for what is no address of a proxy that can be used. The address may hold a password: it is not repeated. */
function placeOf({ url, variable }: Proxy): Place {
  const uri = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `http://${url}`
  const parsed = URL.canParse(uri) ? new URL(uri) : undefined
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') {
    const { host, port, protocol } = parsed
    return { uri, host, port: port === '' ? (protocol === 'https:' ? '443' : '80') : port }
  }
  const kind = parsed === undefined ? 'is no address' : `begins with ${parsed.protocol}//`
  throw notUsable(`The proxy in ${variable} ${kind}. Write it like http://proxy.example:8080, or unset the variable.`)
}

/** What the proxy did wrong; undefined when it was the service behind it. */
function failureOfProxy(thrown: unknown, { host, port }: Place, { variable }: Proxy): ModelError | undefined {
  const causes = causesOf(thrown)
  const status = causes.map((cause) => /^Proxy response \((\d+)\)/.exec(messageOf(cause))?.[1]).find(Boolean)
  if (status === '407') {
    return notUsable(`The proxy at ${host} wants a user name and a password. Put them into ${variable}.`, thrown)
  }
  if (status !== undefined) {
    return new ModelError({
      kind: 'connection',
      message: `The proxy at ${host} (${variable}) answered ${status} instead of connecting to the service.`,
      retryable: Number(status) >= 500 || status === '429',
      billed: 'nothing',
      neverConnected: true,
      cause: thrown,
    })
  }
  const cause = causes.find((one) => isConnectError(one, port))
  if (cause === undefined) return undefined
  return new ModelError({
    kind: 'connection',
    message: `The proxy at ${host} cannot be reached (${codeOf(cause)}). Is ${variable} right?`,
    billed: 'nothing',
    neverConnected: true,
    cause: thrown,
  })
}

/** What was thrown, what that was caused by, and so on. */
function causesOf(thrown: unknown): readonly unknown[] {
  const causes: unknown[] = []
  for (let cause = thrown; cause instanceof Error && causes.length < 8; cause = cause.cause) causes.push(cause)
  return causes
}

/** A failure to connect, to the port of the proxy or to a name that is not known: only the proxy's is looked up here. */
function isConnectError(cause: unknown, port: string): boolean {
  if (!(cause instanceof Error) || !('code' in cause)) return false
  if (cause.code === 'ENOTFOUND' || cause.code === 'EAI_AGAIN' || cause.code === 'UND_ERR_CONNECT_TIMEOUT') return true
  if (!('syscall' in cause) || cause.syscall !== 'connect') return false
  return !('port' in cause) || String(cause.port) === port
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
}

function notUsable(message: string, cause?: unknown): ModelError {
  return new ModelError({ kind: 'connection', message, retryable: false, billed: 'nothing', cause })
}
