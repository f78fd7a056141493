import { ModelError } from '@halting/core'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from '@halting/core'
import { openExchange } from '../http/exchange.ts'
import type { Exchange } from '../http/exchange.ts'
import { figuresOf } from '../prices/catalogue.ts'
import { apiError } from './api-error.ts'
import { endpointOf } from './endpoint.ts'
import type { EndpointOptions } from './endpoint.ts'
import { readReply } from './read-reply.ts'
import { requestBody } from './request-body.ts'

export interface AnthropicOptions extends EndpointOptions {
  /** The id that the service knows the model by. */
  readonly model: string
  /** The id it is priced and reported by, when that is another one. */
  readonly id?: string | undefined
  /** Tokens of input and output that fit; from the price snapshot, or 200,000. */
  readonly contextWindow?: number | undefined
  /** The longest reply there is, in tokens; from the price snapshot, or 64,000. */
  readonly maxOutputTokens?: number | undefined
  /** What is asked for unless a reply was cut; 32,000 when absent, and never more than `maxOutputTokens`. */
  readonly defaultOutputTokens?: number | undefined
  /** Most that a stream may be silent, in milliseconds; 300,000 when absent. */
  readonly idleTimeoutMs?: number | undefined
  /** Most that may pass until the answer begins, and then between two events other than `ping`; 600,000 when absent. */
  readonly requestTimeoutMs?: number | undefined
  /** Stands in for the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/**
 * A model behind the Anthropic Messages API, or behind a service that speaks it.
 * @throws ConfigurationError for an address or a header that no request can be made with.
 */
export function anthropic(options: AnthropicOptions): Model {
  const id = options.id ?? options.model
  const figures = figuresOf(id)
  const maxOutputTokens = options.maxOutputTokens ?? figures?.maxOutputTokens ?? 64_000
  const endpoint = endpointOf(options)
  const { idleTimeoutMs = 300_000, requestTimeoutMs = 600_000 } = options
  return {
    id,
    contextWindow: options.contextWindow ?? figures?.contextWindow ?? 200_000,
    maxOutputTokens,
    defaultOutputTokens: Math.min(options.defaultOutputTokens ?? 32_000, maxOutputTokens),
    async call(request: ModelRequest, call: ModelCallOptions): Promise<ModelReply> {
      const { signal } = call
      const opened = await openExchange(
        {
          url: endpoint.url,
          headers: { ...endpoint.headers, 'idempotency-key': headerSafe(request.idempotencyKey) },
          body: requestBody(options.model, request),
        },
        // Looked up late: touching the global loads Node's whole client.
        { signal, idleTimeoutMs, requestTimeoutMs, fetch: options.fetch ?? globalThis.fetch },
      )
      if (opened.kind === 'failed') throw opened.error
      const { exchange } = opened
      try {
        await refuseFailure(exchange, endpoint.url)
        // Nothing is told of a call that was aborted.
        return await readReply(exchange, (update) => {
          if (!signal.aborted) call.emit(update)
        })
      } finally {
        exchange.dispose()
      }
    },
  }
}

/** Keys are made of names that people gave, in any script; headers are ASCII. */
function headerSafe(key: string): string {
  return key.replaceAll(/[^\w./:@-]/gu, (character) => `%${character.codePointAt(0)?.toString(16)}`)
}

const errorBodyBytes = 65_536

/** @throws ModelError unless the answer is a stream of events. */
async function refuseFailure(exchange: Exchange, url: string): Promise<void> {
  const { status, headers } = exchange.response
  const type = headers.get('content-type') ?? 'text/event-stream'
  if (status === 200 && type.startsWith('text/event-stream')) return
  const body = await exchange.text(errorBodyBytes)
  if (status !== 200 || body.includes('"error"')) {
    throw apiError({ status, headers, body, url, nowMs: Date.now() })
  }
  throw new ModelError({
    kind: 'invalid_request',
    status,
    message: `${url} answered with ${type} instead of a stream of events. Is the base URL right?`,
    requestId: headers.get('request-id'),
  })
}
