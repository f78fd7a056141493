import { mkdirSync, rmdirSync, statSync } from 'node:fs'
import { codeOf } from '@halting/core/adapters'

/** How long somebody may take to remove a lock that was left, before that is left behind too. */
const removalMs = 2_000

/**
 * Lets one process at a time remove the lock that a dead one left: it looks again whether it is still that one. Gives false where another process removes it
 * at this moment. What `remove` throws passes through.
 */
export function removeExclusively(path: string, remove: () => void): boolean {
  const gate = `${path}.removal`
  try {
    mkdirSync(gate)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    const began = statSync(gate, { throwIfNoEntry: false })
    // A clock that was set back says that it is to come.
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
    // Another process did.
  }
}
