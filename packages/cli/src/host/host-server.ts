import type { McpInstance } from '@halting/agent/mcp'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Control } from './control.ts'

/** Our end of the connection to the MCP client. */
interface Transport {
  start(): Promise<void>
  send(message: JsonObject): Promise<void>
}

/** The answers of an MCP server that its host obtained before the session started. */
export interface Manifest {
  readonly initializeResult: JsonObject
  readonly toolsListResult?: JsonObject
}

/**
 * An MCP server in the process of the host: its messages travel as control requests (spec R-HOST-12).
 *
 * S1: each request has one response: that of the server, or an error that explains why it has no answer.
 * S2: no request is sent to the host after the client disconnected or cancelled it.
 * S3: answers that the host already knows are used instead of a request, once, for the next connection.
 */
export class HostServer implements McpInstance {
  readonly #name: string
  readonly #control: Pick<Control, 'request'>
  readonly #pendingRequests = new Map<Json, AbortController>()
  #manifest: Manifest | undefined
  /** Whether the host has already sent `notifications/initialized`, so that it is not sent again. */
  #isInitialized = false
  #link: Transport | undefined

  constructor(name: string, control: Pick<Control, 'request'>, manifest?: Manifest) {
    this.#name = name
    this.#control = control
    this.#manifest = manifest
  }

  async connect(transport: never): Promise<void> {
    // This cast is safe: the transport of the client's SDK has these members.
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

  /**
   * Forwards a message that the server sends without a request.
   * @throws Error if no client is connected.
   */
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
    // The cancellation is sent first: the host then stops the request, and its response is ignored here.
    void this.#send(message).catch(() => undefined)
    const cancelledId = method === 'notifications/cancelled' && isJsonObject(params) ? params['requestId'] : undefined
    if (cancelledId !== undefined) this.#pendingRequests.get(cancelledId)?.abort()
  }

  async #ask(id: Json, message: JsonObject, link: Transport): Promise<void> {
    const cancellation = new AbortController()
    this.#pendingRequests.set(id, cancellation)
    const answer = await this.#send(message, cancellation.signal).then(
      ({ mcp_response: response }) =>
        isJsonObject(response)
          ? { ...response, id }
          : errorResponse(id, 'The host returned no answer from the server.'),
      (thrown: unknown) => errorResponse(id, messageOf(thrown)),
    )
    this.#pendingRequests.delete(id)
    if (!cancellation.signal.aborted) await link.send(answer).catch(() => undefined)
  }

  #send(message: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const request = { subtype: 'mcp_message', server_name: this.#name, message }
    return this.#control.request(request, signal === undefined ? {} : { signal })
  }

  /** The result that the manifest already contains. */
  #answerFromManifest({ method, params }: JsonObject): JsonObject | 'passed over' | undefined {
    const manifest = this.#manifest
    if (method === 'notifications/initialized' && this.#isInitialized) return 'passed over'
    if (method === 'initialize' && manifest !== undefined) {
      const { protocolVersion: wanted } = isJsonObject(params) ? params : {}
      // The client wants another protocol version, so client and server must negotiate.
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
