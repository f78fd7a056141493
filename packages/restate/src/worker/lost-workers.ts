import { engineClock } from '../http/engine-clock.ts'
import { urlBelow, trimSlashes } from '../http/call-handler.ts'
import { lostWorkerStall, type Stall } from '../service/stall.ts'
import type { Departure } from './departure.ts'
import type { BoundInvocation } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import { LostWork, type LostWorkOptions, type StayingWork } from './lost-work.ts'

/** How long, and how often in a row, a worker must fail to answer before the engine is asked about it. */
const silentMs = 7_500
const minFailures = 3
/** Workers act one after another, so that each sees what the previous one did. */
const betweenTurnsMs = 2_000
const latestTurn = 4
/** How long a worker that accepts connections may take to answer. */
const probeMs = 1_500
/** How long to ignore a worker without bound work, or one that the engine reaches. */
const quietMs = 30_000
/** How long to wait before trying again with work that stays with a lost worker. */
const betweenTriesMs = 10_000

export interface LostWorkersOptions extends LostWorkOptions {
  readonly departure: Departure
  /** Whether the worker at this address answers. Default: asks its `/live`. */
  readonly probe?: (address: string) => Promise<boolean>
  /** Monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number
}

/** A worker that does not answer. */
interface SilentWorker {
  failures: number
  /** In milliseconds since 1970; `since` is by the monotonic clock. */
  readonly sinceMs: number
  readonly since: number
  isLost: boolean
  /** By the monotonic clock. */
  quietUntil: number
  /** Sessions that wait for it, by id. */
  waiting: ReadonlyMap<string, Stall>
}

interface LostWorker {
  readonly address: string
  /** Its registrations. */
  readonly names: readonly string[]
  readonly silent: SilentWorker
  readonly bound: readonly BoundInvocation[]
  /** Whether new sessions go to this worker. */
  readonly isLatest: boolean
}

/**
 * Continues the work of a worker that does not come back.
 * L1: a worker is lost if it answered no probe for about ten seconds and the engine does not reach it either.
 * L2: the engine is given the address of this worker for everything bound to the lost one, in one change. No journal is touched, suspended work stays suspended, and a running
 * attempt stays where it is. So several workers may do it at once, and the lost one may be alive.
 * L3: if this worker cannot open all sessions, it takes those that it can, one by one; the others report that they wait for the lost worker.
 * L4: new sessions go to a worker that is alive.
 * L5: a worker that was mistaken for lost gets its own registrations back when the engine reaches it.
 */
export class LostWorkers {
  readonly #options: LostWorkersOptions
  readonly #work: LostWork
  readonly #silent = new Map<string, SilentWorker>()
  /** Registrations of this worker when the engine last knew it. */
  #names: readonly string[] = []

  constructor(options: LostWorkersOptions) {
    this.#options = options
    this.#work = new LostWork(options)
  }

  /** The stall of a session that waits for a lost worker; undefined for others. */
  stallOf(sessionId: string): Stall | undefined {
    for (const { waiting } of this.#silent.values()) {
      const stalled = waiting.get(sessionId)
      if (stalled !== undefined) return stalled
    }
    return undefined
  }

