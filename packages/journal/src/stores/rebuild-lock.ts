import { setTimeout as wait } from 'node:timers/promises'
import { HaltingError } from '@halting/core'
import { takeLock } from '../files/lock.ts'

/** A file is rebuilt in a moment, unless its session is very long. */
const longestMs = 30_000

/**
 * Does work that no other process of this machine rebuilds the file in, and waits for one that does. Whoever rebuilds holds the lock of the session in it for a
 * moment: a process that opens the session takes that lock here, so that it is told of processes that write alone.
 * @throws HaltingError `driver` where another one rebuilds for longer than half a minute.
 */
export async function whileNobodyRebuilds<T>(path: string, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + longestMs
  for (;;) {
    // One after another: each try waits for the one before it.
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
