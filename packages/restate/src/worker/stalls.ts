import { setAsideIn } from '../attempts/set-aside.ts'
import { stalledOf, type Stalled } from '../service/stalled.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'

type StallsAdmin = Pick<EngineAdmin, 'pause' | 'retryNow' | 'setAside'>

/** The engine's tables show a change after a moment. */
const looks = 3

/**
 * Sessions whose work does not go on, as this worker saw them when it looked last: who asks for a status costs the engine's administration nothing. Work of a session that
 * its attempts have set aside is paused here: the engine would try it again for hours. It may have been released since it was looked at; so what was paused here is resumed
 * where it is not set aside any more.
 */
export class Stalls {
  readonly #admin: StallsAdmin
  #known: ReadonlyMap<string, Stalled> = new Map()
  /** How often it is still looked whether a person has released what was paused here, by invocation. */
  readonly #looksLeft = new Map<string, number>()

  constructor(admin: StallsAdmin) {
    this.#admin = admin
  }

  async see(resting: readonly WorkOfSession[]): Promise<void> {
    const known = new Map<string, Stalled>()
    for (const work of resting) {
      const stall = stalledOf(work)
      if (stall !== undefined) known.set(work.sessionId, stall)
    }
    // Who is told that a session is set aside releases it: first it is paused.
    try {
      await this.#pauseSetAside(resting)
      await this.#resumeReleased(resting)
    } finally {
      this.#known = known
    }
  }

  async #pauseSetAside(resting: readonly WorkOfSession[]): Promise<void> {
    const failed = resting.filter(
      ({ status, failure }) => status === 'backing-off' && setAsideIn(failure) !== undefined,
    )
    if (failed.length === 0) return
    const isSetAside = await this.#admin.setAside(failed.map(({ sessionId }) => sessionId))
    for (const { id, sessionId } of failed) {
      if (!isSetAside.has(sessionId)) continue
      await this.#admin.pause(id)
      this.#looksLeft.set(id, looks)
    }
  }

  async #resumeReleased(resting: readonly WorkOfSession[]): Promise<void> {
    const paused = resting.filter(({ id }) => this.#looksLeft.has(id))
    for (const [id, left] of this.#looksLeft)
      if (left > 1 && paused.some((work) => work.id === id)) this.#looksLeft.set(id, left - 1)
      else this.#looksLeft.delete(id)
    if (paused.length === 0) return
    const isSetAside = await this.#admin.setAside(paused.map(({ sessionId }) => sessionId))
    for (const { id, sessionId } of paused) if (!isSetAside.has(sessionId)) await this.#admin.retryNow(id)
  }

  of(sessionId: string): Stalled | undefined {
    return this.#known.get(sessionId)
  }
}
