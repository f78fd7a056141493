import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs'

/**
 * Removes what commands left in a folder of ours. Some take away their own right to remove it, as Go does with its modules.
 * Never throws: what cannot be removed stays.
 */
export function removeTree(folder: string): void {
  if (tryRemove(folder)) return
  unlockFolder(Buffer.from(folder))
  tryRemove(folder)
}

function tryRemove(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true })
    return true
  } catch {
    return false
  }
}

/** By bytes: names may be of any. */
function unlockFolder(folder: Buffer): void {
  try {
    if (!lstatSync(folder).isDirectory()) return
    chmodSync(folder, 0o700)
    for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }))
      if (entry.isDirectory()) unlockFolder(Buffer.concat([folder, Buffer.from('/'), entry.name]))
  } catch {
    // Somebody else's: it stays.
  }
}
