import { HaltingError, type Json } from '@halting/core'
import { callWithRetries, type RetryPolicy } from '../http/call-handler.ts'

/** How code outside of handlers reaches the engine: its ingress, by plain HTTP. */
export interface IngressOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Token of the cluster, if its workers require one. */
  readonly token?: string
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
}

interface CallOptions {
  readonly signal: AbortSignal
  /** Calls with the same key get the same answer, so a lost answer can be requested again. */
  readonly idempotencyKey?: string
}

/** Retries without end; an object that no worker has registered yet will exist later. */
const retryPolicy: RetryPolicy = { maxTries: Infinity, firstWaitMs: 100, longestWaitMs: 5_000, waitsForWorkers: true }

/**
 * Calls a handler, and retries while the engine is unreachable. Rejects when it is aborted.
 * @throws HaltingError `driver` for a call that the engine refuses.
 */
export async function callHandler(
  { url, token, fetch: ask = fetch }: IngressOptions,
  path: string,
  input: Json,
  { signal, idempotencyKey }: CallOptions,
): Promise<Json> {
  signal.throwIfAborted()
  const named = idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }
  const outcome = await callWithRetries({ url, token, fetch: ask, ...named }, path, input, {
    signal,
    patience: retryPolicy,
  })
  if (outcome.type === 'answer') return outcome.value ?? null
  signal.throwIfAborted()
  const refusal = outcome.type === 'refused' ? ` (HTTP ${outcome.status})` : ''
  throw new HaltingError('driver', `${path}: the engine refused the call${refusal}: ${outcome.because}`)
}
