import { setAsideIn } from '../attempts/set-aside.ts'
import { setAsideStall, stallOf, type Stall } from '../service/stall.ts'
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
  #known: ReadonlyMap<string, Stall> = new Map()
  /** How often it is still looked whether a person has released what was paused here, by invocation. */
  readonly #looksLeft = new Map<string, number>()

  constructor(admin: StallsAdmin) {
    this.#admin = admin
  }

  async update(resting: readonly WorkOfSession[]): Promise<void> {
    // The engine tells the last failure alone, and work that is paused while it goes on fails by that.
    const asked = resting.filter(({ status, failure }) => status === 'paused' || setAsideIn(failure) !== undefined)
    let reasons: ReadonlyMap<string, string> = new Map()
    // Who is told that a session is set aside releases it: first it is paused.
    try {
      reasons = await this.#setAside(asked)
      // A person may have released it meanwhile.
      if (await this.#pauseSetAside(resting, reasons)) reasons = await this.#setAside(asked)
      await this.#resumeReleased(resting, reasons)
    } finally {
      this.#known = findStalls(resting, reasons)
    }
  }

  async #setAside(works: readonly WorkOfSession[]): Promise<ReadonlyMap<string, string>> {
    return works.length === 0 ? new Map() : this.#admin.setAside(works.map(({ sessionId }) => sessionId))
  }

  /** Whether there was any. */
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
