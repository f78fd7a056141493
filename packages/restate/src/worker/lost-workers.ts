import { engineClock } from '../http/engine-clock.ts'
import { urlBelow, trimSlashes } from '../http/call-handler.ts'
import { lostWorkerStall, type Stall } from '../service/stall.ts'
import type { Departure } from './departure.ts'
import type { BoundInvocation } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import { LostWork, type LostWorkOptions, type StayingWork } from './lost-work.ts'

/** So long, and so often in a row, a worker does not answer before the engine is asked about it. */
const silentMs = 7_500
const leastFailures = 3
/** Workers act one after another, so that each finds what the one before it did. */
const betweenTurnsMs = 2_000
const latestTurn = 4
/** A worker that accepts connections and says nothing is given so long each time. */
const probeMs = 1_500
/** So long a worker is left alone to which nothing is bound, or that the engine reaches. */
const quietMs = 30_000
/** So long what stays with a lost worker is left alone. */
const betweenTriesMs = 10_000

export interface LostWorkersOptions extends LostWorkOptions {
  readonly departure: Departure
  /** Whether the worker at this address answers. */
  readonly probe?: (address: string) => Promise<boolean>
  /** The clock that runs on, in milliseconds; `performance.now` without it. */
  readonly now?: () => number
}

/** A worker that does not answer. */
interface SilentWorker {
  failures: number
  /** In milliseconds since 1970, and by the clock that runs on. */
  readonly sinceMs: number
  readonly since: number
  isLost: boolean
  /** By the clock that runs on. */
  quietUntil: number
  /** Sessions that wait for it, by their ids. */
  waiting: ReadonlyMap<string, Stall>
}

interface LostWorker {
  readonly address: string
  /** The names that the engine has for it. */
  readonly names: readonly string[]
  readonly silent: SilentWorker
  readonly bound: readonly BoundInvocation[]
  /** New sessions go there. */
  readonly isLatest: boolean
}

/**
 * What was bound to a worker that does not come back goes on here. L1: a worker is lost when it answered none of some ten seconds' probes and the engine does not reach it
 * either. L2: the engine gets the address of this worker for all that is bound to it, in one change: no journal is touched, what waits stays asleep, and an attempt that is
 * under way goes on where it is. So several workers may do it at once, and the lost one may live. L3: where this worker cannot open all of its sessions, it takes those
 * that it can, one by one; the others wait for the lost one, and say so. L4: new sessions go to a worker that lives. L5: a worker that was taken for lost has its own work
 * bound to it again when the engine reaches it.
 */
export class LostWorkers {
  readonly #options: LostWorkersOptions
  readonly #work: LostWork
  readonly #silent = new Map<string, SilentWorker>()
  /** The names that the engine had for this worker when it knew it. */
  #names: readonly string[] = []

  constructor(options: LostWorkersOptions) {
    this.#options = options
    this.#work = new LostWork(options)
  }

  /** Why the work at a session does not go on, where it waits for a worker that is lost. */
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

  /** L5. Nothing is done for a worker that the engine never knew. */
  async #reclaimWork({ here, url, deployments }: EngineSnapshot): Promise<void> {
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
    if (silent.failures < leastFailures || this.#now < silent.since + silentMs + this.#turn(snapshot) * betweenTurnsMs)
      return
    const bound = await admin.boundTo(names)
    const isLatest = names.includes(snapshot.latest.id)
    if (bound.length === 0 && !isLatest) {
      silent.waiting = new Map()
      silent.quietUntil = this.#now + quietMs
    } else if (!silent.isLost && (await admin.reaches(address)))
      // It is asked again from the beginning.
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

  /** Where this worker is among those that may live. */
  #turn({ deployments, url }: EngineSnapshot): number {
    const living = [...new Set(deployments.map(({ uri }) => trimSlashes(uri)))].filter((at) => !this.#silent.has(at))
    return Math.min(latestTurn, Math.max(0, living.toSorted().indexOf(trimSlashes(url))))
  }

  async #takeOver(
    { address, names, silent, bound, isLatest }: LostWorker,
    { here: [here], url, deployments }: EngineSnapshot,
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
        ? await this.#work.take({ address, name, bound: ofName, isShared: isShared(name), here, url })
        : { why: 'nobody', bound: ofName }
      for (const { id, sessionId } of staying.bound)
        if (sessionId !== undefined)
          waiting.set(sessionId, lostWorkerStall(id, { worker: address, sinceMs: silent.sinceMs, why: staying.why }))
    }
    silent.waiting = waiting
    if (waiting.size > 0) silent.quietUntil = this.#now + betweenTriesMs
    // What is not bound is tried where new calls go.
    if (mayTake || !isLatest) await this.#work.retry(bound.filter(({ isFree }) => isFree))
  }
}

function newSilentWorker(since: number): SilentWorker {
  return { failures: 0, sinceMs: engineClock.now(), since, isLost: false, quietUntil: 0, waiting: new Map() }
}

/** Whether anything that is a worker answers there. */
async function isAlive(address: string): Promise<boolean> {
  try {
    const response = await fetch(urlBelow(address, '/live'), { signal: AbortSignal.timeout(probeMs) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
