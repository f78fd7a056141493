import type { McpInstance } from '@halting/agent/mcp'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Control } from './control.ts'

/** The end of a connection that is ours; the client is at the other one. */
interface Transport {
  start(): Promise<void>
  send(message: JsonObject): Promise<void>
}

/** What a server said when its host asked it, before anybody here did. */
export interface Manifest {
  readonly initializeResult: JsonObject
  readonly toolsListResult?: JsonObject
}

/**
 * A server in the process of the host: its messages go there and come from there as control requests (spec R-HOST-12).
 *
 * S1: a request has one answer: that of the server, or an error that says why there is none.
 * S2: nothing is asked of the host any more when the client is gone, or has taken its request back.
 * S3: what the host knew of the server before saves asking: once, for the connection that follows.
 */
export class HostServer implements McpInstance {
  readonly #name: string
  readonly #control: Pick<Control, 'request'>
  readonly #pendingRequests = new Map<Json, AbortController>()
  #manifest: Manifest | undefined
  /** The server has been greeted by its host: it is not told again that it was. */
  #isInitialized = false
  #link: Transport | undefined

  constructor(name: string, control: Pick<Control, 'request'>, manifest?: Manifest) {
    this.#name = name
    this.#control = control
    this.#manifest = manifest
  }

  async connect(transport: never): Promise<void> {
    // What the client's SDK calls a transport has these.
    const link = transport as Transport
    Object.assign(link, { onmessage: (message: JsonObject) => this.#forward(message, link) })
    this.#link = link
    await link.start()
  }

  close(): Promise<void> {
    this.#link = undefined
    this.#manifest = undefined
    this.#isInitialized = false
    for (const controller of this.#pendingRequests.values()) controller.abort()
    return Promise.resolve()
  }

  /** A message of the server that nobody asked for. @throws Error where nobody is connected */
  receive(message: JsonObject): void {
    if (this.#link === undefined) throw new Error(`The MCP server ${this.#name} is not connected.`)
    void this.#link.send(message)
  }

  #forward(message: JsonObject, link: Transport): void {
    const known = this.#answerFromManifest(message)
    if (known === 'passed over') return
    if (known !== undefined) {
      void link.send({ jsonrpc: '2.0', id: message['id'] ?? null, result: known })
      return
    }
    const { id, method, params } = message
    if (id !== undefined && method !== undefined) {
      void this.#ask(id, message, link)
      return
    }
    // Told first: what the host does with it is stopped there, and its answer is passed over here.
    void this.#send(message).catch(() => undefined)
    const taken = method === 'notifications/cancelled' && isJsonObject(params) ? params['requestId'] : undefined
    if (taken !== undefined) this.#pendingRequests.get(taken)?.abort()
  }

  async #ask(id: Json, message: JsonObject, link: Transport): Promise<void> {
    const taken = new AbortController()
    this.#pendingRequests.set(id, taken)
    const answer = await this.#send(message, taken.signal).then(
      ({ mcp_response: response }) =>
        isJsonObject(response)
          ? { ...response, id }
          : errorResponse(id, 'The host returned no answer from the server.'),
      (thrown: unknown) => errorResponse(id, messageOf(thrown)),
    )
    this.#pendingRequests.delete(id)
    if (!taken.signal.aborted) await link.send(answer).catch(() => undefined)
  }

  #send(message: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const request = { subtype: 'mcp_message', server_name: this.#name, message }
    return this.#control.request(request, signal === undefined ? {} : { signal })
  }

  /** The result that is known already. */
  #answerFromManifest({ method, params }: JsonObject): JsonObject | 'passed over' | undefined {
    const manifest = this.#manifest
    if (method === 'notifications/initialized' && this.#isInitialized) return 'passed over'
    if (method === 'initialize' && manifest !== undefined) {
      const { protocolVersion: wanted } = isJsonObject(params) ? params : {}
      // Another version than the client speaks: the two have to agree themselves.
      if (manifest.initializeResult['protocolVersion'] !== wanted) {
        this.#manifest = undefined
        return undefined
      }
      this.#isInitialized = true
      return manifest.initializeResult
    }
    if (method === 'tools/list' && manifest?.toolsListResult !== undefined) {
      this.#manifest = undefined
      return manifest.toolsListResult
    }
    return undefined
  }
}

function errorResponse(id: Json, message: string): JsonObject {
  return { jsonrpc: '2.0', id, error: { code: internalError, message } }
}

const internalError = -32_603
