import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { lastBehaviour } from './billing-behaviour.ts'
import type { Behaviour, Ending, GatewayBody, ReplyBehaviour, Terms } from './billing-behaviour.ts'
import { createMeter } from './billing-meter.ts'
import type { Bill, Meter } from './billing-meter.ts'
import { makeReply } from './billing-reply.ts'
import type { Order, Reply, Wire } from './billing-wire.ts'

/** One request as the service received it. */
export interface Served {
  /** The name of the step that sent it, from its idempotency key. */
  readonly key: string
  readonly model: string
  readonly wire: Wire
  readonly maxTokens: number
  readonly behaviour: Behaviour
  /** Null if nothing was billed. */
  readonly bill: Bill | null
}

export interface BillingService {
  readonly url: string
  readonly meter: Meter
  readonly served: readonly Served[]
  /** Resolves when every sent request has arrived and is therefore billed. */
  settled(): Promise<void>
  close(): Promise<void>
}

export interface BillingServiceOptions {
  /** The formats that it supports. */
  readonly wires: readonly Wire[]
  /** How it counts for each model. */
  readonly terms: (model: string) => Terms
  readonly behaviours: readonly Behaviour[]
  readonly maxSearches: number
  readonly contextWindow: number
  /**
   * Called after event number `event` of request number `request` was sent, both from 1. 0 means that the request
   * arrived.
   */
  readonly onEvent: (request: number, event: number) => void
}

/**
 * A model service on this machine with its own billing meter.
 *
 * S1: a request is billed in full on arrival, whatever happens to its connection.
 * S2: the meter knows neither the run nor its ledger, and adds up integers.
 */
export async function startBillingService(options: BillingServiceOptions): Promise<BillingService> {
  const { wires, terms, behaviours, maxSearches, contextWindow } = options
  const meter = createMeter()
  const served: Served[] = []
  const caches = new Map<string, Set<string>>()

  const bill = (wire: Wire, order: Order, behaviour: ReplyBehaviour, number: number): Reply => {
    const cache = caches.get(order.model) ?? new Set()
    caches.set(order.model, cache)
    const counting = { terms: terms(order.model), maxSearches, contextWindow }
    const reply = makeReply({ ...counting, wire, order, behaviour, number, cache })
    meter.charge(order.model, reply.bill)
    return reply
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await receive(request)
    const wire = wires.find(({ path }) => path === request.url)
    if (wire === undefined) return void response.end()
    const order = wire.read(body)
    const number = served.length + 1
    const behaviour = behaviours[served.length] ?? lastBehaviour
    const reply = behaviour.kind === 'refused' ? undefined : bill(wire, order, made(behaviour), number)
    const key = String(request.headers['idempotency-key'] ?? '')
    const { model, maxTokens } = order
    served.push({ key, model, wire, maxTokens, behaviour, bill: reply?.bill ?? null })
    options.onEvent(number, 0)
    if (behaviour.kind === 'refused') return refuse(behaviour.status, wire, response)
    if (reply !== undefined) await answer(behaviour, reply, wire, response, (event) => options.onEvent(number, event))
  }

  const server = createServer((request, response) => {
    // A connection that the client closed is not a failure of the service.
    serve(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this type.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    meter,
    served,
    async settled() {
      // When this is answered, requests that were sent earlier on other connections of this machine have arrived.
      await fetch(`${url}/settled`, { headers: { connection: 'close' } }).then((response) => response.text())
      await turn()
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

function made(behaviour: Exclude<Behaviour, { readonly kind: 'refused' }>): ReplyBehaviour {
  return behaviour.kind === 'reply' ? behaviour : behaviour.reply
}

async function receive(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  if (chunks.length === 0) return {}
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
  return isJsonObject(body) ? body : {}
}

const errorTypes: { readonly [status: number]: string } = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

function refuse(status: number, wire: Wire, response: ServerResponse): void {
  const headers = { 'content-type': 'application/json', ...(status === 429 && { 'retry-after': '0' }) }
  response.writeHead(status, headers).end(JSON.stringify(wire.error(errorTypes[status] ?? '', 'No.')))
}

/** The response of an intermediary, which says nothing about the work of the service. */
function giveUp(status: number, says: GatewayBody, response: ServerResponse): void {
  const bodies: Record<GatewayBody, string> = {
    page: '<h1>The gateway gave up</h1>',
    message: '{"message":"The upstream server is timing out"}',
    error: `{"error":{"message":"Provider timed out","code":${status}}}`,
  }
  response.writeHead(status, { 'content-type': says === 'page' ? 'text/html' : 'application/json' }).end(bodies[says])
}

async function answer(
  behaviour: Exclude<Behaviour, { readonly kind: 'refused' }>,
  reply: Reply,
  wire: Wire,
  response: ServerResponse,
  onEvent: (event: number) => void,
): Promise<void> {
  switch (behaviour.kind) {
    case 'reply':
      return stream(reply, behaviour.ending, wire, response, onEvent)
    case 'gateway':
      return giveUp(behaviour.status, behaviour.says, response)
    case 'error_in_200':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(wire.error('api_error', 'Something broke.')))
      return
    case 'silent':
      return gone(response)
  }
}

async function stream(
  reply: Reply,
  ending: Ending,
  wire: Wire,
  response: ServerResponse,
  onEvent: (event: number) => void,
): Promise<void> {
  const events = wire.events(reply)
  const count = ending.how === 'whole' ? events.length : Math.floor(ending.at * events.length)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const [index, event] of events.slice(0, count).entries()) {
    if (response.destroyed) return
    await write(response, event)
    // The client is in this process: it reads before the next event is sent.
    await turn()
    onEvent(index + 1)
  }
  switch (ending.how) {
    case 'whole':
    case 'truncate':
      response.end()
      return
    case 'drop':
      response.destroy()
      return
    case 'stall':
      return gone(response)
    case 'error_event':
      response.end(wire.errorEvent('overloaded_error'))
  }
}

function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => void response.write(text, () => resolve()))
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

/** Resolves when the client has gone. */
function gone(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve()
    else response.once('close', () => resolve())
  })
}
