import { findSetAsideMessage } from '../attempts/set-aside.ts'
import { setAsideStall, stallOf, type Stall } from '../service/stall.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'

type StallsAdmin = Pick<EngineAdmin, 'pause' | 'retryNow' | 'setAside'>

/** Number of snapshots to check: the engine's tables show a change with a delay. */
const looks = 3

/**
 * Stalled sessions according to the last snapshot, so that a status request costs the engine's admin API nothing. Pauses the work of sessions that are set aside, because the
 * engine would retry it for hours. A person may have released the session since the snapshot. So work that was paused here is resumed if its session is no longer set aside.
 */
export class Stalls {
  readonly #admin: StallsAdmin
  #known: ReadonlyMap<string, Stall> = new Map()
  /** Number of snapshots that are still checked for a release of work that was paused here, by invocation. */
  readonly #looksLeft = new Map<string, number>()

  constructor(admin: StallsAdmin) {
    this.#admin = admin
  }

  async update(resting: readonly WorkOfSession[]): Promise<void> {
    // The engine reports only the last failure, and pausing running work replaces it.
    const asked = resting.filter(
      ({ status, failure }) => status === 'paused' || findSetAsideMessage(failure) !== undefined,
    )
    let reasons: ReadonlyMap<string, string> = new Map()
    // People release a session once they learn that it is set aside, so it must be paused before that.
    try {
      reasons = await this.#setAside(asked)
      // A person may have released the session meanwhile.
      if (await this.#pauseSetAside(resting, reasons)) reasons = await this.#setAside(asked)
      await this.#resumeReleased(resting, reasons)
    } finally {
      this.#known = findStalls(resting, reasons)
    }
  }

  async #setAside(works: readonly WorkOfSession[]): Promise<ReadonlyMap<string, string>> {
    return works.length === 0 ? new Map() : this.#admin.setAside(works.map(({ sessionId }) => sessionId))
  }

  /** Returns whether any work was paused. */
  async #pauseSetAside(resting: readonly WorkOfSession[], reasons: ReadonlyMap<string, string>): Promise<boolean> {
    let isAnyPaused = false
    for (const { id, sessionId, status } of resting) {
      if (status !== 'backing-off' || !reasons.has(sessionId)) continue
      await this.#admin.pause(id)
      this.#looksLeft.set(id, looks)
      isAnyPaused = true
    }
    return isAnyPaused
  }

  async #resumeReleased(resting: readonly WorkOfSession[], reasons: ReadonlyMap<string, string>): Promise<void> {
    const paused = resting.filter(({ id }) => this.#looksLeft.has(id))
    for (const [id, left] of this.#looksLeft)
      if (left > 1 && paused.some((work) => work.id === id)) this.#looksLeft.set(id, left - 1)
      else this.#looksLeft.delete(id)
    for (const { id, sessionId } of paused) if (!reasons.has(sessionId)) await this.#admin.retryNow(id)
  }

  stallOf(sessionId: string): Stall | undefined {
    return this.#known.get(sessionId)
  }
}

function findStalls(
  resting: readonly WorkOfSession[],
  reasons: ReadonlyMap<string, string>,
): ReadonlyMap<string, Stall> {
  const known = new Map<string, Stall>()
  for (const work of resting) {
    const because = reasons.get(work.sessionId)
    const stall = because === undefined ? stallOf(work) : setAsideStall(work, because)
    if (stall !== undefined) known.set(work.sessionId, stall)
  }
  return known
}
