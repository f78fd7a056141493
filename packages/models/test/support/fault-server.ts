import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { JsonObject } from '@halting/core'
import { faultAnswers } from './fault-answers.ts'
import type { FaultAnswer, HttpAnswer } from './fault-answers.ts'
import { faultKinds } from './fault-kinds.ts'
import type { FaultScene, StreamFault } from './fault-kinds.ts'
import { answeringReply, callingReply, framesOf } from './fault-reply.ts'
import type { FaultPoint, FaultProtocol, FaultReply, Frame } from './fault-reply.ts'

/** The plan for one request. */
export type PlannedExchange =
  /** A fault at a point of a response. The default reply is `callingReply`. */
  | { readonly fault: StreamFault; readonly at: FaultPoint; readonly reply?: FaultReply }
  /** An HTTP response that is not a stream of a reply. */
  | { readonly answer: FaultAnswer }
  /** No fault. */
  | { readonly reply: FaultReply }

export interface FaultServerOptions {
  readonly protocol: FaultProtocol
  /** The plan for consecutive requests. Requests after that succeed. */
  readonly plan: readonly PlannedExchange[]
  /**
   * Resolves when the client has read this many bytes of the current response body (see `createEar`). Without it the
   * server waits a moment: data that is unread at a reset is lost.
   */
  readonly taken?: Taken
}

type Taken = (bytes: number) => Promise<void>

export interface FaultRequest {
  readonly headers: IncomingMessage['headers']
  readonly body: JsonObject
  /** As received. */
  readonly text: string
}

export interface FaultServer {
  /** For `baseUrl`, or ANTHROPIC_BASE_URL and OPENAI_BASE_URL. */
  readonly url: string
  /** The requests that were read. */
  readonly requests: readonly FaultRequest[]
  /** The number of body bytes that were written. Only the reader limits endless faults. */
  bytesWritten(): number
  /** After `refused`: listens from now on, and continues with the plan. */
  comeBack(): Promise<void>
  /** Resolves when every connection that carried a request is closed. */
  released(): Promise<void>
  close(): Promise<void>
}

/**
 * A model service on this machine that fails as planned: one fault at one point of a response for each request.
 *
 * ```ts
 * const server = await startFaultServer({
 *   protocol: 'messages',
 *   plan: [{ answer: '529' }, { fault: 'reset', at: 'in text' }, { reply: callingReply }],
 * })
 * ```
 *
 * It needs no test runner: point the tested program at `url`.
 */
