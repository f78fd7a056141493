import { randomUUID } from 'node:crypto'
import { anySignal } from '@halting/core/adapters'
import { HaltingError, type Json, type SdkResult, ConfigurationError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { checkToken } from '../access/proof.ts'
import { unpackRecords } from '../engine/batch.ts'
import type { RequestAnswer } from '../service/answers.ts'
import { sessionObject } from '../service/names.ts'
import type { WorkDone } from '../service/session-object.ts'
import type { RecordsPage } from '../service/stored-records.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { RemoteSession } from './remote-session.ts'
import { callWithRetries, type CallOptions, type RetryPolicy, urlBelow } from '../http/call-handler.ts'

/**
 * Creates a client of a cluster. It needs no engine in this process, and runs on every Node that the other packages support. @throws ConfigurationError for a token that is too
 * short.
 */
export function createClusterClient(options: ClusterClientOptions): ClusterClient {
  const { ingress: url, headers, token, worker = {}, payloads } = options
  if (token !== undefined) checkToken(token)
  const fetchOf = options.fetch ?? fetch
  const ingressBy = (ask: typeof fetch): IngressClient =>
    new IngressClient({ url, token, fetch: ask, ...(headers !== undefined && { headers }) })
  const ingress = ingressBy(fetchOf)
  const fetchOfWaits = options.fetch ?? waitingFetch
  const waits = ingressBy(fetchOfWaits)
  const call = <T>(key: string, handler: string, input?: Json, signal?: AbortSignal): Promise<T> =>
    ingress.call<T>(sessionObject, key, { handler, input, signal })

  const client: ClusterClient = {
    request(sessionId, request, { id = randomUUID(), opening } = {}) {
      const namedRequest = { id, request, ...(opening !== undefined && { opening }) }
      // Requests are JSON.
      return call(sessionId, 'request', namedRequest as unknown as Json)
    },
    status: (sessionId, { signal } = {}) => call(sessionId, 'status', undefined, signal),
    changed: (sessionId, { signal, ...query } = {}) =>
      waits.call(sessionObject, sessionId, { handler: 'changed', input: { ...query }, signal, isTriedOnce: true }),
    async records(sessionId, since = 0) {
      const records: StepRecord[] = []
      for (;;) {
        const page: Partial<RecordsPage> | null = await call(sessionId, 'records', since + records.length)
        if (!Array.isArray(page?.records)) throw new HaltingError('driver', 'The cluster returned no records.')
        if (page.records.length === 0) return records
        for (const record of await unpackRecords(page.records, payloads?.of(sessionId))) records.push(record)
      }
    },
    result(sessionId, id, { wait = false, signal } = {}) {
      const input = { id, wait }
      return wait ? callWithReconnects(waits, { sessionId, input, signal }) : call(sessionId, 'result', input, signal)
    },
    async resultOfRun(sessionId, runId) {
      return (await call<SdkResult | null>(sessionId, 'runResult', runId)) ?? undefined
    },
    async done(sessionId) {
      return (await call<WorkDone | null>(sessionId, 'done')) ?? undefined
    },
    async close(sessionId) {
      await call(sessionId, 'close', { id: randomUUID() })
    },
    async remove(sessionId) {
      await call(sessionId, 'remove')
    },
    async fork(sessionId, as = randomUUID()) {
      // With its own id, the fork can be requested again.
      const { id } = await call<{ readonly id: string }>(sessionId, 'fork', { as })
      return id
    },
    session: (sessionId, opening, { since, runId } = {}) =>
      new RemoteSession({
        client,
        sessionId,
        opening,
        since,
        runId,
        worker,
        fetch: fetchOfWaits,
        isEngineUp: () => isEngineHealthy(fetchOf, url),
      }),
  }
  return client
}

/** Proxies close connections that stay silent for longer. */
const maxConnectionMs = 55_000

interface LongCall {
  readonly sessionId: string
  readonly input: Json
  readonly signal: AbortSignal | undefined
}

/** Waits for an answer without a time limit: one call to the engine, over as many connections as needed. */
async function callWithReconnects(
  ingress: IngressClient,
  { sessionId, input, signal }: LongCall,
): Promise<RequestAnswer> {
  const idempotencyKey = randomUUID()
  for (;;) {
    const cut = AbortSignal.timeout(maxConnectionMs)
    try {
      return await ingress.call<RequestAnswer>(sessionObject, sessionId, {
        handler: 'result',
        input,
        idempotencyKey,
        signal: signal === undefined ? cut : anySignal([signal, cut]),
      })
    } catch (error) {
      signal?.throwIfAborted()
      if (!cut.aborted) throw error
    }
  }
}

async function isEngineHealthy(ask: typeof fetch, url: string): Promise<boolean> {
  const response = await ask(urlBelow(url, '/restate/health'), { signal: AbortSignal.timeout(healthMs) }).catch(
    () => undefined,
  )
  await response?.body?.cancel()
  return response?.ok === true
}

const healthMs = 2_000

/** How long a call is retried before the caller is notified that the cluster does not answer. */
const retryPolicy: RetryPolicy = { maxTries: 8, firstWaitMs: 100, longestWaitMs: 2_000, waitsForWorkers: false }

interface HandlerCall {
  readonly handler: string
  readonly input?: Json | undefined
  readonly signal?: AbortSignal | undefined
  /** Concurrent calls with the same key are one call to the engine. */
  readonly idempotencyKey?: string
  /** The caller handles a missing answer itself, so the call is not retried. */
  readonly isTriedOnce?: boolean
}

/** Calls handlers of an object over HTTP. Every call may be repeated, because requests have ids. */
class IngressClient {
  readonly #options: CallOptions

  constructor(options: CallOptions) {
    this.#options = options
  }

  /**
   * Calls a handler and returns its answer.
   * @throws ConfigurationError if the handler refuses or does not exist.
   * @throws HaltingError `driver` if nobody answers.
   */
  async call<T>(object: string, key: string, { handler, input, signal, ...more }: HandlerCall): Promise<T> {
    const path = `/${object}/${encodeURIComponent(key)}/${handler}`
    const { idempotencyKey, isTriedOnce = false } = more
    const { headers } = this.#options
    const namedRequest = { ...headers, ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) }
    const outcome = await callWithRetries({ ...this.#options, headers: namedRequest }, path, input, {
      signal,
      patience: isTriedOnce ? { ...retryPolicy, maxTries: 1 } : retryPolicy,
    })
    switch (outcome.type) {
      case 'answer':
        // This cast is safe: the type of the handler defines what it returns.
        return outcome.value as T
      case 'nobody':
        signal?.throwIfAborted()
        throw new HaltingError('driver', `The cluster does not answer: ${outcome.because}`)
      case 'missing':
        throw new ConfigurationError(`The cluster does not serve sessions: ${outcome.because} Register a worker first.`)
      case 'refused':
        throw new ConfigurationError(outcome.because)
    }
  }
}

/** Where Node's `fetch` stores its dispatcher; undici documents the name. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

type Dispatch = (options: object, handler: object) => boolean

/**
 * `fetch` for long waits whose caller ends them itself. While an answer is awaited, the timeouts of Node's `fetch` wake the process twice a second, which costs more than
 * everything else that waiting does. This variant has no timeouts. On other runtimes it is plain `fetch`.
 */
export const waitingFetch: typeof fetch = (input, init) => {
  const dispatcher = withoutTimeouts()
  return fetch(input, dispatcher === undefined ? init : { ...init, dispatcher })
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>

function withoutTimeouts(): Dispatcher | undefined {
  // Later versions of undici have another dispatcher interface.
  const major = Number(/^\d+/.exec(process.versions['undici'] ?? '')?.[0])
  if (!(major >= 6 && major <= 7)) return undefined
  // Absent until the first `fetch`.
  const usual = (globalThis as { readonly [globalDispatcher]?: { readonly dispatch: Dispatch } })[globalDispatcher]
  if (usual === undefined) return undefined
  const dispatch: Dispatch = (options, handler) =>
    usual.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler)
  // This cast is safe: `fetch` uses no other member of it.
  return { dispatch } as unknown as Dispatcher
}
