import { isIP } from 'node:net'
import { ModelError } from '@halting/core'
import { networkError } from './network-error.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The proxy for a request, and the variable that names it. */
export interface Proxy {
  readonly url: string
  readonly variable: string
}

/**
 * Returns the proxy for an address: HTTPS_PROXY or HTTP_PROXY by its protocol, otherwise ALL_PROXY. Lower-case names
 * take precedence, as in curl. Undefined for hosts in NO_PROXY and for this machine, which no proxy can reach.
 */
export function proxyFor(url: URL, env: Environment): Proxy | undefined {
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY']
  const variable = [...names, 'all_proxy', 'ALL_PROXY'].find((name) => (env[name] ?? '').trim() !== '')
  if (variable === undefined || isLoopback(url.hostname)) return undefined
  const noProxy = [env.no_proxy, env.NO_PROXY].find((value) => (value ?? '').trim() !== '') ?? ''
  if (isExempt(url, noProxy)) return undefined
  return { url: (env[variable] ?? '').trim(), variable }
}

/** Whether the host is this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    (hostname.startsWith('127.') && isIP(hostname) === 4) ||
    ['[::1]', '[::]', '0.0.0.0'].includes(hostname)
  )
}

/** NO_PROXY: `*`, or names that include their subdomains, each optionally with a port. */
function isExempt({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true
    // An IPv6 address without brackets has no port; its last group would be mistaken for one.
    if (isIP(entry) === 6) return hostname === hostnameOf(`http://[${entry}]`)
    const [, name = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    if (name === '' || (only !== undefined && only !== own)) return false
    return hostname === name || hostname.endsWith(`.${name}`)
  })
}

/** Undefined for an address with a zone, such as `fe80::1%eth0`: services do not have one. */
function hostnameOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined
}

/** The address of a proxy. */
export interface ProxyAddress {
  /** Includes the password, if there is one. */
  readonly url: URL
  readonly host: string
  /** Address options for a request of node:http. */
  readonly address: {
    readonly protocol: string
    readonly hostname: string
    readonly port: string
    /** Host name of the proxy's certificate; otherwise Node would use the `host` header, which names the service. */
    readonly servername: string
  }
}

/**
 * @throws ModelError for an invalid proxy address. The message does not repeat it, because it may contain a password.
 */
export function proxyAddressOf({ url, variable }: Proxy): ProxyAddress {
  const uri = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `http://${url}`
  const parsed = URL.canParse(uri) ? new URL(uri) : undefined
  if (
    parsed !== undefined &&
    (parsed.protocol === 'http:' || parsed.protocol === 'https:') &&
    canDecodeCredentials(parsed)
  ) {
    const { host, port, protocol } = parsed
    const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port
    // `URL` writes IPv6 addresses in brackets.
    const hostname = parsed.hostname.replaceAll(/[[\]]/g, '')
    const servername = isIP(hostname) === 0 ? hostname : ''
    return { url: parsed, host, address: { protocol, hostname, port: own, servername } }
  }
  const kind = parsed === undefined || hasHttp(parsed) ? 'is no address' : `begins with ${parsed.protocol}//`
  throw unusableProxy(
    `The proxy in ${variable} ${kind}. Write it like http://proxy.example:8080, or unset the variable.`,
  )
}

function hasHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

/** Whether the user name and password can be decoded: a stray `%` cannot be sent. */
function canDecodeCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

/** Creates the error for a proxy that did not connect. */
export function refusingProxy(status: number, { host }: ProxyAddress, { variable }: Proxy): ModelError {
  if (status === 407) {
    return unusableProxy(`The proxy at ${host} requires a user name and a password. Add them to ${variable}.`)
  }
  return new ModelError({
    ...notConnected,
    message: `The proxy at ${host} (${variable}) answered ${status} instead of connecting to the service.`,
    retryable: status >= 500 || status === 429,
  })
}

/** Creates the error for an unreachable proxy; undefined if the error has another cause. */
export function unreachableProxy(thrown: Error, { host }: ProxyAddress, { variable }: Proxy): ModelError | undefined {
  const code = codeOf(thrown)
  if (!isConnectError(thrown, code)) return undefined
  const message = `The proxy at ${host} cannot be reached (${code}). Is ${variable} right?`
  return new ModelError({ ...notConnected, message, cause: thrown })
}

/** Creates the error for a proxy whose connection broke. */
export function brokenProxy(thrown: Error, { host, url }: ProxyAddress, { variable }: Proxy): ModelError {
  const worded = networkError(thrown, url.origin)
  if (!worded.retryable) return worded
  const message = `The proxy at ${host} (${variable}) closed the connection before it had connected to the service (${codeOf(thrown)}).`
  return new ModelError({ ...notConnected, message, cause: thrown })
}

const notConnected = { kind: 'connection', billed: 'nothing', neverConnected: true } as const

function isConnectError(thrown: Error, code: string): boolean {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ERR_CONNECT_TIMEOUT') return true
  // For a name with several addresses the failures are in a list.
  const errors: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown]
  return errors.some((error) => error instanceof Error && 'syscall' in error && error.syscall === 'connect')
}

function codeOf(thrown: Error): string {
  return 'code' in thrown ? String(thrown.code) : 'unknown'
}

function unusableProxy(message: string): ModelError {
  return new ModelError({ kind: 'connection', message, retryable: false, billed: 'nothing' })
}