export async function startFaultServer(options: FaultServerOptions): Promise<FaultServer> {
  const { protocol, taken = aMoment } = options
  const plan = [...options.plan]
  for (const planned of plan) check(planned, protocol)
  const requests: FaultRequest[] = []
  /** The connections that carried a request. Clients open others in advance. */
  const busy = new Set<Socket>()
  const idle = new Set<Socket>()
  let onEmpty = (): void => {}
  let bytesBefore = 0

  const http = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  const net = createNetServer({ allowHalfOpen: true }, (socket) => {
    idle.add(socket)
    socket.on('error', () => {})
    socket.once('end', () => socket.end())
    socket.once('close', () => {
      idle.delete(socket)
      busy.delete(socket)
      bytesBefore += socket.bytesWritten
      if (busy.size === 0) onEmpty()
    })
    socket.once('data', (first: Buffer) => {
      idle.delete(socket)
      busy.add(socket)
      const [next] = plan
      if (next !== undefined && isAtAccept(next)) {
        plan.shift()
        void faultKinds[next.fault].happen(sceneBefore(socket))
        return
      }
      socket.pause()
      socket.unshift(first)
      http.emit('connection', socket)
      socket.resume()
    })
  })
  const sceneBefore = (socket: Socket): FaultScene => ({
    protocol,
    socket,
    response: undefined,
    last: undefined,
    next: undefined,
    taken: () => taken(0),
  })

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    // A request of an adapter is an object.
    requests.push({ headers: request.headers, body: JSON.parse(text) as JsonObject, text })
    const next = plan.shift() ?? { reply: answeringReply }
    const [after] = plan
    // A fault before a request needs its own connection, and a cut one must come without a prior announcement.
    response.shouldKeepAlive = ('fault' in next && isCut(next.fault)) || !(after !== undefined && isAtAccept(after))
    // The next request must find a closed port.
    if (isRefusal(after)) {
      net.close()
      for (const socket of idle) socket.destroy()
    }
    if ('answer' in next) return sendAnswer(faultAnswers[next.answer](protocol, Date.now()), response, taken)
    const { reply = callingReply } = next
    const frames = framesOf(protocol, reply, `msg_${requests.length}`)
    if (!('fault' in next)) return void beginAnswer(response).end(frames.map(({ bytes }) => bytes).join(''))
    return fail(next, frames, response)
  }

  const fail = async (
    { fault, at }: Extract<PlannedExchange, { readonly fault: StreamFault }>,
    frames: readonly Frame[],
    response: ServerResponse,
  ): Promise<void> => {
    const { socket } = response
    if (socket === null) throw new Error('The connection is gone before the fault.')
    const kind = faultKinds[fault]
    if (at === 'request') return void (await kind.happen(sceneBefore(socket)))
    const length = lengthUntil(frames, at)
    const before = frames.slice(0, length).map(({ bytes }) => bytes)
    const sent = Buffer.from(before.join(''))
    beginAnswer(response)
    if (sent.length === 0) response.flushHeaders()
    else await written(response, sent)
    const scene = {
      protocol,
      socket,
      response,
      last: frames[length - 1],
      next: frames[length],
      taken: () => taken(sent.length),
    }
    const progress = await kind.happen(scene)
    if (progress === 'goes on') response.end(frames.slice(length).map(({ bytes }) => bytes).join('')) // prettier-ignore
  }

  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      net.once('error', reject)
      net.listen(port, '127.0.0.1', () => {
        net.off('error', reject)
        resolve()
      })
    })
  await listen(0)
  const { port } = net.address() as AddressInfo
  const stop = (): Promise<void> => new Promise((resolve) => void net.close(() => resolve()))
  if (isRefusal(plan[0])) await stop()
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    bytesWritten: () => [...busy].reduce((sum, socket) => sum + socket.bytesWritten, bytesBefore),
    async comeBack() {
      plan.shift()
      await listen(port)
    },
    released: () =>
      new Promise((resolve) => {
        onEmpty = resolve
        if (busy.size === 0) resolve()
      }),
    async close() {
      for (const socket of [...idle, ...busy]) socket.destroy()
      await stop()
    },
  }
}

/** @throws Error for a fault that cannot happen at its planned point. */
function check(planned: PlannedExchange, protocol: FaultProtocol): void {
  if (!('fault' in planned)) return
  const { fault, at, reply = callingReply } = planned
  if (!faultKinds[fault].points.includes(at)) throw new Error(`"${fault}" cannot happen at "${at}".`)
  if (at !== 'accept' && at !== 'request') lengthUntil(framesOf(protocol, reply), at)
}

function isAtAccept(planned: PlannedExchange): planned is Extract<PlannedExchange, { readonly fault: StreamFault }> {
  return 'fault' in planned && planned.at === 'accept'
}

/** Whether the connection ends without a response. */
function isCut(fault: StreamFault): boolean {
  return fault === 'reset' || fault === 'closed' || fault === 'no HTTP'
}

function isRefusal(planned: PlannedExchange | undefined): boolean {
  return planned !== undefined && 'fault' in planned && planned.fault === 'refused'
}

function beginAnswer(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_fault' })
}

async function sendAnswer(answer: HttpAnswer, response: ServerResponse, taken: Taken): Promise<void> {
  const bytes = Buffer.from(answer.body)
  const length = bytes.length > 0 ? { 'content-length': bytes.length } : {}
  response.writeHead(answer.status, { 'request-id': 'req_fault', ...length, ...answer.headers })
  if (answer.breaks === undefined) return void response.end(bytes)
  const half = bytes.subarray(0, bytes.length / 2)
  await written(response, half)
  await taken(half.length)
  if (answer.breaks === 'reset') response.socket?.resetAndDestroy()
}

function written(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => void response.write(bytes, () => resolve()))
}

/** The number of events up to a point. */
function lengthUntil(frames: readonly Frame[], at: FaultPoint): number {
  if (at === 'headers') return 0
  const index = frames.findIndex(({ reaches }) => reaches === at)
  if (index < 0) throw new Error(`This reply never comes to the point "${at}".`)
  return index + 1
}

const momentMs = 30

function aMoment(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, momentMs))
}
