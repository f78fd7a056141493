import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { takeLock } from '../files/lock.ts'

/** Maximum duration of a rebuild. Only very long sessions take longer than a few milliseconds. */
const longestMs = 30_000

/**
 * Runs work while no other process of this machine rebuilds the file, after waiting for one that does. A rebuild
 * briefly takes the session's lock inside this one; a process that opens the session does the same, so it only
 * conflicts with real writers.
 * @throws HaltingError `driver` if another process rebuilds for more than half a minute.
 */
export async function whileNobodyRebuilds<T>(path: string, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + longestMs
  for (;;) {
    // Sequential: each try waits for the previous one.
    const lock = await takeLock(`${path}.rebuild`)
    if (lock.kind === 'locked') {
      try {
        return await work()
      } finally {
        await lock.release()
      }
    }
    if (performance.now() > until)
      throw new HaltingError(
        'driver',
        `Process ${lock.holder.pid} on ${lock.holder.host} has been reading the session of ${path} from its store since ${lock.holder.since}. End it, and try again.`,
      )
    await wait(20)
  }
}
