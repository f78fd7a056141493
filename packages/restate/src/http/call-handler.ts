import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { proofHeaders } from '../access/proof.ts'

/** Where the engine takes requests, and how it is asked. */
export interface CallOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Of the cluster: each call proves that it is known. */
  readonly token?: string | undefined
  readonly headers?: { readonly [name: string]: string }
  readonly fetch: typeof fetch
}

/** What became of a call of a handler. */
export type CallOutcome =
  | { readonly type: 'answer'; readonly value: Json | undefined }
  /** It may be called again: nobody was there, or the answer was lost. */
  | { readonly type: 'nobody'; readonly because: string }
  /** No worker has told the engine of the handler. */
  | { readonly type: 'missing'; readonly because: string }
  | { readonly type: 'refused'; readonly status: number; readonly because: string }

/** Calls a handler once. */
async function callOnce(
  { url, token, headers, fetch: ask }: CallOptions,
  path: string,
  body: string | undefined,
  signal: AbortSignal | undefined,
): Promise<CallOutcome> {
  let response: Response
  let text: string
  try {
    response = await ask(urlBelow(url, path), {
      method: 'POST',
      // The proof is for who is asked.
      redirect: 'manual',
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
    return { type: 'nobody', because: fetchFailure(error) }
  }
  const { ok, status } = response
  // What a handler gives is JSON.
  if (ok) return parseAnswer(text, url, status)
  if (status === 413) return { type: 'refused', status, because: tooLargeMessage(url, text) }
  const because =
    errorMessageIn(text) ?? `${url} is not where the engine takes requests: HTTP ${status} ${text.slice(0, 200)}`
  if (status === 408 || status === 429 || status >= 500) return { type: 'nobody', because }
  return status === 404 && isEngineReply(text) ? { type: 'missing', because } : { type: 'refused', status, because }
}

function parseAnswer(text: string, url: string, status: number): CallOutcome {
  try {
    // JSON, as it was parsed.
    return { type: 'answer', value: text === '' ? undefined : (JSON.parse(text) as Json) }
  } catch {
    return { type: 'refused', status, because: `${url} is not where the engine takes requests: it answers no JSON.` }
  }
}

/** When it is called again, and how often. */
export interface RetryPolicy {
  readonly mostTries: number
  readonly firstWaitMs: number
  readonly longestWaitMs: number
  /** Whether what nobody has told the engine of is waited for. */
  readonly waitsForWorkers: boolean
}

/** Calls a handler until there is an answer, or none to come. It resolves soon after an abort, with what came last. */
export async function callWithRetries(
  options: CallOptions,
  path: string,
  input: Json | undefined,
  { signal, patience: retryPolicy }: { readonly signal?: AbortSignal | undefined; readonly patience: RetryPolicy },
): Promise<CallOutcome> {
  const { mostTries, firstWaitMs, longestWaitMs, waitsForWorkers } = retryPolicy
  const body = input === undefined ? undefined : JSON.stringify(input)
  for (let tries = 1; ; tries++) {
    const outcome = await callOnce(options, path, body, signal)
    const isMissing = outcome.type === 'missing' || (outcome.type === 'refused' && outcome.status === 404)
    const mayRetry = outcome.type === 'nobody' || (isMissing && waitsForWorkers)
    if (!mayRetry || tries >= mostTries || signal?.aborted === true) return outcome
    await pause(Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1)), signal)
  }
}

/** Ends at an abort, too. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal?.addEventListener('abort', finish)
  })
}

function tooLargeMessage(url: string, text: string): string {
  return `The request is larger than ${url} takes (${text.slice(0, 100)}). Put what is large into a file of the session.`
}

function isEngineReply(text: string): boolean {
  return errorMessageIn(text) !== undefined
}

/** Of the engine, or of a handler. */
function errorMessageIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (isJsonObject(body) && typeof body['message'] === 'string') return body['message'].slice(0, 1_000)
  } catch {
    // A page of something else.
  }
  return undefined
}

/** An address without slashes at its end: people leave them out, and the engine adds one. */
export function trimSlashes(address: string): string {
  return address.replace(/\/+$/, '')
}

/** What is at this path of a service, whose own address may have one: that of a proxy before it. */
export function urlBelow(base: string, path: string): URL {
  return new URL(trimSlashes(base) + (path.startsWith('/') ? path : `/${path}`))
}

/** Why a request got no answer: `fetch` hides the reason behind its error. */
export function fetchFailure(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error).trim()
}
