import { storageFormat } from '../engine/format.ts'
import { readMetadata, type WorkerMetadata } from '../service/session-metadata.ts'
import { failedFormat } from '../service/stall.ts'
import { hasLeft, type Departure } from './departure.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'
import type { EngineSnapshot } from './engine-watch.ts'
import type { WorkerListener } from './worker-events.ts'

/** What a worker that new sessions go to does with the work at a session that does not go on. */
export type Move = 'here' | 'pause' | 'pause, then here'

export interface MoveFrom {
  /** Where this worker is in the engine. */
  readonly here: string
  readonly takesOver: boolean
  /** What the worker is that the work is bound to. */
  readonly boundTo: WorkerMetadata | undefined
}

/**
 * Undefined where it stays as it is. What is of another format waits, paused, for who can read it. A suspended session waits for the engine alone, and one that its
 * worker has left has no effect under way: those can go on elsewhere.
 */
export function moveOf(work: WorkOfSession, { here, takesOver, boundTo }: MoveFrom): Move | undefined {
  const { status, deployment, failure } = work
  const format = failedFormat(failure)
  const whenHere = status === 'backing-off' ? 'pause, then here' : 'here'
  if (format !== undefined && format > storageFormat) return status === 'backing-off' ? 'pause' : undefined
  // The engine tries it again by itself here.
  if (format !== undefined) return status === 'backing-off' && deployment === here ? undefined : whenHere
  if (!takesOver || deployment === here || (boundTo?.format ?? Infinity) > storageFormat) return undefined
  return status === 'suspended' || hasLeft(failure) ? whenHere : undefined
}

/**
 * Sessions go from one version of a worker to another. O1: a worker leaves its sessions, at a lap at which no effect is under way, when new ones go to a worker
 * that takes over and reads what it writes; it works at them again when that one is gone. O2: the worker that takes over has the engine bind to it what was left.
 * O3: all that is known of it is with the engine: whoever is lost in the middle is followed by another one of its address.
 */
export class HandOver {
  readonly #admin: EngineAdmin
  readonly #departure: Departure
  readonly #report: WorkerListener
  /** The worker that takes over, while there is one. */
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

  async #collect({ latest: { id: here }, here: names, takesOver, resting }: EngineSnapshot): Promise<void> {
    const known = new Map<string, WorkerMetadata | undefined>()
    // There may be thousands that wait for a person here.
    for (const snapshot of resting) {
      const isHere = snapshot.deployment !== null && names.includes(snapshot.deployment)
      const work = isHere ? { ...snapshot, deployment: here } : snapshot
      const { id, deployment } = work
      if (deployment !== null && takesOver && !known.has(deployment))
        known.set(deployment, await this.#admin.metadataOf(deployment).then(readMetadata))
      const move = moveOf(work, { here, takesOver, boundTo: known.get(deployment ?? '') })
      if (move === 'pause' || move === 'pause, then here') await this.#admin.pause(id)
      // What is not paused yet is looked at again.
      if (move === 'here' || move === 'pause, then here') await this.#admin.resume(id, here)
    }
  }
}
