import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { sessionServices } from '../service/session-service.ts'
import { Departure } from './departure.ts'
import { EngineAdmin } from './engine-admin.ts'
import { EngineWatch } from './engine-watch.ts'
import { HandOver } from './hand-over.ts'
import { listen } from './listener.ts'
import { SdkLog } from './sdk-log.ts'
import { pauseSetAside } from './set-aside-work.ts'
import { Stalls } from './stalls.ts'
import type { WorkerEvent } from './worker-events.ts'

/** Options of a worker. */
export interface WorkerOptions extends Omit<SessionServiceOptions, 'departure' | 'stalledOf' | 'workerUrl'> {
  /** Address to listen on. */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Where the engine is administered: `http://127.0.0.1:9070`. */
  readonly admin: string
  /** Under which the engine reaches this worker, or what stands before several; `http://HOST:PORT` without it. */
  readonly advertise?: string
  /** Public keys of the engine, `publickeyv1_…`: only requests that are signed by one of them are answered. */
  readonly identityKeys?: readonly string[]
}

/** A process that works at sessions. */
export interface Worker {
  /** The port that it listens on. */
  readonly port: number
  /** Where the engine reaches it. */
  readonly url: string
  /** Tells the engine of it. Waits for an engine that is not there yet. */
  register(signal?: AbortSignal): Promise<void>
  /** Undefined when it serves and the engine knows it; else why not. `GET /ready` says the same. */
  whyNotReady(): Promise<string | undefined>
  /**
   * Takes no new work, ends what goes on at the next lap at which nothing is under way, and after `graceMs` at once: the engine goes on with it elsewhere. Settles
   * when no session is left in this process, and soon after `graceMs` in any case.
   */
  drain(graceMs: number): Promise<void>
  /** Stops the server at once. */
  close(): Promise<void>
}

/** What is told to end ends within this time, or is left to the end of the process. */
const closingMs = 10_000

/** Begins to serve. Rejects when the port cannot be had. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { host, port, admin, advertise, identityKeys = [], ...service } = options
  const report = (event: WorkerEvent): void => service.onEvent?.(event)
  const departure = new Departure()
  const sdkLog = new SdkLog(report)
  const engine = new EngineAdmin(admin)
  const handOver = new HandOver(engine, departure, report)
  const stalls = new Stalls()
  const whyNotReady = async (): Promise<string | undefined> => {
    if (handOver.successor !== undefined) return `${handOver.successor} takes the sessions of this worker over`
    return departure.soon.aborted ? 'this worker is about to end' : engine.whyUnknown(url)
  }
  const listener = await listen({
    host,
    port,
    http2: createEndpointHandler({
      services: [
        ...sessionServices({
          ...service,
          stalledOf: (sessionId) => stalls.of(sessionId),
          workerUrl: () => url,
          departure,
        }),
      ],
      ...(identityKeys.length > 0 && { identityKeys: [...identityKeys] }),
      logger: (about, ...said) => sdkLog.take(about, said),
    }),
    http1: (request, response) => void answer(request, response, whyNotReady),
  })
  const url = advertise ?? `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
  const watch = new EngineWatch(engine, url, [
    ({ resting }) => stalls.see(resting),
    ({ resting }) => pauseSetAside(engine, resting),
    (seen) => handOver.see(seen),
  ])
  return {
    port: listener.port,
    url,
    register: (signal) =>
      engine.register(url, signal, (because) =>
        report({ type: 'trouble', level: 'warn', message: `${because}. Trying for a minute.` }),
      ),
    whyNotReady,
    async drain(graceMs) {
      departure.begin()
      listener.drain()
      const hurry = setTimeout(() => departure.hurry(), graceMs)
      const giveUp = new AbortController()
      const enough = pause(graceMs + closingMs, undefined, { signal: giveUp.signal }).catch(() => undefined)
      await Promise.race([departure.over(), enough])
      giveUp.abort()
      clearTimeout(hurry)
    },
    close() {
      watch.end()
      return listener.close()
    },
  }
}

async function answer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  whyNotReady: () => Promise<string | undefined>,
): Promise<void> {
  const tell = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(`${JSON.stringify(body)}\n`)
  }
  if (method !== 'GET' && method !== 'HEAD') return tell(405, { error: 'GET /ready, or GET /live.' })
  if (url === '/live') return tell(200, { live: true })
  if (url !== '/ready') return tell(404, { error: 'GET /ready, or GET /live.' })
  const because = await whyNotReady()
  return because === undefined ? tell(200, { ready: true }) : tell(503, { ready: false, because })
}
