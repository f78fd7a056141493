import { closeSync, constants, openSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { isInside } from '../files/paths.ts'

/** Linux: opens a folder without read permission. */
const openPathOnly = 0x200000

/**
 * Calls `work` with a path to the folder of a file that remains valid if a link replaces the folder meanwhile. Returns undefined without calling it
 * if the folder does not exist, or is outside of the given directories.
 */
export function inPinnedFolder<T>(
  path: string,
  directories: readonly string[],
  work: (folder: string) => T,
): T | undefined {
  const descriptor = openFolder(dirname(path))
  if (descriptor === undefined) return undefined
  try {
    const pinned = `/proc/self/fd/${descriptor}`
    const end = readlinkSync(pinned)
    // A removed folder has no path, and nothing can be in it.
    if (!isAbsolute(end) || !directories.some((directory) => isInside(end, directory))) return undefined
    return work(pinned)
  } finally {
    closeSync(descriptor)
  }
}

function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, openPathOnly | constants.O_DIRECTORY)
  } catch {
    return undefined
  }
}
