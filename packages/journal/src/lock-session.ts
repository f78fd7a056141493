import { HaltingError } from '@halting/core'
import { takeLock } from './files/lock.ts'
import { whileNobodyRebuilds } from './stores/rebuild-lock.ts'
import { workingCopiesOf } from './stores/working-copies.ts'

/** A session that this process alone writes. */
export interface LockedSession {
  /** Releases the lock. */
  release(): Promise<void>
}

/** Takes a session, by its file. @throws HaltingError `driver` for one that another process writes, and which. */
export async function lockSession(path: string, sessionId: string): Promise<LockedSession> {
  const take = (): Promise<LockedSession> => lockSessionNow(path, sessionId)
  // A process that reads a session of a store has its lock too, for a moment.
  return workingCopiesOf(path) === undefined ? take() : whileNobodyRebuilds(path, take)
}

/** The same for whoever knows that nobody rebuilds the file. */
export async function lockSessionNow(path: string, sessionId: string): Promise<LockedSession> {
  const lock = await takeLock(`${path}.lock`)
  if (lock.kind === 'locked') return lock
  const { pid, host, since } = lock.holder
  throw new HaltingError(
    'driver',
    `The session ${sessionId} is in use by process ${pid} on ${host} since ${since}. Close it there, or continue in a copy (--fork-session).`,
  )
}
