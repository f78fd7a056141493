import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs'

/**
 * Removes a folder that commands wrote to. Some programs remove their own write access, for example Go for its modules. Never throws: what cannot be
 * removed remains.
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

/** Uses bytes, as names may not be UTF-8. */
function unlockFolder(folder: Buffer): void {
  try {
    if (!lstatSync(folder).isDirectory()) return
    chmodSync(folder, 0o700)
    for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }))
      if (entry.isDirectory()) unlockFolder(Buffer.concat([folder, Buffer.from('/'), entry.name]))
  } catch {
    // The folder belongs to another user and remains.
  }
}
