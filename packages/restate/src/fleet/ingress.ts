import { setTimeout as pause } from 'node:timers/promises'
import { HaltingError, type Json } from '@halting/core'
import { proofHeaders } from '../access/proof.ts'

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

const firstWaitMs = 100
const longestWaitMs = 5_000

/**
 * Calls a handler, again and again while the engine cannot be reached. Rejects when it is aborted.
 * @throws HaltingError `driver` for a call that the engine refuses.
 */
export async function callHandler(
  { url, token, fetch: ask = fetch }: IngressOptions,
  path: string,
  given: Json,
  { signal, idempotencyKey }: CallOptions,
): Promise<Json> {
  const body = JSON.stringify(given)
  const headers = {
    ...proofHeaders(token, path, body),
    'content-type': 'application/json',
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  const request = { method: 'POST', headers, body, signal }
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
    signal.throwIfAborted()
    // What cannot be reached, or is cut off, is tried again.
    const answer = await ask(new URL(path, url), request)
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined)
    if (answer !== undefined && answer.status < 300)
      return answer.text === '' ? null : (JSON.parse(answer.text) as Json)
    if (answer !== undefined && isFinal(answer.status))
      throw new HaltingError(
        'driver',
        `${path}: the engine refuses (HTTP ${answer.status}): ${answer.text.slice(0, 500)}`,
      )
    // An abort ends the wait, and is looked at above.
    await pause(waitMs, undefined, { signal }).catch(() => {})
  }
}

/** An object that no worker has registered yet is there later. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![404, 408, 429].includes(status)
}
