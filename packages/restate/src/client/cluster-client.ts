import { randomUUID } from 'node:crypto'
import { anySignal } from '@halting/core/adapters'
import { HaltingError, type Json, type SdkResult } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { checkToken } from '../access/proof.ts'
import { wholeRecords } from '../engine/batch.ts'
import { below } from '../http/below.ts'
import { waitingFetch } from '../http/waiting-fetch.ts'
import type { RequestAnswer } from '../service/answers.ts'
import { sessionObject } from '../service/names.ts'
import type { WorkDone } from '../service/session-object.ts'
import type { KeptRecords } from '../service/kept-records.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { Ingress } from './ingress.ts'
import { RemoteSession } from './remote-session.ts'

/** Needs no engine in this process, and runs on every Node that the other packages run on. @throws ConfigurationError for a token that can be guessed. */
export function createClusterClient(options: ClusterClientOptions): ClusterClient {
  const { ingress: url, headers, token, worker = {}, payloads } = options
  if (token !== undefined) checkToken(token)
  const fetchOf = options.fetch ?? fetch
  const ingressBy = (ask: typeof fetch): Ingress =>
    new Ingress({ url, token, fetch: ask, ...(headers !== undefined && { headers }) })
  const ingress = ingressBy(fetchOf)
  const fetchOfWaits = options.fetch ?? waitingFetch
  const waits = ingressBy(fetchOfWaits)
  const call = <T>(key: string, handler: string, input?: Json, signal?: AbortSignal): Promise<T> =>
    ingress.call<T>(sessionObject, key, { handler, input, signal })

  const client: ClusterClient = {
    request(sessionId, request, { id = randomUUID(), opening } = {}) {
      const named = { id, request, ...(opening !== undefined && { opening }) }
      // Requests are JSON.
      return call(sessionId, 'request', named as unknown as Json)
    },
    status: (sessionId, { signal } = {}) => call(sessionId, 'status', undefined, signal),
    changed: (sessionId, { signal, ...given } = {}) =>
      waits.call(sessionObject, sessionId, { handler: 'changed', input: { ...given }, signal, isTriedOnce: true }),
    async records(sessionId, since = 0) {
      const records: StepRecord[] = []
      for (;;) {
        const kept: Partial<KeptRecords> | null = await call(sessionId, 'records', since + records.length)
        if (!Array.isArray(kept?.records)) throw new HaltingError('driver', 'The cluster answers no records.')
        if (kept.records.length === 0) return records
        for (const record of await wholeRecords(kept.records, payloads?.of(sessionId))) records.push(record)
      }
    },
    result(sessionId, id, { wait = false, signal } = {}) {
      const input = { id, wait }
      return wait ? longCall(waits, { sessionId, input, signal }) : call(sessionId, 'result', input, signal)
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
      // With a name of its own it may be asked for again.
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
        isEngineUp: () => answersHealth(fetchOf, url),
      }),
  }
  return client
}

/** What lies between cuts connections on which nothing comes. */
const longestConnectionMs = 55_000

interface LongCall {
  readonly sessionId: string
  readonly input: Json
  readonly signal: AbortSignal | undefined
}

/** The answer that comes when something is known, however long that takes: one call to the engine, over as many connections as it needs. */
async function longCall(ingress: Ingress, { sessionId, input, signal }: LongCall): Promise<RequestAnswer> {
  const idempotencyKey = randomUUID()
  for (;;) {
    const cut = AbortSignal.timeout(longestConnectionMs)
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

async function answersHealth(ask: typeof fetch, url: string): Promise<boolean> {
  const response = await ask(below(url, '/restate/health'), { signal: AbortSignal.timeout(healthMs) }).catch(
    () => undefined,
  )
  await response?.body?.cancel()
  return response?.ok === true
}

const healthMs = 2_000
