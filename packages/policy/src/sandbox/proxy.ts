import { lookup } from 'node:dns/promises'
import { METHODS } from 'node:http'
import { connect, type Server, type Socket } from 'node:net'
import { type DomainLists, isDomainAllowed, isExactHost, isPublicAddress, normalizeHost } from './domains.ts'

/** Which domains the proxy of a sandbox allows, and who is notified of refusals. */
export interface ProxyOptions {
  /** The domains. */
  readonly domains: DomainLists
  /** Called once for each refused connection. */
  readonly onRefused?: (host: string, why: string) => void
  /** Resolves a name to addresses. Default: the resolver of the system. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  /** Opens a connection. Default: TCP. */
  readonly open?: (address: string, port: number) => Socket
}

const longestHead = 16 * 1024
const headTimeMs = 30_000

/**
 * The network access of the sandbox: HTTP CONNECT and plain HTTP requests to allowed domains.
 *
 * X1: the name is resolved here, and the connection uses the address that was checked.
 * X2: never connects to addresses of this machine or of a private network, whatever the name.
 */
export function serveProxy(server: Server, options: ProxyOptions): void {
  server.on('connection', (client: Socket) => serveClient(client, options))
}

function serveClient(client: Socket, options: ProxyOptions): void {
  let head = Buffer.alloc(0)
  client.setTimeout(headTimeMs, () => client.destroy())
  client.on('error', () => client.destroy())
  const read = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) {
      if (head.length > longestHead) client.destroy()
      return
    }
    client.off('data', read)
    client.pause()
    client.setTimeout(0)
    void forwardRequest(client, head.subarray(0, end).toString('latin1'), head.subarray(end + 4), options)
  }
  client.on('data', read)
}

interface Target {
  readonly host: string
  readonly port: number
  /** What is sent to the server first. */
  readonly preface: string
  readonly isTunnel: boolean
}

async function forwardRequest(client: Socket, head: string, rest: Buffer, options: ProxyOptions): Promise<void> {
  const target = targetOf(head)
  if (target === undefined) return refuseRequest(client, 400, 'this proxy takes CONNECT and http:// requests')
  const { host, port } = target
  const address = await addressOf(host, options)
  if (client.destroyed) return
  if (typeof address !== 'string') {
    options.onRefused?.(host, address.why)
    return refuseRequest(client, 403, `${host} is not reachable from the sandbox: ${address.why}`)
  }
  const open = options.open ?? ((to: string, at: number) => connect({ host: to, port: at }))
  const upstream = open(address, port)
  const end = (): void => {
    client.destroy()
    upstream.destroy()
  }
  let isConnected = false
  upstream.once('connect', () => {
    isConnected = true
    // Forward data at once, without waiting for acknowledgements.
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    if (target.isTunnel) client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    else upstream.write(target.preface)
    if (rest.length > 0) upstream.write(rest)
    upstream.pipe(client)
    client.pipe(upstream)
  })
  upstream.on('error', (error) => {
    if (!isConnected) refuseRequest(client, 502, error.message)
    else end()
  })
  client.on('error', end)
  client.on('close', () => upstream.destroy())
}

/** The method is forwarded unchanged: an unknown one could contain another request. */
const methods: ReadonlySet<string> = new Set(METHODS)

function targetOf(head: string): Target | undefined {
  const [line = '', ...fields] = head.split('\r\n')
  // Visible characters only: `URL` removes others, so that the checked URL would differ from the requested one.
  const [, method = '', where = ''] = /^([A-Z-]+) ([!-~]+) HTTP\/1\.[01]$/.exec(line) ?? []
  if (!methods.has(method)) return undefined
  if (method === 'CONNECT') {
    const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(where) ?? []
    return validTarget({ host: normalizeHost(host), port: Number(port), preface: '', isTunnel: true })
  }
  // Some servers interpret a continued line, or a line that ends early, as another host.
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (!fields.every((field) => /^[\w!#$%&'*+.^`|~-]+:[^\0-\x08\x0A-\x1F\x7F]*$/.test(field))) return undefined
  try {
    const url = new URL(where)
    if (url.protocol !== 'http:') return undefined
    // One request per connection: a second one could name another host. The host header is the host that was checked.
    const headers = fields.filter((field) => !/^(?:proxy-[\w-]+|connection|host):/i.test(field))
    const lines = [
      `${method} ${url.pathname}${url.search} HTTP/1.1`,
      `Host: ${url.host}`,
      ...headers,
      'Connection: close',
    ]
    const port = url.port === '' ? 80 : Number(url.port)
    return validTarget({
      host: normalizeHost(url.hostname),
      port,
      preface: `${lines.join('\r\n')}\r\n\r\n`,
      isTunnel: false,
    })
  } catch {
    return undefined
  }
}

/** The target if it is valid: connecting to an invalid one throws. */
function validTarget(target: Target): Target | undefined {
  return isExactHost(target.host) && target.port > 0 && target.port <= 65_535 ? target : undefined
}

async function addressOf(host: string, options: ProxyOptions): Promise<string | { readonly why: string }> {
  if (!isDomainAllowed(host, options.domains)) return { why: 'no allowed domain matches it' }
  const resolve = options.resolve ?? (async (name) => (await lookup(name, { all: true })).map(({ address }) => address))
  try {
    const addresses = await resolve(host)
    // All addresses must be public: a name that also leads into a private network is not trusted.
    if (addresses.length === 0 || !addresses.every(isPublicAddress)) return { why: 'it resolves to a private address' }
    return addresses[0] ?? { why: 'it has no address' }
  } catch {
    return { why: 'its name could not be resolved' }
  }
}

const titles: Readonly<Record<number, string>> = { 400: 'Bad Request', 403: 'Forbidden', 502: 'Bad Gateway' }

function refuseRequest(client: Socket, status: number, why: string): void {
  const body = `${why}\n`
  const head = `HTTP/1.1 ${status} ${titles[status] ?? ''}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`
  client.end(head + body)
}
