import { ConfigurationError, HaltingError, type Json } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { proofHeaders } from '../access/proof.ts'

/** How a client of the cluster reaches the handlers of its sessions. */
interface ClientIngressOptions {
  /** Of the engine, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Sent with each call. */
  readonly headers?: { readonly [name: string]: string }
  /** Of the cluster: each call proves that it is known. */
  readonly token?: string | undefined
  readonly fetch: typeof fetch
}

/** How often a call is tried before its caller hears that nobody answers; each waits twice as long, at most two seconds. */
const mostTries = 8

/** The handlers of an object, over HTTP. Every one of them may be called again: requests have names. */
export class Ingress {
  readonly #options: ClientIngressOptions

  constructor(options: ClientIngressOptions) {
    this.#options = options
  }

  /**
   * @throws ConfigurationError for what the handler refuses, and where it is not there.
   * @throws HaltingError `driver` where nobody answers.
   */
  async call<T>(object: string, key: string, handler: string, input?: Json, signal?: AbortSignal): Promise<T> {
    const path = `/${object}/${encodeURIComponent(key)}/${handler}`
    for (let tries = 1; ; tries++) {
      const came = await this.#try(path, input, signal)
      // What a handler gives is what its type says.
      if (came.type === 'answer') return came.value as T
      signal?.throwIfAborted()
      if (tries >= mostTries) throw new HaltingError('driver', `The cluster does not answer: ${came.because}`)
      await new Promise((resolve) => setTimeout(resolve, Math.min(2_000, 50 * 2 ** tries)))
    }
  }

  async #try(path: string, input: Json | undefined, signal: AbortSignal | undefined): Promise<Came> {
    const { url, headers, token, fetch } = this.#options
    const body = input === undefined ? undefined : JSON.stringify(input)
    let response: Response
    let text: string
    try {
      response = await fetch(new URL(path, url), {
        method: 'POST',
        headers: {
          ...headers,
          ...proofHeaders(token, path, body),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
      })
      text = await response.text()
    } catch (error) {
      // `fetch` hides the reason behind its error.
      return {
        type: 'nobody',
        because: messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error),
      }
    }
    if (response.ok) return { type: 'answer', value: text === '' ? undefined : JSON.parse(text) }
    const because = sentenceOf(text)
    if (response.status === 429 || response.status >= 500) return { type: 'nobody', because }
    throw new ConfigurationError(
      response.status === 404 ? `The cluster knows no sessions: ${because} Register a worker first.` : because,
    )
  }
}

type Came = { readonly type: 'answer'; readonly value: unknown } | { readonly type: 'nobody'; readonly because: string }

function sentenceOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    if (isJsonObject(body) && typeof body['message'] === 'string') return body['message'].slice(0, 1_000)
  } catch {
    // A proxy's page.
  }
  return text.slice(0, 200)
}
