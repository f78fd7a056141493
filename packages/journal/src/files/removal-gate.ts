import { mkdirSync, rmdirSync, statSync } from 'node:fs'
import { codeOf } from '@halting/core/adapters'

/** Maximum time for removing a stale lock; after that, the gate itself is stale. */
const removalMs = 2_000

/**
 * Lets one process at a time remove the lock of a dead one, after checking again that it is still that lock. Returns
 * false if another process is removing it. Errors of `remove` are rethrown.
 */
export function removeExclusively(path: string, remove: () => void): boolean {
  const gate = `${path}.removal`
  try {
    mkdirSync(gate)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    const began = statSync(gate, { throwIfNoEntry: false })
    // If the clock was set back, the time is in the future.
    if (began !== undefined && Math.abs(Date.now() - began.mtimeMs) > removalMs) removeGate(gate)
    return false
  }
  try {
    remove()
    return true
  } finally {
    removeGate(gate)
  }
}

function removeGate(gate: string): void {
  try {
    rmdirSync(gate)
  } catch {
    // Another process removed it.
  }
}
