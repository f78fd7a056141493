import { ConfigurationError, HaltingError } from '../values/errors.ts'
import { headOf } from './session-records.ts'
import type { OpenSession, SessionStore } from './session-store.ts'

/**
 * Copies a session from one store to another, either completely or not at all. The copy has the same id, and the source
 * is unchanged. Returns the number of records.
 * @throws ConfigurationError if the source has no such session, or the target already has one with this id.
 * @throws HaltingError `driver` if a process has it open in either store, or a store refuses an operation.
 */
export async function copySession(from: SessionStore, to: SessionStore, sessionId: string): Promise<number> {
  const found = await from.read(sessionId)
  if (found === undefined) throw new ConfigurationError(`There is no session ${sessionId} to copy.`)
  const { info, records } = found
  if (info.isLocked)
    throw new HaltingError(
      'driver',
      `The session ${sessionId} is open elsewhere. Close it first: a copy of an open run would repeat its work.`,
    )
  const target = await to.open(sessionId, headOf(info))
  // An interrupted copy has left no records.
  if (target.ended.length > 0 || target.open !== undefined) {
    await target.close()
    throw new ConfigurationError(`The target already has the session ${sessionId}. Remove it there first.`)
  }
  try {
    // Appended in one turn of the event loop, so that they form one batch.
    for (const record of records) target.log.append(record)
    await target.log.flush()
  } catch (error) {
    await undo(to, target)
    throw error
  }
  await target.close()
  return records.length
}

async function undo(store: SessionStore, target: OpenSession): Promise<void> {
  try {
    await target.close()
  } catch {
    // The caller reports the failure.
  }
  try {
    await store.remove(target.sessionId)
  } catch {
    // The caller reports the failure.
  }
}
