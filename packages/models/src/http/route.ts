import type * as Http from 'node:http'
import type * as Https from 'node:https'
import type { Agent, ClientRequest, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { proxyAddressOf, proxyFor, unreachableProxy, brokenProxy, refusingProxy } from './proxy.ts'
import type { ProxyAddress, Proxy } from './proxy.ts'
import type { Socket } from 'node:net'
import { codedError } from './coded-error.ts'

interface SendOptions extends Pick<RequestOptions, 'method'> {
  readonly headers: Readonly<Record<string, string | number>>
  /** Aborts the connection to the service through a proxy. */
  readonly tunnelSignal: AbortSignal
}

/** How requests reach a service. */
export interface Route {
  readonly isSecure: boolean
  request(options: SendOptions): ClientRequest
  /** Returns the error for a connection that was not established. */
  failureToConnect(error: Error): Error
  /** Closes idle connections. */
  dropIdle(): void
}

/**
 * Reuses idle connections for `timeout` milliseconds, as `fetch` does: later the service may have closed them silently.
 */
const pooled = { keepAlive: true, keepAliveMsecs: 60_000, timeout: 4_000 } as const

const agents = new Map<string, Agent>()

function agentFor(name: string, make: () => Agent): Agent {
  const known = agents.get(name)
  if (known !== undefined) return known
  const agent = make()
  agents.set(name, agent)
  // Data that arrives on an idle connection would be mistaken for the next response, so close the connection.
  const [keep, reuse] = [agent.keepSocketAlive.bind(agent), agent.reuseSocket.bind(agent)]
  agent.keepSocketAlive = (socket) => {
    socket.once('data', closeOnData)
    return keep(socket)
  }
  agent.reuseSocket = (socket, request) => {
    socket.off('data', closeOnData)
    reuse(socket, request)
  }
  return agent
}

function closeOnData(this: Duplex): void {
  this.destroy()
}

/** @throws ModelError if the environment names an unusable proxy. */
export function routeTo(url: URL): Route {
  const proxy = proxyFor(url, process.env)
  const isSecure = url.protocol === 'https:'
  if (proxy === undefined) {
    const { request, Agent: Pool } = clientFor(url.protocol)
    const agent = agentFor(url.protocol, () => new Pool(pooled))
    const send = (options: SendOptions): ClientRequest => request(url, { ...options, agent })
    return routeWith(agent, { isSecure, request: send, failureToConnect: (error) => error })
  }
  const place = proxyAddressOf(proxy)
  const failureToConnect = (error: Error): Error => unreachableProxy(error, place, proxy) ?? error
  if (isSecure) {
    const https = process.getBuiltinModule('node:https')
    const agent = agentFor(`tunnel ${place.url.href}`, () => connectThrough({ place, proxy }, new https.Agent(pooled)))
    return routeWith(agent, {
      isSecure,
      request: (options) => https.request(url, { ...options, agent }),
      // The tunnel reports failures of the proxy.
      failureToConnect: (error) => error,
    })
  }
  // Without TLS, send the request itself to the proxy, as curl does: tunnels to port 80 are often forbidden.
  const isProxySecure = place.url.protocol === 'https:'
  const { request, Agent: Pool } = clientFor(place.url.protocol)
  const agent = agentFor(`proxy ${place.url.href}`, () => new Pool(pooled))
  return routeWith(agent, {
    isSecure: isProxySecure,
    request: ({ headers, ...options }) =>
      request({
        ...options,
        ...place.address,
        path: url.href,
        headers: { host: url.host, ...headers, ...credentialsOf(place) },
        agent,
      }),
    failureToConnect,
  })
}

function routeWith(agent: Agent, parts: Omit<Route, 'dropIdle'>): Route {
  return {
    ...parts,
    dropIdle() {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    },
  }
}

/**
 * Returns Node's client for a protocol; the TLS client loads all of TLS. `import` would read every export, and reading
 * `WebSocket` of `node:http` loads the client of `fetch` in Node 22 and later.
 */
function clientFor(protocol: string): typeof Http | typeof Https {
  return protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
}

interface ProxyTarget {
  readonly place: ProxyAddress
  readonly proxy: Proxy
}

/** Makes an agent connect through a proxy with CONNECT. */
function connectThrough(through: ProxyTarget, agent: Https.Agent): Https.Agent {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => {
    // Node passes all request options here, including `tunnelSignal` of `SendOptions`.
    const { tunnelSignal, ...own } = options as RequestOptions & { readonly tunnelSignal: AbortSignal }
    // With an error Node does not read the connection.
    const fail = (error: Error): void => done?.(error, undefined as unknown as Duplex)
    const begin = (socket: Socket): void => {
      let secure: Duplex
      try {
        secure = connect({ ...own, socket } as RequestOptions) as Duplex
      } catch (thrown) {
        // TLS cannot start: Node throws its own error for an invalid configuration.
        socket.destroy()
        return fail(thrown as Error)
      }
      done?.(null, secure)
    }
    openTunnel(through, `${String(own.host)}:${String(own.port)}`, tunnelSignal).then(begin, fail)
    return undefined
  }
  return agent
}

function credentialsOf({ url: { username, password } }: ProxyAddress): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const token = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { 'proxy-authorization': `Basic ${token}` }
}

const connectTimeoutMs = 10_000

/** Opens a tunnel to the service. Rejects with a ModelError that names the proxy. */
function openTunnel({ place, proxy }: ProxyTarget, target: string, signal: AbortSignal): Promise<Socket> {
  const { request } = clientFor(place.url.protocol)
  return new Promise((resolve, reject) => {
    const connecting = request({
      ...place.address,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...credentialsOf(place) },
      agent: false,
    })
    const timer = setTimeout(() => {
      connecting.destroy(codedError('ERR_CONNECT_TIMEOUT', `No tunnel within ${connectTimeoutMs / 1_000} s.`))
    }, connectTimeoutMs)
    const onAbort = (): void => void connecting.destroy()
    const settled = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    connecting.once('connect', ({ statusCode = 0 }, socket) => {
      settled()
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(refusingProxy(statusCode, place, proxy))
    })
    connecting.on('error', (error) => {
      settled()
      reject(unreachableProxy(error, place, proxy) ?? brokenProxy(error, place, proxy))
    })
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    connecting.end()
  })
}
