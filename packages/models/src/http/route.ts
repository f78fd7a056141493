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
  /** Ends the way to the service through a proxy. */
  readonly tunnelSignal: AbortSignal
}

/** How a request comes to its service. */
export interface Route {
  readonly isSecure: boolean
  request(options: SendOptions): ClientRequest
  /** What is told when no connection came about. */
  failureToConnect(error: Error): Error
  /** Closes the connections that no request uses. */
  dropIdle(): void
}

/** Those that were in use are used again for `timeout`: after it they may be gone without a word, as for `fetch`. */
const pooled = { keepAlive: true, keepAliveMsecs: 60_000, timeout: 4_000 } as const

const agents = new Map<string, Agent>()

function agentFor(name: string, make: () => Agent): Agent {
  const known = agents.get(name)
  if (known !== undefined) return known
  const agent = make()
  agents.set(name, agent)
  // What comes while no request waits would be taken for an answer to the next one: such a connection is not used again.
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

/** @throws ModelError when the environment names a proxy that cannot be used. */
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
      // Whatever goes wrong with the proxy is told by the tunnel.
      failureToConnect: (error) => error,
    })
  }
  // Without TLS the proxy is handed the request itself, as by curl: tunnels to port 80 are often forbidden.
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
 * Node's client for a protocol; the one for TLS brings all of TLS. Not by `import`: that reads every export of a module,
 * and reading `WebSocket` of `node:http` loads the client of `fetch` in Node 22 and later.
 */
export function clientFor(protocol: string): typeof Http | typeof Https {
  return protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
}

interface ProxyTarget {
  readonly place: ProxyAddress
  readonly proxy: Proxy
}

/** Has an agent make its connections through a proxy, by CONNECT. */
function connectThrough(through: ProxyTarget, agent: Https.Agent): Https.Agent {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => {
    // `tunnelSignal` of `SendOptions`: what a request is made with comes here, too.
    const { tunnelSignal, ...own } = options as RequestOptions & { readonly tunnelSignal: AbortSignal }
    // Of an error alone no connection is read.
    const fail = (error: Error): void => done?.(error, undefined as unknown as Duplex)
    const begin = (socket: Socket): void => {
      let secure: Duplex
      try {
        secure = connect({ ...own, socket } as RequestOptions) as Duplex
      } catch (thrown) {
        // TLS that cannot begin: it was set up in a way that Node does not take, which throws an error of its own.
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

/** A connection to the service, on which nothing was said yet. Rejects with a ModelError that names the proxy. */
function openTunnel({ place, proxy }: ProxyTarget, target: string, signal: AbortSignal): Promise<Socket> {
  const { request } = clientFor(place.url.protocol)
  return new Promise((resolve, reject) => {
    const asked = request({
      ...place.address,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...credentialsOf(place) },
      agent: false,
    })
    const timer = setTimeout(() => {
      asked.destroy(codedError('ERR_CONNECT_TIMEOUT', `No tunnel within ${connectTimeoutMs / 1_000} s.`))
    }, connectTimeoutMs)
    const onAbort = (): void => void asked.destroy()
    const settled = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      settled()
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(refusingProxy(statusCode, place, proxy))
    })
    asked.on('error', (error) => {
      settled()
      reject(unreachableProxy(error, place, proxy) ?? brokenProxy(error, place, proxy))
    })
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    asked.end()
  })
}
