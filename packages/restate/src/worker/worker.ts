import { setTimeout as pause } from 'node:timers/promises'
import { ConfigurationError } from '@halting/core'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import type { IngressOptions } from '../fleet/ingress.ts'
import type { SessionServiceOptions } from '../service/session-options.ts'
import { engineClock, type EngineClock } from '../http/engine-clock.ts'
import { sessionServices } from '../service/session-service.ts'
import { Departure } from './departure.ts'
import { EngineAdmin } from './engine-admin.ts'
import { EnginePulse } from './engine-pulse.ts'
import { EngineWatch } from './engine-watch.ts'
import { HandOver } from './hand-over.ts'
import { listen } from './listener.ts'
import type { SessionToMove } from './lost-work.ts'
import { LostWorkers } from './lost-workers.ts'
import { answerProbe } from './probes.ts'
import { Readiness } from './readiness.ts'
import { Places } from './places.ts'
import { Retention, retentionPorts, minRetainMs } from './retention.ts'
import { SdkLog } from './sdk-log.ts'
import { SharePlaces } from './share-places.ts'
import { Stalls } from './stalls.ts'
import type { WorkerEvent, WorkerListener } from './worker-events.ts'

/** Options of a worker. */
export interface WorkerOptions extends Omit<SessionServiceOptions, 'departure' | 'stalledOf' | 'places' | 'workerUrl'> {
  /** Address to listen on. */
  readonly host: string
  /** Port to listen on; 0 for any free one. */
  readonly port: number
  /** Address of the engine's admin API, such as `http://127.0.0.1:9070`. */
  readonly admin: string
  /** Address at which the engine reaches this worker, or a load balancer in front of several. Default: `http://HOST:PORT`. */
  readonly advertise?: string
  /** Public keys of the engine, `publickeyv1_…`: only requests signed with one of them are answered. */
  readonly identityKeys?: readonly string[]
  /**
   * Whether this worker has what it needs to continue a session whose worker is lost, such as its folder. Called before the session is moved here; if not, the session waits for
   * its worker. Default: yes.
   */
  readonly canOpen?: (session: SessionToMove) => boolean | Promise<boolean>
  /** Maximum number of sessions that work here at the same time; others wait in order, without loss. Default: no limit. */
  readonly concurrency?: number
  /**
   * Removes sessions that have not changed for this many milliseconds, with everything stored for them, if no run is running and no question is open. At least an hour
   * (3,600,000); needs `ingress`. Default: none is removed.
   */
  readonly retainMs?: number
  /** What `GET /metrics` on the worker's port answers. Default: 404. */
  readonly metrics?: {
    /** Returns the text in Prometheus' format 0.0.4, with the worker's figures. */
    readonly read: (figures: WorkerFigures) => Promise<string>
    /** Token that readers must send as `authorization: Bearer TOKEN`; null if nobody may read. Default: programs of this machine may, by its loopback address. */
    readonly token?: string | null
  }
}

/** Figures of a worker, for its metrics. */
export interface WorkerFigures {
  /** What `GET /ready` would answer. */
  readonly isReady: boolean
  /** How often this worker could not read the engine's admin API. */
  readonly engineLookFailures: number
  /** Maximum number of sessions at work; null for no limit. */
  readonly places: number | null
  /** Sessions that have a place, including those that only wait for a person and keep it until another session needs it. */
  readonly atWork: number
  /** Sessions that wait for a place. */
  readonly waiting: number
}

/** A process that works at sessions. */
export interface Worker {
  /** The port that it listens on. */
  readonly port: number
  /** Address at which the engine reaches it. */
  readonly url: string
  /** Registers the worker with the engine. Waits for an engine that is not reachable yet. */
  register(signal?: AbortSignal): Promise<void>
  /** Why the worker is not ready; undefined if it serves, and the engine knows it and can write. `GET /ready` answers the same. */
  whyNotReady(): Promise<string | undefined>
  /**
   * Accepts no new work, ends running work at its next iteration without open effects, and after `graceMs` at once: the engine continues it elsewhere. Settles when no session is
   * left in this process, and soon after `graceMs` in any case.
   */
  drain(graceMs: number): Promise<void>
  /** Stops the server at once. */
  close(): Promise<void>
}

/** Maximum time, in milliseconds, for work to stop; after that, the end of the process stops it. */
const closingMs = 10_000

