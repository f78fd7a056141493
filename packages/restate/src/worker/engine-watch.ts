import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, sharedAbort } from '@halting/core/adapters'
import { readMetadata } from '../service/session-metadata.ts'
import {
  sameAddress,
  type Deployment,
  type DeploymentAddress,
  type EngineAdmin,
  type WorkOfSession,
} from './engine-admin.ts'

const betweenLooksMs = 2_000

/** A snapshot of the engine's admin API, as a worker reads it. */
export interface EngineSnapshot {
  /** Where new sessions go. */
  readonly latest: Deployment
  /** Whether that is this worker. */
  readonly isHere: boolean
  /** Metadata of that worker, which may be this one. */
  readonly takesOver: boolean
  readonly format: number | undefined
  /** Address at which the engine reaches this worker. */
  readonly url: string
  /** All workers that the engine knows. */
  readonly deployments: readonly DeploymentAddress[]
  /** Registrations at the address of this worker: its own, and those of workers whose work moved here. */
  readonly ownDeployments: readonly string[]
  /** Work that is not currently running. */
  readonly resting: readonly WorkOfSession[]
}

/** Reacts to a snapshot. */
export type Watcher = (snapshot: EngineSnapshot, signal: AbortSignal) => void | Promise<void>

// Spec R-WORK-6a.
/**
 * The loop in which a worker reads the admin API of the engine: every two seconds, with a fixed number of requests. It calls the watchers one after another. A watcher that fails
 * is called again with the next snapshot and does not affect the others.
 */
export class EngineWatch {
  readonly #admin: EngineAdmin
  readonly #url: string
  readonly #watchers: readonly Watcher[]
  readonly #stopped = sharedAbort()
  /** Total number of failed reads. */
  failures = 0
  /** Since when every read fails, by `performance.now`, and why the last one did; undefined while they succeed. */
  failure: { readonly since: number; readonly because: string } | undefined

  constructor(admin: EngineAdmin, url: string, watchers: readonly Watcher[]) {
    this.#admin = admin
    this.#url = url
    this.#watchers = watchers
    void this.#watch()
  }

  end(): void {
    this.#stopped.abort()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      try {
        await this.#look(signal)
        this.failure = undefined
      } catch (error) {
        // If the engine does not answer, the request is repeated later.
        this.failures++
        this.failure = { since: this.failure?.since ?? performance.now(), because: messageOf(error) }
      }
      await pause(betweenLooksMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const deployments = await this.#admin.deployments()
    const latest = await this.#admin.latest(deployments)
    if (latest === undefined) return
    const isHere = sameAddress(latest.uri, this.#url)
    const { format, takesOver } = readMetadata(latest.metadata)
    const ownDeployments = deployments.filter(({ uri }) => sameAddress(uri, this.#url)).map(({ id }) => id)
    const resting = await this.#admin.restingWork(isHere && takesOver ? ownDeployments : undefined)
    const snapshot: EngineSnapshot = {
      url: this.#url,
      latest,
      isHere,
      takesOver,
      format,
      deployments,
      ownDeployments,
      resting,
    }
    for (const watcher of this.#watchers)
      if (!signal.aborted) await Promise.resolve(watcher(snapshot, signal)).catch(() => undefined)
  }
}
