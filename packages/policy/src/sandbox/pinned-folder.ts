import { closeSync, constants, openSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { isInside } from '../files/paths.ts'

/** On Linux: names a folder without the right to read it. */
const openPathOnly = 0x200000

/**
 * Calls `work` with a path to the folder of a file, which leads to that one folder even if a link takes its place meanwhile.
 * Returns undefined and does not call it where the folder is gone, or is outside of the given directories, to which a link may lead.
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
    // A folder that was removed has no path any more: nothing can be in it.
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
