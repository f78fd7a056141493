import { isIP } from 'node:net'
import { ModelError } from '@halting/core'
import { networkError } from './network-error.ts'

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
    (hostname.startsWith('127.') && isIP(hostname) === 4) ||
    ['[::1]', '[::]', '0.0.0.0'].includes(hostname)
  )
}

/** NO_PROXY: `*`, or names with everything under them, each with a port if it is for that port alone. */
function isExempt({ hostname, port, protocol }: URL, noProxy: string): boolean {
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return noProxy.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true
    // Without brackets an address of IPv6 has no port: its last part would be taken for one.
    if (isIP(entry) === 6) return hostname === hostnameOf(`http://[${entry}]`)
    const [, name = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    if (name === '' || (only !== undefined && only !== own)) return false
    return hostname === name || hostname.endsWith(`.${name}`)
  })
}

/** One with a zone, as `fe80::1%eth0`, is in no address of a service. */
function hostnameOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined
}

/** Where a proxy is. */
export interface ProxyAddress {
  /** With the password, if there is one. */
  readonly url: URL
  readonly host: string
  /** Where requests go: for a request by node:http. */
  readonly address: {
    readonly protocol: string
    readonly hostname: string
    readonly port: string
    /** Whose certificate it has; else Node would take the name in the `host` header, which is the service's. */
    readonly servername: string
  }
}

/** @throws ModelError for what is no address of a proxy that can be used. The address may hold a password: it is not repeated. */
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
    // An address of IPv6 stands in brackets.
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

/** A `%` in a user name or a password that stands for nothing cannot be sent. */
function canDecodeCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

/** The proxy answered something else than that it has connected. */
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

/** No connection to the proxy came about; undefined for an error that says something else. */
export function unreachableProxy(thrown: Error, { host }: ProxyAddress, { variable }: Proxy): ModelError | undefined {
  const code = codeOf(thrown)
  if (!isConnectError(thrown, code)) return undefined
  const message = `The proxy at ${host} cannot be reached (${code}). Is ${variable} right?`
  return new ModelError({ ...notConnected, message, cause: thrown })
}

/** The proxy was reached, and then the connection to it broke. */
export function brokenProxy(thrown: Error, { host, url }: ProxyAddress, { variable }: Proxy): ModelError {
  const worded = networkError(thrown, url.origin)
  if (!worded.retryable) return worded
  const message = `The proxy at ${host} (${variable}) closed the connection before it had connected to the service (${codeOf(thrown)}).`
  return new ModelError({ ...notConnected, message, cause: thrown })
}

const notConnected = { kind: 'connection', billed: 'nothing', neverConnected: true } as const

function isConnectError(thrown: Error, code: string): boolean {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ERR_CONNECT_TIMEOUT') return true
  // Of a name with several addresses each failure is in a list.
  const errors: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : [thrown]
  return errors.some((error) => error instanceof Error && 'syscall' in error && error.syscall === 'connect')
}

function codeOf(thrown: Error): string {
  return 'code' in thrown ? String(thrown.code) : 'unknown'
}

function unusableProxy(message: string): ModelError {
  return new ModelError({ kind: 'connection', message, retryable: false, billed: 'nothing' })
}
