import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entriesByBytes, type PathBytes } from '../files/first-entries.ts'
import { isExactPath } from '../files/paths.ts'
import type { Place } from './description.ts'
import { SandboxError } from './sandbox-error.ts'

/** The folders in a folder; `onOdd` is given those whose names are not UTF-8, which no text names. */
export function foldersIn(folder: string, onOdd: (odd: PathBytes) => void): readonly string[] {
  const names = listOrEmpty(() =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
  )
  if (!names.every(isExactPath))
    for (const found of foldersByBytes({ path: folder, bytes: Buffer.from(folder) }))
      if (!isExactPath(found.path)) onOdd(found)
  return names.filter(isExactPath)
}

/** The folders in a folder, whatever their names are. */
export function foldersByBytes(folder: PathBytes): readonly PathBytes[] {
  return listOrEmpty(() => entriesByBytes(folder, Number.POSITIVE_INFINITY).filter(({ entry }) => entry.isDirectory()))
}

/** What was listed; nothing where it cannot be. */
export function listOrEmpty<T>(list: () => readonly T[]): readonly T[] {
  try {
    return list()
  } catch {
    return []
  }
}

/** The names in a folder; none where it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  return listOrEmpty(() => readdirSync(folder))
}

/** For what may be gone already, or be somebody else's. */
export function ignoreErrors(work: () => unknown): void {
  try {
    work()
  } catch {
    // It stays as it is.
  }
}

export function placeAt(path: string): readonly Place[] {
  const kind = kindOf(path)
  return kind === undefined ? [] : [{ path, kind }]
}

/**
 * What stands at a path; undefined for nothing.
 * @throws SandboxError for a link: nothing can be mounted over it, so that it could be replaced.
 */
export function kindOf(path: string): Place['kind'] | undefined {
  const stats = lstatIfExists(path)
  if (stats === undefined) return undefined
  if (!stats.isSymbolicLink()) return stats.isDirectory() ? 'folder' : 'file'
  throw new SandboxError(
    `${path} is a link, which the sandbox cannot keep from being replaced. Put the file or folder itself in its place.`,
  )
}

/** Whether anything stands at a path, a link too. */
export function exists(path: string): boolean {
  return lstatIfExists(path) !== undefined
}

function lstatIfExists(path: string): ReturnType<typeof lstatSync> | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const maxBytes = 1_000_000

/** The text of a small file; empty for what cannot be read. */
export function textAt(path: string): string {
  try {
    const stats = statSync(path)
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

/** The folders above a path, inside the root: by renaming one of them the path would lead elsewhere. */
export function foldersBetween(root: string, path: string): readonly string[] {
  const names = path.slice(root.length).split('/').filter(Boolean).slice(0, -1)
  return names.map((_, index) => join(root, ...names.slice(0, index + 1)))
}

/** What is not there can be kept from coming to be by the first folder above it that is not there. */
export function firstMissing(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return []
  const parent = dirname(path)
  return statSync(parent, { throwIfNoEntry: false }) === undefined ? firstMissing(parent) : [path]
}
