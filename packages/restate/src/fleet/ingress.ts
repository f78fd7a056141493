import { HaltingError, type Json } from '@halting/core'
import { callWithRetries, type RetryPolicy } from '../http/call-handler.ts'

/** A way to the engine for what is no handler: its ingress, by plain HTTP. */
export interface IngressOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Of the cluster, where its workers ask for one. */
  readonly token?: string
  /** As the runtime has it when absent. */
  readonly fetch?: typeof fetch
}

interface CallOptions {
  readonly signal: AbortSignal
  /** A call of the same name gets the same answer: it is made again where that is lost. */
  readonly idempotencyKey?: string
}

/** Without an end; an object that no worker has registered yet is there later. */
const patience: RetryPolicy = { mostTries: Infinity, firstWaitMs: 100, longestWaitMs: 5_000, waitsForWorkers: true }

/**
 * Calls a handler, again and again while the engine cannot be reached. Rejects when it is aborted.
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
  const outcome = await callWithRetries({ url, token, fetch: ask, ...named }, path, input, { signal, patience })
  if (outcome.type === 'answer') return outcome.value ?? null
  signal.throwIfAborted()
  const refusal = outcome.type === 'refused' ? ` (HTTP ${outcome.status})` : ''
  throw new HaltingError('driver', `${path}: the engine refuses${refusal}: ${outcome.because}`)
}
