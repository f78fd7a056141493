import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { proofHeaders } from '../access/proof.ts'

/** Where the engine accepts requests, and how to send them. */
export interface CallOptions {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Token of the cluster: each call proves that the caller knows it. */
  readonly token?: string | undefined
  readonly headers?: { readonly [name: string]: string }
  readonly fetch: typeof fetch
}

/** Outcome of a call of a handler. */
export type CallOutcome =
  | { readonly type: 'answer'; readonly value: Json | undefined }
  /** The handler may be called again: there was no answer, or it was lost. */
  | { readonly type: 'nobody'; readonly because: string }
  /** No worker has registered the handler. */
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
      // The proof must not be sent to another server.
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
  // Handlers return JSON, so the text is parsed.
  if (ok) return parseAnswer(text, url, status)
  if (status === 413) return { type: 'refused', status, because: tooLargeMessage(url, text) }
  const because =
    errorMessageIn(text) ?? `${url} is not where the engine takes requests: HTTP ${status} ${text.slice(0, 200)}`
  if (status === 408 || status === 429 || status >= 500) return { type: 'nobody', because }
  return status === 404 && isEngineReply(text) ? { type: 'missing', because } : { type: 'refused', status, because }
}

function parseAnswer(text: string, url: string, status: number): CallOutcome {
  try {
    // This cast is safe: the value was parsed from JSON.
    return { type: 'answer', value: text === '' ? undefined : (JSON.parse(text) as Json) }
  } catch {
    return { type: 'refused', status, because: `${url} is not where the engine takes requests: it answers no JSON.` }
  }
}

/** When and how often a call is repeated. */
export interface RetryPolicy {
  readonly maxTries: number
  readonly firstWaitMs: number
  readonly longestWaitMs: number
  /** Whether to wait for a handler that no worker has registered. */
  readonly waitsForWorkers: boolean
}

/** Calls a handler until there is an answer, or none will come. After an abort it soon resolves with the last outcome. */
export async function callWithRetries(
  options: CallOptions,
  path: string,
  input: Json | undefined,
  { signal, patience: retryPolicy }: { readonly signal?: AbortSignal | undefined; readonly patience: RetryPolicy },
): Promise<CallOutcome> {
  const { maxTries, firstWaitMs, longestWaitMs, waitsForWorkers } = retryPolicy
  const body = input === undefined ? undefined : JSON.stringify(input)
  for (let tries = 1; ; tries++) {
    const outcome = await callOnce(options, path, body, signal)
    const isMissing = outcome.type === 'missing' || (outcome.type === 'refused' && outcome.status === 404)
    const mayRetry = outcome.type === 'nobody' || (isMissing && waitsForWorkers)
    if (!mayRetry || tries >= maxTries || signal?.aborted === true) return outcome
    await pause(Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1)), signal)
  }
}

/** Resolves after this time, or at an abort. */
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
  return `The request is larger than ${url} accepts (${text.slice(0, 100)}). Put what is large into a file of the session.`
}

function isEngineReply(text: string): boolean {
  return errorMessageIn(text) !== undefined
}

/** The error message of the engine or of a handler. */
function errorMessageIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (isJsonObject(body) && typeof body['message'] === 'string') return body['message'].slice(0, 1_000)
  } catch {
    // The text is another kind of page, not JSON.
  }
  return undefined
}

/** An address without trailing slashes: people omit them, and the engine adds one. */
export function trimSlashes(address: string): string {
  return address.replace(/\/+$/, '')
}

/** URL of a path at a service whose own address may have a path, such as that of a proxy. */
export function urlBelow(base: string, path: string): URL {
  return new URL(trimSlashes(base) + (path.startsWith('/') ? path : `/${path}`))
}

/** Why a request got no answer: `fetch` hides the reason in the cause of its error. */
export function fetchFailure(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error).trim()
}
