import { object, TerminalError, type ObjectContext, type VirtualObjectDefinition } from '@restatedev/restate-sdk'
import { isJsonObject } from '@halting/core/adapters'
import { engineTime } from '../http/engine-clock.ts'
import { requireProof } from '../access/guard.ts'
import { recordReport, type KnownPlaces, type OtherPlaces, type PlacesReport } from './free-places.ts'

/** Name of the object in which workers report their places. Its key is the address that they share. State under an earlier name is lost if it changes. */
export const fleetObject = 'halting_fleet'

const placesKey = 'places'

type FleetHandlers = {
  /** Records the places of a worker, and returns what the others have. */
  readonly report: (context: ObjectContext, report: PlacesReport) => Promise<OtherPlaces>
}

export function fleetDefinition(
  tokens?: readonly string[],
): VirtualObjectDefinition<typeof fleetObject, FleetHandlers> {
  return object({
    name: fleetObject,
    options: { ...requireProof(tokens), enableLazyState: true, idempotencyRetention: 0, journalRetention: 0 },
    handlers: {
      report: async (context: ObjectContext, report: PlacesReport): Promise<OtherPlaces> => {
        checkReport(report)
        const nowMs = await engineTime(context)
        const { known, others } = recordReport((await context.get<KnownPlaces>(placesKey)) ?? {}, nowMs, report)
        context.set(placesKey, known)
        return others
      },
    },
  })
}

/** Maximum number of places that a worker reports. */
export const maxPlaces = 1_000_000

function checkReport(report: unknown): void {
  const isCount = (value: unknown): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxPlaces
  const { worker, free, waiting } = isJsonObject(report) ? report : {}
  if (typeof worker === 'string' && worker.length <= 100 && isCount(free) && isCount(waiting)) return
  throw new TerminalError('Give { "worker": NAME, "free": N, "waiting": N }.', { errorCode: 400 })
}
