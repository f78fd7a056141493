import { lstatSync, readFileSync } from 'node:fs'

/** What exists at a path; a link there is not followed. */
export type PathKind = 'missing' | 'file' | 'folder' | 'other'

/** Links, pipes, sockets and devices are `other`, and so is everything that cannot be inspected. */
export function pathKind(path: string): PathKind {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats === undefined ? 'missing' : stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
  } catch (error) {
    return isMissing(error) ? 'missing' : 'other'
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

const maxBytes = 1_000_000

/** The content of a plain file of at most 1 MB. */
export function readSmallFile(path: string): Buffer | 'missing' | 'unreadable' {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return 'missing'
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(path) : 'unreadable'
  } catch (error) {
    return isMissing(error) ? 'missing' : 'unreadable'
  }
}
