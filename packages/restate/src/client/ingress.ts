import { ConfigurationError, HaltingError, type Json } from '@halting/core'
import { callHandlerOf, type CallOptions, type Patience } from '../http/call-handler.ts'

/** So long a call is tried before its caller hears that nobody answers. */
const patience: Patience = { mostTries: 8, firstWaitMs: 100, longestWaitMs: 2_000, waitsForWorkers: false }

export interface HandlerCall {
  readonly handler: string
  readonly input?: Json | undefined
  readonly signal?: AbortSignal | undefined
  /** Calls of one key are one call to the engine, while it goes on. */
  readonly idempotencyKey?: string
  /** The caller does something else where nobody answers. */
  readonly isTriedOnce?: boolean
}

/** The handlers of an object, over HTTP. Every one of them may be called again: requests have names. */
export class Ingress {
  readonly #options: CallOptions

  constructor(options: CallOptions) {
    this.#options = options
  }

  /**
   * @throws ConfigurationError for what the handler refuses, and where it is not there.
   * @throws HaltingError `driver` where nobody answers.
   */
  async call<T>(object: string, key: string, { handler, input, signal, ...more }: HandlerCall): Promise<T> {
    const path = `/${object}/${encodeURIComponent(key)}/${handler}`
    const { idempotencyKey, isTriedOnce = false } = more
    const { headers } = this.#options
    const named = { ...headers, ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) }
    const came = await callHandlerOf({ ...this.#options, headers: named }, path, input, {
      signal,
      patience: isTriedOnce ? { ...patience, mostTries: 1 } : patience,
    })
    switch (came.type) {
      case 'answer':
        // What a handler gives is what its type says.
        return came.value as T
      case 'nobody':
        signal?.throwIfAborted()
        throw new HaltingError('driver', `The cluster does not answer: ${came.because}`)
      case 'missing':
        throw new ConfigurationError(`The cluster knows no sessions: ${came.because} Register a worker first.`)
      case 'refused':
        throw new ConfigurationError(came.because)
    }
  }
}
