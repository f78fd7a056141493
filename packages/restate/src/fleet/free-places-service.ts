import { object, TerminalError, type ObjectContext, type VirtualObjectDefinition } from '@restatedev/restate-sdk'
import { isJsonObject } from '@halting/core/adapters'
import { engineTime } from '../http/engine-clock.ts'
import { guarded } from '../access/guard.ts'
import { reported, type KnownPlaces, type OtherPlaces, type PlacesReport } from './free-places.ts'

/** What workers report to each other; its key is the address that they share. What is kept under the name stays where it changes. */
export const fleetObject = 'halting_fleet'

const placesKey = 'places'

type FleetHandlers = {
  /** A worker reports its places, and is answered with what the others have. */
  readonly report: (context: ObjectContext, given: PlacesReport) => Promise<OtherPlaces>
}

export function fleetDefinition(
  tokens?: readonly string[],
): VirtualObjectDefinition<typeof fleetObject, FleetHandlers> {
  return object({
    name: fleetObject,
    options: { ...guarded(tokens), enableLazyState: true, idempotencyRetention: 0, journalRetention: 0 },
    handlers: {
      report: async (context: ObjectContext, given: PlacesReport): Promise<OtherPlaces> => {
        checkReport(given)
        const nowMs = await engineTime(context)
        const { known, others } = reported((await context.get<KnownPlaces>(placesKey)) ?? {}, nowMs, given)
        context.set(placesKey, known)
        return others
      },
    },
  })
}

/** A worker reports no more places. */
export const mostPlaces = 1_000_000

function checkReport(given: unknown): void {
  const isCount = (value: unknown): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostPlaces
  const { worker, free, waiting } = isJsonObject(given) ? given : {}
  if (typeof worker === 'string' && worker.length <= 100 && isCount(free) && isCount(waiting)) return
  throw new TerminalError('Give { "worker": NAME, "free": N, "waiting": N }.', { errorCode: 400 })
}
