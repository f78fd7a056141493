import { storageFormat } from '../engine/format.ts'
import { readMetadata, type WorkerMetadata } from '../service/session-metadata.ts'
import { failedFormat } from '../service/stall.ts'
import { isLeftFailure, type Departure } from './departure.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import type { WorkerListener } from './worker-events.ts'

/** What the worker that gets new sessions does with stalled or suspended work. */
export type Move = 'here' | 'pause' | 'pause, then here'

export interface MoveFrom {
  /** Registration of this worker. */
  readonly ownDeployment: string
  readonly takesOver: boolean
  /** Metadata of the worker that the work is bound to. */
  readonly boundTo: WorkerMetadata | undefined
}

/**
 * Decides how to move work; undefined if it stays. Work in another format is paused until a worker that can read it resumes it. Suspended sessions wait for the engine only, and
 * sessions that their worker left have no open effects, so both can move.
 */
export function decideMove(
  work: WorkOfSession,
  { ownDeployment: here, takesOver, boundTo }: MoveFrom,
): Move | undefined {
  const { status, deployment, failure } = work
  const format = failedFormat(failure)
  const whenHere = status === 'backing-off' ? 'pause, then here' : 'here'
  if (format !== undefined && format > storageFormat) return status === 'backing-off' ? 'pause' : undefined
  // The engine itself retries the work here.
  if (format !== undefined) return status === 'backing-off' && deployment === here ? undefined : whenHere
  if (!takesOver || deployment === here || (boundTo?.format ?? Infinity) > storageFormat) return undefined
  return status === 'suspended' || isLeftFailure(failure) ? whenHere : undefined
}

/**
 * Moves sessions from one version of a worker to the next.
 * O1: a worker leaves its sessions, at an iteration without open effects, when new ones go to a worker that takes over and reads its format. It works at them again if that
 * worker is gone.
 * O2: the worker that takes over has the engine bind the abandoned work to it.
 * O3: all state is in the engine, so a worker that is lost in the middle is replaced by another one at its address.
 */
export class HandOver {
  readonly #admin: EngineAdmin
  readonly #departure: Departure
  readonly #report: WorkerListener
  /** The worker that takes over; undefined if there is none. */
  successor: string | undefined

  constructor(admin: EngineAdmin, departure: Departure, report: WorkerListener = () => {}) {
    this.#admin = admin
    this.#report = report
    this.#departure = departure
  }

  async update(snapshot: EngineSnapshot): Promise<void> {
    const { latest, isHere, takesOver, format } = snapshot
    const isFollowed = !isHere && takesOver && (format ?? 0) >= storageFormat
    this.#setSuccessor(isFollowed ? latest.uri : undefined)
    if (isFollowed) this.#departure.giveWay()
    else this.#departure.stay()
    if (isHere) await this.#collect(snapshot)
  }

  /** Sets and reports who takes over. */
  #setSuccessor(successor: string | undefined): void {
    if (successor === this.successor) return
    this.successor = successor
    this.#report(successor === undefined ? { type: 'staying' } : { type: 'giving_way', address: successor })
  }

  async #collect({ latest: { id: here }, ownDeployments: names, takesOver, resting }: EngineSnapshot): Promise<void> {
    const known = new Map<string, WorkerMetadata | undefined>()
    // Thousands of sessions may wait for a person here.
    for (const snapshot of resting) {
      const isHere = snapshot.deployment !== null && names.includes(snapshot.deployment)
      const work = isHere ? { ...snapshot, deployment: here } : snapshot
      const { id, deployment } = work
      if (deployment !== null && takesOver && !known.has(deployment))
        known.set(deployment, await this.#admin.metadataOf(deployment).then(readMetadata))
      const move = decideMove(work, { ownDeployment: here, takesOver, boundTo: known.get(deployment ?? '') })
      if (move === 'pause' || move === 'pause, then here') await this.#admin.pause(id)
      // Work that is not paused yet is handled with the next snapshot.
      if (move === 'here' || move === 'pause, then here') await this.#admin.resume(id, here)
    }
  }
}