  async update(snapshot: EngineSnapshot): Promise<void> {
    await this.#reclaimWork(snapshot)
    const others = new Map<string, string[]>()
    for (const { id, uri } of snapshot.deployments) {
      const address = trimSlashes(uri)
      if (address !== trimSlashes(snapshot.url)) others.set(address, [...(others.get(address) ?? []), id])
    }
    for (const address of this.#silent.keys()) if (!others.has(address)) this.#silent.delete(address)
    await Promise.all([...others].map(([address, names]) => this.#probeWorker(address, names, snapshot)))
  }

  /** Invariant L5. Does nothing for a worker that the engine never knew. */
  async #reclaimWork({ ownDeployments: here, url, deployments }: EngineSnapshot): Promise<void> {
    const { admin, departure } = this.#options
    if (here.length > 0) this.#names = here
    const away = here.length > 0 || departure.isFinal ? [] : this.#names
    const taken = away.filter((name) => deployments.some(({ id }) => id === name))
    if (taken.length === 0 || !(await admin.reaches(url))) return
    for (const name of taken) await admin.readdress(name, url)
  }

  async #probeWorker(address: string, names: readonly string[], snapshot: EngineSnapshot): Promise<void> {
    const { admin, report, probe = isAlive } = this.#options
    const began = this.#now
    const known = this.#silent.get(address)
    if (known !== undefined && began < known.quietUntil) return
    if (await probe(address)) {
      this.#silent.delete(address)
      if (known?.isLost === true) report({ type: 'worker_back', address })
      return
    }
    const silent = known ?? newSilentWorker(began)
    this.#silent.set(address, silent)
    silent.failures++
    if (silent.failures < minFailures || this.#now < silent.since + silentMs + this.#turn(snapshot) * betweenTurnsMs)
      return
    const bound = await admin.boundTo(names)
    const isLatest = names.includes(snapshot.latest.id)
    if (bound.length === 0 && !isLatest) {
      silent.waiting = new Map()
      silent.quietUntil = this.#now + quietMs
    } else if (!silent.isLost && (await admin.reaches(address)))
      // The silence of this worker is measured from the beginning again.
      this.#silent.set(address, { ...newSilentWorker(this.#now + quietMs), quietUntil: this.#now + quietMs })
    else {
      if (!silent.isLost) report({ type: 'worker_lost', address })
      silent.isLost = true
      await this.#takeOver({ address, names, silent, bound, isLatest }, snapshot)
    }
  }

  get #now(): number {
    return (this.#options.now ?? performance.now.bind(performance))()
  }

  /** Position of this worker among those that may be alive. */
  #turn({ deployments, url }: EngineSnapshot): number {
    const living = [...new Set(deployments.map(({ uri }) => trimSlashes(uri)))].filter((at) => !this.#silent.has(at))
    return Math.min(latestTurn, Math.max(0, living.toSorted().indexOf(trimSlashes(url))))
  }

  async #takeOver(
    { address, names, silent, bound, isLatest }: LostWorker,
    { ownDeployments: [here], url, deployments }: EngineSnapshot,
  ): Promise<void> {
    const { admin, departure } = this.#options
    // The engine may not know this worker.
    const mayTake = here !== undefined && !departure.isFinal && (await admin.reaches(url))
    if (mayTake && isLatest) await admin.announce(url)
    const isShared = (name: string): boolean => deployments.some((each) => each.id === name && each.isShared === true)
    const waiting = new Map<string, Stall>()
    for (const name of names) {
      const ofName = bound.filter(({ deployment, isFree }) => deployment === name && !isFree)
      const staying: StayingWork = mayTake
        ? await this.#work.take({ address, name, bound: ofName, isShared: isShared(name), ownDeployment: here, url })
        : { why: 'nobody', bound: ofName }
      for (const { id, sessionId } of staying.bound)
        if (sessionId !== undefined)
          waiting.set(sessionId, lostWorkerStall(id, { worker: address, sinceMs: silent.sinceMs, why: staying.why }))
    }
    silent.waiting = waiting
    if (waiting.size > 0) silent.quietUntil = this.#now + betweenTriesMs
    // Unbound invocations are retried wherever new calls go.
    if (mayTake || !isLatest) await this.#work.retry(bound.filter(({ isFree }) => isFree))
  }
}

function newSilentWorker(since: number): SilentWorker {
  return { failures: 0, sinceMs: engineClock.now(), since, isLost: false, quietUntil: 0, waiting: new Map() }
}

/** Whether a worker answers at this address. */
async function isAlive(address: string): Promise<boolean> {
  try {
    const response = await fetch(urlBelow(address, '/live'), { signal: AbortSignal.timeout(probeMs) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
