import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { entriesByBytes, type PathBytes } from '../files/first-entries.ts'
import { isExactPath } from '../files/paths.ts'
import type { Place } from './description.ts'
import { SandboxError } from './sandbox-error.ts'

/** The folders in a folder. Calls `onUnnameable` for those whose names are not UTF-8. */
export function foldersIn(folder: string, onUnnameable: (unnameable: PathBytes) => void): readonly string[] {
  const names = listOrEmpty(() =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
  )
  if (!names.every(isExactPath))
    for (const found of foldersByBytes({ path: folder, bytes: Buffer.from(folder) }))
      if (!isExactPath(found.path)) onUnnameable(found)
  return names.filter(isExactPath)
}

/** The folders in a folder, with any names. */
export function foldersByBytes(folder: PathBytes): readonly PathBytes[] {
  return listOrEmpty(() => entriesByBytes(folder, Number.POSITIVE_INFINITY).filter(({ entry }) => entry.isDirectory()))
}

/** The listing; empty if it fails. */
export function listOrEmpty<T>(list: () => readonly T[]): readonly T[] {
  try {
    return list()
  } catch {
    return []
  }
}

/** The names in a folder; empty if it cannot be read. */
export function namesIn(folder: string): readonly string[] {
  return listOrEmpty(() => readdirSync(folder))
}

/** Ignores errors, for files that may no longer exist or that belong to another user. */
export function ignoreErrors(work: () => unknown): void {
  try {
    work()
  } catch {
    // The file remains unchanged.
  }
}

export function placeAt(path: string): readonly Place[] {
  const kind = kindOf(path)
  return kind === undefined ? [] : [{ path, kind }]
}

/**
 * What exists at a path; undefined if nothing does.
 * @throws SandboxError for a link: nothing can be mounted over it, so it could be replaced.
 */
export function kindOf(path: string): Place['kind'] | undefined {
  const stats = lstatIfExists(path)
  if (stats === undefined) return undefined
  if (!stats.isSymbolicLink()) return stats.isDirectory() ? 'folder' : 'file'
  throw new SandboxError(
    `${path} is a link, which the sandbox cannot protect from being replaced. Replace it with the file or folder itself.`,
  )
}

/** Whether a path exists, including dangling links. */
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

/** The text of a small file; empty if it cannot be read. */
export function textAt(path: string): string {
  try {
    const stats = statSync(path)
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

/** The folders between the root and a path: renaming one of them would change the path. */
export function foldersBetween(root: string, path: string): readonly string[] {
  const names = path.slice(root.length).split('/').filter(Boolean).slice(0, -1)
  return names.map((_, index) => join(root, ...names.slice(0, index + 1)))
}

/** The first missing folder above a missing path: protecting it prevents the creation of the path. */
export function firstMissing(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return []
  const parent = dirname(path)
  return statSync(parent, { throwIfNoEntry: false }) === undefined ? firstMissing(parent) : [path]
}
