import { stalledOf, type Stalled } from '../service/stalled.ts'
import type { WorkOfSession } from './engine-admin.ts'

/** Sessions whose work does not go on, as this worker saw them when it looked last: who asks for a status costs the engine's administration nothing. */
export class Stalls {
  #known: ReadonlyMap<string, Stalled> = new Map()

  see(resting: readonly WorkOfSession[]): void {
    const known = new Map<string, Stalled>()
    for (const work of resting) {
      const stall = stalledOf(work)
      if (stall !== undefined) known.set(work.sessionId, stall)
    }
    this.#known = known
  }

  of(sessionId: string): Stalled | undefined {
    return this.#known.get(sessionId)
  }
}
