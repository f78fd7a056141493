import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * A random UUID, as `randomUUID` of `node:crypto` makes them. Where the kernel is Linux it gives one from the same source: to load `node:crypto` for it costs 2
 * to 6 ms of CPU, which is felt at a start. For what is made once or twice a process; for many `randomUUID` is faster.
 */
export function newUuid(): string {
  return uuidOfKernel() ?? randomUUID()
}

function uuidOfKernel(): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const text = readFileSync('/proc/sys/kernel/random/uuid', 'latin1').trim()
    return /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(text) ? text : undefined
  } catch {
    return undefined
  }
}
