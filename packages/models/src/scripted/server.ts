import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { inputTokensOf, isJsonObject, noUsage, messageOf } from '@halting/core/adapters'
import { ConfigurationError } from '@halting/core'
import type { JsonObject, Json, Model } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { answer, pause } from './answer.ts'
import { estimatedTokens } from './estimated-tokens.ts'
import { parseScript, parseScriptText } from './parse-script.ts'
import type { Script, ScriptedReply } from './script.ts'
import { readFile } from 'node:fs/promises'
import { anthropic } from '../anthropic/anthropic.ts'
import type { AnthropicOptions } from '../anthropic/anthropic.ts'

/** A received request. */
export interface SeenRequest {
  /** HTTP method. */
  readonly method: string
  /** Path with the query. */
  readonly path: string
  /** Headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The exact body as text. */
  readonly text: string
  /** The body as an object. */
  readonly body: JsonObject
}

/** A local server that answers from a script like the Messages API. */
export interface ScriptedServer {
  /** Value for ANTHROPIC_BASE_URL. */
  readonly url: string
  /** All message requests so far, in order of arrival. */
  readonly requests: readonly SeenRequest[]
  /** Returns the number of unused replies. */
  remaining(): number
  /** Closes all connections and frees the port. */
  close(): Promise<void>
}

/** Options of a scripted server. */
export interface ScriptedServerOptions {
  /** Values for `{{name}}` in texts and inputs of the script. */
  readonly variables?: Readonly<Record<string, string>>
  /** Name of the script in error messages, such as its path. */
  readonly source?: string
}

/**
 * Starts a local service that speaks the Messages API and answers from a script, one reply per request. It does not
 * keep the process alive.
 * @throws ConfigurationError for an invalid script.
 */
export async function startScriptedServer(
  script: unknown,
  options: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const parsed = withVariables(parseScript(script, options.source), options.variables ?? {})
  const replies = new ReplyQueue(parsed.replies)
  const { contextWindow = Infinity, tokenFactor = 1 } = parsed
  const requests: SeenRequest[] = []
  const closing = new AbortController()

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const received = await receive(request)
    const path = received.path.split('?')[0]
    if (request.method !== 'POST' || !path?.startsWith('/v1/messages')) {
      return refuse(response, 404, 'not_found_error', `There is no ${received.method} ${received.path} here.`)
    }
    if (path === '/v1/messages/count_tokens') {
      return sendJson(response, 200, { input_tokens: estimatedTokens(received.text, tokenFactor) })
    }
    requests.push(received)
    const inputTokens = estimatedTokens(received.text, tokenFactor)
    if (inputTokens > contextWindow) {
      const message = `prompt is too long: ${inputTokens} tokens > ${contextWindow} maximum`
      return refuse(response, 400, 'invalid_request_error', message)
    }
    const lastText = lastUserText(received.body)
    const nowMs = performance.now()
    const { reply, number, endsMs = nowMs } = replies.take(lastText, nowMs)
    const problem =
      reply === undefined
        ? `The script has ${replies.count} replies and this is request ${number}: it is exhausted.`
        : problemOf(reply, received, lastText, number)
    if (reply === undefined || problem !== undefined) {
      return refuse(response, 400, 'invalid_request_error', problem ?? '')
    }
    if ('outage_ms' in reply) {
      await pause(reply.delay_ms, closing.signal)
      return breakDown(server, reply.outage_ms, closing.signal)
    }
    await answer(reply, response, {
      request: requests.length,
      model: stringOf(received.body.model) || 'scripted',
      requestText: received.text,
      maxTokens: maxTokensOf(received.body),
      tokenFactor,
      isStreamed: received.body.stream === true,
      leftMs: endsMs - nowMs,
      signal: closing.signal,
    })
  }

  const server = createServer((request, response) => {
    // A connection closed by the client is not an error of the script.
    serve(request, response).catch(() => response.destroy())
  })
  await listen(server)
  const { port } = addressOf(server)
  server.unref()
  server.on('connection', (socket) => socket.unref())
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    remaining: () => replies.left,
    async close() {
      closing.abort()
      server.closeAllConnections()
      if (server.listening) await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

/** Sends an error in the format of the Messages API. */
function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  sendJson(response, status, { type: 'error', error: { type, message }, request_id: null })
}

function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Closes all connections, and frees the port for a while. */
async function breakDown(server: Server, outageMs: number, signal: AbortSignal): Promise<void> {
  // The outage has already started, and has interrupted this request, too.
  if (!server.listening) return
  const { port } = addressOf(server)
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
  for (let waitMs = outageMs; !server.listening; waitMs = portRetryMs) {
    await wait(waitMs, undefined, { signal, ref: false })
    // Another process may briefly use the port.
    await listen(server, port).catch(() => {})
  }
}

const portRetryMs = 50

async function listen(server: Server, port = 0): Promise<void> {
  const listening = once(server, 'listening')
  server.listen(port, '127.0.0.1')
  await listening
}

function addressOf(server: Server): AddressInfo {
  // A listening server has an address of this kind.
  return server.address() as AddressInfo
}

async function receive(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  const { method = '', url: path = '', headers } = request
  return { method, path, headers, text, body: parseBody(text) }
}

function parseBody(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : {}
  } catch {
    return {}
  }
}

/** Returns the output cap; clients without one get the whole reply. */
function maxTokensOf({ max_tokens: cap }: JsonObject): number {
  return typeof cap === 'number' && cap > 0 ? cap : Infinity
}

