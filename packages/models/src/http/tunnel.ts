import type { RequestOptions } from 'node:http'
import type { Agent } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { clientFor } from './client-for.ts'
import { codedError } from './coded-error.ts'
import { brokenProxy, refusingProxy, unreachableProxy } from './proxy.ts'
import type { Place, Proxy } from './proxy.ts'

interface Through {
  readonly place: Place
  readonly proxy: Proxy
}

/** Has an agent make its connections through a proxy, by CONNECT. */
export function connectThrough(through: Through, agent: Agent): Agent {
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

export function credentialsOf({ url: { username, password } }: Place): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const token = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { 'proxy-authorization': `Basic ${token}` }
}

const connectTimeoutMs = 10_000

/** A connection to the service, on which nothing was said yet. Rejects with a ModelError that names the proxy. */
function openTunnel({ place, proxy }: Through, target: string, signal: AbortSignal): Promise<Socket> {
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
