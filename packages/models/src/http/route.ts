import type { Agent, ClientRequest, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { clientFor } from './client-for.ts'
import { placeOf, proxyFor, unreachableProxy } from './proxy.ts'
import { connectThrough, credentialsOf } from './tunnel.ts'

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
    return routeBy(agent, { isSecure, request: send, failureToConnect: (error) => error })
  }
  const place = placeOf(proxy)
  const failureToConnect = (error: Error): Error => unreachableProxy(error, place, proxy) ?? error
  if (isSecure) {
    const https = process.getBuiltinModule('node:https')
    const agent = agentFor(`tunnel ${place.url.href}`, () => connectThrough({ place, proxy }, new https.Agent(pooled)))
    return routeBy(agent, {
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
  return routeBy(agent, {
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

function routeBy(agent: Agent, parts: Omit<Route, 'dropIdle'>): Route {
  return {
    ...parts,
    dropIdle() {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    },
  }
}
