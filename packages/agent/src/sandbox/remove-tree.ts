import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Removes what commands left in a folder of ours. Some take away their own right to remove it, as Go does with its modules.
 * Never throws: what cannot be removed stays.
 */
export function removeTree(folder: string): void {
  if (isRemoved(folder)) return
  open(folder)
  isRemoved(folder)
}

function isRemoved(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true })
    return true
  } catch {
    return false
  }
}

function open(folder: string): void {
  try {
    if (!lstatSync(folder).isDirectory()) return
    chmodSync(folder, 0o700)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) open(join(folder, entry.name))
  } catch {
    // Somebody else's: it stays.
  }
}
