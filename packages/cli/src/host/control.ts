import type { Json, JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'

/** The response to a request of the host. */
export interface ControlResponse {
  /** The body of the response; absent for requests that need none. */
  readonly response?: JsonObject
  /** Further fields next to `request_id`. */
  readonly extraFields?: JsonObject
}

/** A request of the host. */
export interface HostRequest {
  readonly subtype: string
  readonly fields: JsonObject
  /** Aborted when the host cancels the request or disconnects. */
  readonly signal: AbortSignal
}

/**
 * Serves a request of the host. Called immediately, in the order of the lines. An error that it throws or rejects with
 * becomes the error of the response.
 */
export type ServeRequest = (request: HostRequest) => ControlResponse | Promise<ControlResponse>

export interface ControlPorts {
  /** Writes a message to the host. */
  readonly write: (message: JsonObject) => void
  readonly serve: ServeRequest
  /** Writes a message that belongs to no request; it receives `uuid` and `session_id`. */
  readonly emit?: (message: JsonObject) => void
  /** Reports a message that cannot be answered. */
  readonly warn: (text: string) => void
}

/** Why one of our requests has no response. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
  /** `refused`: the host answered with an error. `withdrawn`: the signal of the request was aborted. `gone`: the host can no longer answer. */
  readonly code: 'refused' | 'withdrawn' | 'gone'

  constructor(code: ControlError['code'], message: string) {
    super(message)
    this.code = code
  }
}

interface OutgoingRequest {
  readonly request: JsonObject
  readonly resolve: (response: JsonObject) => void
  readonly reject: (error: ControlError) => void
}

/**
 * Requests in both directions over one pair of streams (spec R-HOST-3).
 *
 * C1: every request of the host that has an id receives one response, even if the request is invalid.
 * C2: each of our requests ends: by a response, by its signal, or because the host is gone. Later responses are ignored.
 * C3: a slow request does not delay others. The response to a request that is served immediately is written before its effects.
 */
export class Control {
  readonly #ports: ControlPorts
  readonly #outgoing = new Map<string, OutgoingRequest>()
  /** Requests of the host that are being served. */
  readonly #incoming = new Map<Json, AbortController>()
  readonly #answering = new Set<Promise<void>>()
  #requestCount = 0
  #goneReason: string | undefined

  constructor(ports: ControlPorts) {
    this.#ports = ports
  }

  /** Receives a line of the host. Returns false if it is not part of this protocol. */
  receive(message: JsonObject): boolean {
    switch (message['type']) {
      case 'control_request':
        this.#serve(message)
        return true
      case 'control_response':
        this.#answered(message['response'])
        return true
      case 'control_cancel_request':
        this.#incoming.get(message['request_id'] ?? null)?.abort()
        return true
      case 'keep_alive':
        return true
      default:
        return false
    }
  }

  /** Writes a message to the host, unless it is gone. */
  emit(message: JsonObject): void {
    if (this.#goneReason === undefined) this.#ports.emit?.(message)
  }

  /**
   * Sends a request to the host. Aborting the signal cancels the request.
   * @throws ControlError if there is no response, or it is an error.
   */
  request(request: JsonObject, { signal }: { readonly signal?: AbortSignal } = {}): Promise<JsonObject> {
    if (signal?.aborted === true) return Promise.reject(withdrawnError())
    if (this.#goneReason !== undefined) return Promise.reject(new ControlError('gone', this.#goneReason))
    const id = `halting_${++this.#requestCount}`
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#outgoing.delete(id)
        if (this.#goneReason === undefined) this.#ports.write({ type: 'control_cancel_request', request_id: id })
        reject(withdrawnError())
      }
      this.#outgoing.set(id, {
        request,
        resolve: (response) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(response)
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error)
        },
      })
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#ports.write({ type: 'control_request', request_id: id, request })
    })
  }

  /** Our unanswered requests of this kind, as they were written. */
  unanswered(subtype: string): readonly JsonObject[] {
    return [...this.#outgoing]
      .filter(([, { request }]) => request['subtype'] === subtype)
      .map(([id, { request }]) => ({ type: 'control_request', request_id: id, request }))
  }

  /** Answers a request of the host that could not be read. */
  refuse(requestId: string, error: string): void {
    this.#refuse(requestId, error)
  }

  /** Called when the host closes its input: our pending and future requests fail. Requests of the host are still answered. */
  disconnect(because: string): void {
    if (this.#goneReason !== undefined) return
    this.#goneReason = because
    const waiting = [...this.#outgoing.values()]
    this.#outgoing.clear()
    for (const { reject: failed } of waiting) failed(new ControlError('gone', because))
  }

  /** Resolves when every request received so far is answered. */
  async allAnswered(): Promise<void> {
    while (this.#answering.size > 0) await Promise.all(this.#answering)
  }

  #serve(message: JsonObject): void {
    const { request_id: id, request } = message
    if (typeof id !== 'string' && typeof id !== 'number') {
      this.#ports.warn('ignored a control request without a request_id: it cannot be answered.')
      return
    }
    const subtype = isJsonObject(request) ? request['subtype'] : undefined
    if (!isJsonObject(request) || typeof subtype !== 'string') {
      this.#refuse(id, 'A control request needs a request with a subtype, such as {"subtype":"interrupt"}.')
      return
    }
    const controller = new AbortController()
    let response: ControlResponse | Promise<ControlResponse>
    try {
      response = this.#ports.serve({ subtype, fields: request, signal: controller.signal })
    } catch (thrown) {
      this.#refuse(id, messageOf(thrown))
      return
    }
    // A direct response is written immediately, before anything that the request causes.
    if (!(response instanceof Promise)) {
      this.#answer(id, response)
      return
    }
    this.#incoming.set(id, controller)
    const answering = response
      .then(
        (answer) => this.#answer(id, answer),
        (error: unknown) => this.#refuse(id, messageOf(error)),
      )
      .finally(() => {
        if (this.#incoming.get(id) === controller) this.#incoming.delete(id)
        this.#answering.delete(answering)
      })
    this.#answering.add(answering)
  }

  #answer(id: Json, { response, extraFields: beside }: ControlResponse): void {
    this.#ports.write({
      type: 'control_response',
      response: { subtype: 'success', request_id: id, ...(response !== undefined && { response }), ...beside },
    })
  }

  #refuse(id: Json, error: string): void {
    this.#ports.write({ type: 'control_response', response: { subtype: 'error', request_id: id, error } })
  }

  #answered(response: Json | undefined): void {
    const id = isJsonObject(response) ? response['request_id'] : undefined
    const waiting = typeof id === 'string' ? this.#outgoing.get(id) : undefined
    // The response is late, or its request is unknown.
    if (waiting === undefined || !isJsonObject(response) || typeof id !== 'string') return
    this.#outgoing.delete(id)
    if (response['subtype'] === 'success') {
      const body = response['response']
      waiting.resolve(isJsonObject(body) ? body : {})
      return
    }
    const { error } = response
    waiting.reject(new ControlError('refused', typeof error === 'string' && error !== '' ? error : 'The host refused.'))
  }
}

function withdrawnError(): ControlError {
  return new ControlError('withdrawn', 'The request was withdrawn.')
}
