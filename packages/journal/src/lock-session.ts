import { HaltingError } from '@halting/core'
import { takeLock } from './files/lock.ts'
import { whileNobodyRebuilds } from './stores/rebuild-lock.ts'
import { workingCopiesOf } from './stores/working-copies.ts'

/** A session that only this process writes. */
export interface LockedSession {
  /** Releases the lock. */
  release(): Promise<void>
}

/** Locks a session by its file. @throws HaltingError `driver` that names the process, if another one writes it. */
export async function lockSession(path: string, sessionId: string): Promise<LockedSession> {
  const take = (): Promise<LockedSession> => lockSessionNow(path, sessionId)
  // A process that briefly reads a session of a store also has the lock of that session.
  return workingCopiesOf(path) === undefined ? take() : whileNobodyRebuilds(path, take)
}

/** Like `lockSession`, for callers that know that nobody is rebuilding the file. */
export async function lockSessionNow(path: string, sessionId: string): Promise<LockedSession> {
  const lock = await takeLock(`${path}.lock`)
  if (lock.kind === 'locked') return lock
  const { pid, host, since } = lock.holder
  throw new HaltingError(
    'driver',
    `The session ${sessionId} is in use by process ${pid} on ${host} since ${since}. Close it there, or continue in a copy (--fork-session).`,
  )
}
