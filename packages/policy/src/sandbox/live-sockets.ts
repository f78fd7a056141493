import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Absolute paths of sockets on which a program of this machine listens. */
export function liveSockets(): readonly string[] {
  try {
    const lines = readFileSync('/proc/net/unix', 'latin1').split('\n').slice(1)
    const paths = lines.flatMap((line) => /^(?:\S+ +){6}\S+ (\/.+)$/.exec(line)?.[1] ?? [])
    return [...new Set(paths)].map((path) => Buffer.from(path, 'latin1').toString()).filter(isSocket)
  } catch {
    return []
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket()
  } catch {
    return false
  }
}

/**
 * Whether a folder contains sockets, pipes or devices, which a read-only mount does not block. True if there is too much to check.
 * @param budget Number of folders that may still be read; each read decrements it.
 */
export function holdsSpecialFiles(folder: string, budget: { left: number }): boolean {
  budget.left -= 1
  if (budget.left < 0) return true
  try {
    return readdirSync(folder, { withFileTypes: true }).some((entry) => {
      if (entry.isDirectory()) return holdsSpecialFiles(join(folder, entry.name), budget)
      return !entry.isFile() && !entry.isSymbolicLink()
    })
  } catch {
    // Entries of a folder that cannot be listed may still be opened by name.
    return true
  }
}
