import { setAsideIn } from '../attempts/set-aside.ts'
import { stalledOf, type Stalled } from '../service/stalled.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'

/**
 * Sessions whose work does not go on, as this worker saw them when it looked last: who asks for a status costs the engine's administration nothing. Work of a session that
 * its attempts have set aside is paused here: the engine would try it again for hours.
 */
export class Stalls {
  readonly #admin: Pick<EngineAdmin, 'pause'>
  #known: ReadonlyMap<string, Stalled> = new Map()

  constructor(admin: Pick<EngineAdmin, 'pause'>) {
    this.#admin = admin
  }

  async see(resting: readonly WorkOfSession[]): Promise<void> {
    const known = new Map<string, Stalled>()
    for (const work of resting) {
      const stall = stalledOf(work)
      if (stall !== undefined) known.set(work.sessionId, stall)
    }
    this.#known = known
    for (const { id, status, failure } of resting)
      if (status === 'backing-off' && setAsideIn(failure) !== undefined) await this.#admin.pause(id)
  }

  of(sessionId: string): Stalled | undefined {
    return this.#known.get(sessionId)
  }
}