/** Returns why a request gets no reply; undefined if it does. */
function problemOf(reply: ScriptedReply, { text }: SeenRequest, found: string, number: number): string | undefined {
  if (reply.expect === undefined || found.includes(reply.expect)) return inputProblemOf(reply, text, number)
  const excerpt = found.length > 500 ? `${found.slice(0, 500)}…` : found
  return `Reply ${number} of the script expects "${reply.expect}" in the last user message, which is: "${excerpt}"`
}

/** Rejects more input tokens than the request has bytes: no service bills more, and budgets rely on it. */
function inputProblemOf(reply: ScriptedReply, text: string, number: number): string | undefined {
  const declared = 'error' in reply || 'outage_ms' in reply ? 0 : inputTokensOf({ ...noUsage, ...reply.usage })
  const bytes = Buffer.byteLength(text)
  if (declared <= bytes) return undefined
  return (
    `Reply ${number} of the script declares ${declared} input tokens, but the request has ${bytes} bytes, ` +
    'and no token is shorter than a byte. Declare less, or nothing.'
  )
}

function withVariables(script: Script, variables: Readonly<Record<string, string>>): Script {
  if (Object.keys(variables).length === 0) return script
  const text = JSON.stringify(script).replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined
    // Inside a JSON string: escaped, without quotes.
    return value === undefined ? whole : JSON.stringify(value).slice(1, -1)
  })
  // Only texts were replaced.
  return JSON.parse(text) as Script
}

/** Returns all text of the last user message, including tool results. */
function lastUserText({ messages }: JsonObject): string {
  if (!Array.isArray(messages)) return ''
  const last = messages.findLast((message: Json) => isJsonObject(message) && message.role === 'user')
  return isJsonObject(last) ? textWithin(last.content) : ''
}

function textWithin(content: Json | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((block: Json) => {
      if (!isJsonObject(block)) return ''
      return typeof block.text === 'string' ? block.text : textWithin(block.content)
    })
    .join('\n')
}

interface Numbered {
  readonly reply: ScriptedReply
  /** Position in the script, from 1, including repetitions. */
  readonly number: number
}

/** What one request receives. */
interface RequestReply {
  /** Undefined if the script is exhausted. */
  readonly reply: ScriptedReply | undefined
  readonly number: number
  /** When a lasting error ends, by the clock of `take`. */
  readonly endsMs?: number
}

/** The unused replies of a script. */
export class ReplyQueue {
  readonly count: number
  /** Replies in order, and replies for specific requests. */
  readonly #queue: Numbered[] = []
  readonly #reserved: Numbered[] = []
  #taken = 0
  /** An error that all requests get until it ends. */
  #lasting: (RequestReply & { readonly endsMs: number }) | undefined

  constructor(replies: readonly ScriptedReply[]) {
    const all = replies.flatMap((reply) => Array.from({ length: reply.repeat ?? 1 }, () => reply))
    this.count = all.length
    for (const [index, reply] of all.entries()) {
      const place = reply.when === undefined ? this.#queue : this.#reserved
      place.push({ reply, number: index + 1 })
    }
  }

  get left(): number {
    return this.#queue.length + this.#reserved.length
  }

  /**
   * Returns the reply for a request with this last user message: a lasting error, a reply reserved for the request, or
   * the next reply. If no reply is left, returns only the number of the request. `nowMs` is from a monotonic clock.
   */
  take(lastText: string, nowMs: number): RequestReply {
    this.#taken++
    if (this.#lasting !== undefined && nowMs < this.#lasting.endsMs) return this.#lasting
    const index = this.#reserved.findIndex(({ reply: { when = '' } }) => lastText.includes(when))
    const [found] = index === -1 ? this.#queue.splice(0, 1) : this.#reserved.splice(index, 1)
    if (found === undefined) return { reply: undefined, number: this.#taken }
    const { reply } = found
    if (!('error' in reply) || reply.error.for_ms === undefined) return found
    this.#lasting = { ...found, endsMs: nowMs + reply.error.for_ms }
    return this.#lasting
  }
}

/** Options of a scripted model over HTTP. */
export interface ScriptedModelOptions extends ScriptedServerOptions {
  /** Overrides the model of the script. */
  readonly model?: string | undefined
  /** Additional options of the adapter, such as timeouts and the default cap. */
  readonly adapter?: Partial<Omit<AnthropicOptions, 'model' | 'baseUrl'>>
}

/** A model and the scripted server that answers it. */
export interface ScriptedModel {
  /** The model. */
  readonly model: Model
  /** The server and its received requests. */
  readonly server: ScriptedServer
  /** Stops the server. */
  close(): Promise<void>
}

/**
 * Creates a model that answers from a script over real HTTP: a local server, and the Anthropic adapter as its client.
 * @throws ConfigurationError for an invalid script.
 */
export async function scriptedModel(script: unknown, options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const parsed = parseScript(script, options.source)
  const server = await startScriptedServer(parsed, options)
  const model = options.model ?? parsed.model ?? 'scripted'
  return {
    model: anthropic({ webSearch: parsed.webSearch === true, ...options.adapter, model, baseUrl: server.url }),
    server,
    close: () => server.close(),
  }
}

/**
 * Reads a script from a file.
 * @throws ConfigurationError if it cannot be read or is invalid.
 */
export async function readScript(path: string): Promise<Script> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    throw new ConfigurationError(`The script cannot be read: ${messageOf(thrown)}.`)
  }
  return parseScriptText(text, path)
}
