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
import { Retention, retentionPorts, shortestRetainMs } from './retention.ts'
import { SdkLog } from './sdk-log.ts'
import { SharePlaces } from './share-places.ts'
import { Stalls } from './stalls.ts'
import type { WorkerEvent, WorkerListener } from './worker-events.ts'

/** Options of a worker. */
export interface WorkerOptions extends Omit<SessionServiceOptions, 'departure' | 'stalledOf' | 'places' | 'workerUrl'> {
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
  /**
   * Whether this worker has what it needs to continue a session whose worker is lost, such as its folder. Asked before the session is moved here; where the answer is
   * no, the session waits for its worker. Default: yes.
   */
  readonly canOpen?: (session: SessionToMove) => boolean | Promise<boolean>
  /** Maximum number of sessions that work here at the same time; others wait in their order, and lose nothing. Default: no limit. */
  readonly concurrency?: number
  /**
   * Sessions that have not changed for so many milliseconds are removed with all that is stored of them, where no run goes on and nobody is asked anything. At least an
   * hour (3,600,000); needs `ingress`. Default: none is removed.
   */
  readonly retainMs?: number
  /** What `GET /metrics` on the worker's port answers. Default: 404. */
  readonly metrics?: {
    /** The text, in Prometheus' format 0.0.4, with what the worker knows of itself. */
    readonly read: (figures: WorkerFigures) => Promise<string>
    /** Asked of everybody who reads, as `authorization: Bearer TOKEN`; null where nobody may. Default: programs of this machine may, under its loopback address. */
    readonly token?: string | null
  }
}

/** What a worker knows of itself, for its metrics. */
export interface WorkerFigures {
  /** What `GET /ready` would answer. */
  readonly isReady: boolean
  /** How often this worker could not read the engine's administration. */
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
  /** Where the engine reaches it. */
  readonly url: string
  /** Tells the engine of it. Waits for an engine that is not there yet. */
  register(signal?: AbortSignal): Promise<void>
  /** Undefined when it serves, and the engine knows it and can write; else why not. `GET /ready` says the same. */
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
  const { host, port, advertise, identityKeys = [], metrics, ...inside } = options
  const parts = createParts(inside)
  const { service, report, departure, places, engine, handOver, stalls, lost, sdkLog, retention } = parts
  // The first session finds the engine's time, where the engine is there.
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
    // Last: it waits for workers that do not answer.
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

/** @throws ConfigurationError for a time that is too short, and where there is no way to the engine. */
function createRetention(
  { retainMs, ingress }: { readonly retainMs: number | undefined; readonly ingress: IngressOptions | undefined },
  engine: EngineAdmin,
  report: (event: WorkerEvent) => void,
): Retention | undefined {
  if (retainMs === undefined) return undefined
  if (!(retainMs >= shortestRetainMs))
    throw new ConfigurationError(`retainMs is at least ${shortestRetainMs}, an hour; it is ${retainMs}.`)
  if (ingress === undefined) throw new ConfigurationError('retainMs needs `ingress`, the way to the engine.')
  return new Retention({ ports: retentionPorts(engine, ingress), retainMs, report })
}

function placeFigures({ most, taken, waiting }: Places): Pick<WorkerFigures, 'places' | 'atWork' | 'waiting'> {
  return { places: Number.isFinite(most) ? most : null, atWork: taken, waiting }
}

function urlAt(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** What a worker is made of beside its port. */
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

/** Waits for what goes on, hurries it after `graceMs`, and waits no longer than a little beyond that. */
async function waitForSessions(departure: Departure, graceMs: number): Promise<void> {
  const hurry = setTimeout(() => departure.hurry(), graceMs)
  const giveUp = new AbortController()
  const enough = pause(graceMs + closingMs, undefined, { signal: giveUp.signal }).catch(() => undefined)
  await Promise.race([departure.over(), enough])
  giveUp.abort()
  clearTimeout(hurry)
}

/** A person sets a clock that is off by more. */
const mostOffMs = 30_000

/** Reports once when the clock of this machine is wrong, by the engine's. */
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
    const isOff = Math.abs(offsetMs) > mostOffMs
    if (isOff && !this.#isReported)
      this.#report({
        type: 'trouble',
        level: 'warn',
        message: `The clock of this machine is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} the engine's. Sessions use the engine's time; set the clock.`,
      })
    this.#isReported = isOff
  }
}
