import { HaltingError } from '@halting/core'
import { takeLock } from './files/lock.ts'

/** A session that this process alone writes. */
export interface LockedSession {
  /** Releases the lock. */
  release(): Promise<void>
}

/** Takes a session, by its file. @throws HaltingError `driver` for one that another process writes, and which. */
export async function lockSession(path: string, sessionId: string): Promise<LockedSession> {
  const lock = await takeLock(`${path}.lock`)
  if (lock.kind === 'locked') return lock
  const { pid, host, since } = lock.holder
  throw new HaltingError(
    'driver',
    `The session ${sessionId} is in use by process ${pid} on ${host} since ${since}. Close it there, or continue in a copy (--fork-session).`,
  )
}
