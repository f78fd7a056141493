import { setAsideIn } from '../attempts/set-aside.ts'
import type { EngineAdmin, WorkOfSession } from './engine-admin.ts'

/** Has the engine pause the work at sessions that are set aside, as it was told by the attempts that found so: it would try them again for hours. */
export async function pauseSetAside(
  admin: Pick<EngineAdmin, 'pause'>,
  resting: readonly Pick<WorkOfSession, 'id' | 'status' | 'failure'>[],
): Promise<void> {
  for (const { id, status, failure } of resting)
    if (status === 'backing-off' && setAsideIn(failure) !== undefined) await admin.pause(id)
}