/** Starts a worker. Rejects if the port is not available. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { host, port, advertise, identityKeys = [], metrics, ...inside } = options
  const parts = createParts(inside)
  const { service, report, departure, places, engine, handOver, stalls, lost, sdkLog, retention } = parts
  // The first session needs the engine's time, which is read now if the engine is reachable.
  await engine.readClock()
  const inProcess = {
    stalledOf: (sessionId: string) => lost.stallOf(sessionId) ?? stalls.stallOf(sessionId),
    workerUrl: () => url,
  }
  const listener = await listen({
    host,
    port,
    http2: createEndpointHandler({
      services: [...sessionServices({ ...service, ...inProcess, departure, places })],
      ...(identityKeys.length > 0 && { identityKeys: [...identityKeys] }),
      logger: (about, ...said) => sdkLog.take(about, said),
    }),
    http1: (request, response) =>
      void answerProbe(request, response, {
        whyNotReady: () => readiness.whyNot(),
        unchecked: readiness.unchecked,
        metrics: metrics && {
          ...metrics,
          read: async () => metrics.read(figures((await readiness.whyNot()) === undefined)),
        },
      }),
  })
  const url = advertise ?? urlAt(host, listener.port)
  const { ingress } = service
  const share = ingress && new SharePlaces({ ingress, url, places, renewConnections: () => listener.renew() })
  const watch = new EngineWatch(engine, url, [
    ({ resting }) => stalls.update(resting),
    () => parts.clocks.update(),
    (snapshot) => handOver.update(snapshot),
    (_seen, signal) => share?.update(signal),
    (snapshot, signal) => retention?.update(snapshot, signal),
    // Last, because it waits for workers that do not answer.
    (snapshot) => lost.update(snapshot),
  ])
  const pulse = ingress && new EnginePulse(ingress)
  const readiness = new Readiness({ handOver, departure, engine, url, watch, pulse, report })
  const figures = (isReady: boolean): WorkerFigures => ({
    isReady,
    engineLookFailures: watch.failures,
    ...placeFigures(places),
  })
  return {
    port: listener.port,
    url,
    register: (signal) =>
      engine.register(url, signal, (because) =>
        report({ type: 'trouble', level: 'warn', message: `${because}. Trying for a minute.` }),
      ),
    whyNotReady: () => readiness.whyNot(),
    async drain(graceMs) {
      departure.begin()
      listener.drain()
      void share?.leave()
      await waitForSessions(departure, graceMs)
    },
    close() {
      watch.end()
      return listener.close()
    },
  }
}

/** @throws ConfigurationError for a time that is too short, and without a way to the engine. */
function createRetention(
  { retainMs, ingress }: { readonly retainMs: number | undefined; readonly ingress: IngressOptions | undefined },
  engine: EngineAdmin,
  report: (event: WorkerEvent) => void,
): Retention | undefined {
  if (retainMs === undefined) return undefined
  if (!(retainMs >= minRetainMs))
    throw new ConfigurationError(`retainMs must be at least ${minRetainMs} (an hour); it is ${retainMs}.`)
  if (ingress === undefined) throw new ConfigurationError('retainMs needs `ingress`, the address of the engine.')
  return new Retention({ ports: retentionPorts(engine, ingress), retainMs, report })
}

function placeFigures({ most, taken, waiting }: Places): Pick<WorkerFigures, 'places' | 'atWork' | 'waiting'> {
  return { places: Number.isFinite(most) ? most : null, atWork: taken, waiting }
}

function urlAt(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Creates the parts of a worker other than its port. */
function createParts({
  admin,
  concurrency,
  retainMs,
  canOpen,
  ...service
}: Omit<WorkerOptions, 'host' | 'port' | 'advertise' | 'identityKeys' | 'metrics'>) {
  const report = (event: WorkerEvent): void => service.onEvent?.(event)
  const departure = new Departure()
  const engine = new EngineAdmin(admin)
  return {
    service,
    report,
    departure,
    engine,
    places: new Places(concurrency),
    handOver: new HandOver(engine, departure, report),
    stalls: new Stalls(engine),
    retention: createRetention({ retainMs, ingress: service.ingress }, engine, report),
    sdkLog: new SdkLog(report, () => departure.soon.aborted),
    clocks: new ClockWatch(engineClock, report),
    lost: new LostWorkers({ admin: engine, departure, report, canOpen }),
  }
}

/** Waits for running sessions, hurries them after `graceMs`, and waits only a little beyond that. */
async function waitForSessions(departure: Departure, graceMs: number): Promise<void> {
  const hurry = setTimeout(() => departure.hurry(), graceMs)
  const giveUp = new AbortController()
  const enough = pause(graceMs + closingMs, undefined, { signal: giveUp.signal }).catch(() => undefined)
  await Promise.race([departure.over(), enough])
  giveUp.abort()
  clearTimeout(hurry)
}

/** Clock difference, in milliseconds, above which a person should set the clock. */
const maxClockOffsetMs = 30_000

/** Reports once when the clock of this machine differs from the engine's. */
export class ClockWatch {
  readonly #clock: Pick<EngineClock, 'offsetMs'>
  readonly #report: WorkerListener
  #isReported = false

  constructor(clock: Pick<EngineClock, 'offsetMs'>, report: WorkerListener) {
    this.#clock = clock
    this.#report = report
  }

  update(): void {
    const { offsetMs } = this.#clock
    const isOff = Math.abs(offsetMs) > maxClockOffsetMs
    if (isOff && !this.#isReported)
      this.#report({
        type: 'trouble',
        level: 'warn',
        message: `The clock of this machine is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} the engine's. Sessions use the engine's time; set the clock.`,
      })
    this.#isReported = isOff
  }
}
