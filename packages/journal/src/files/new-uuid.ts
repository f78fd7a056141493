import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Returns a random UUID, like `randomUUID` of `node:crypto`. On Linux the kernel provides it, because loading
 * `node:crypto` would cost 2 to 6 ms of CPU at a start. For a few UUIDs per process; for many, `randomUUID` is faster.
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
