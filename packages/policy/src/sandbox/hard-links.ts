import { lstatSync, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { entriesByBytes, type PathBytes } from '../files/first-entries.ts'
import { isExactPath, isInside } from '../files/paths.ts'
import { nodeOf } from './folder-scan.ts'
import { SandboxError } from './sandbox-error.ts'

/** Maximum number of files below denied places that are inspected, and of files that are searched for their other names. */
const maxEntries = 20_000
/** Folders with most unpacked and generated files, many of them hard links. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv'])

/**
 * Other hard links in the directories of the session to files of deny rules. Searches only if one of the files has several names.
 * @param places The files and folders that the rules name.
 * @throws SandboxError for a name that is not UTF-8: nothing can be mounted over it.
 */
export function otherHardLinks(places: readonly string[], roots: readonly string[]): readonly string[] {
  const nodes = new Set<string>()
  for (const { stats } of filesBelow(places)) if (stats.nlink > 1) nodes.add(nodeOf(stats))
  if (nodes.size === 0) return []
  const found: string[] = []
  for (const { path, stats } of filesBelow(roots)) {
    if (stats.nlink < 2 || !nodes.has(nodeOf(stats)) || places.some((place) => isInside(path, place))) continue
    if (!isExactPath(path))
      throw new SandboxError(
        `${path} is another name of a file that a deny rule covers, and is not UTF-8, so it cannot be protected from a confined command. Rename it.`,
      )
    found.push(path)
  }
  return found
}

/** Files, the outermost first; does not follow links. */
function* filesBelow(places: readonly string[]): Generator<{ readonly path: string; readonly stats: Stats }> {
  const open: PathBytes[] = places
    .filter((path) => !skipped.has(basename(path)))
    .map((path) => ({ path, bytes: Buffer.from(path) }))
  let left = maxEntries
  for (const place of open) {
    const stats = statsOf(place.bytes)
    if (stats?.isFile() === true) yield { path: place.path, stats }
    if (stats?.isDirectory() !== true) continue
    for (const inner of entriesIn(place, left)) {
      left -= 1
      if (inner.entry.isDirectory() && !skipped.has(inner.entry.name.toString())) open.push(inner)
      const innerStats = inner.entry.isFile() ? statsOf(inner.bytes) : undefined
      if (innerStats !== undefined) yield { path: inner.path, stats: innerStats }
    }
    if (left <= 0) return
  }
}

function statsOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

function entriesIn(folder: PathBytes, most: number): ReturnType<typeof entriesByBytes> {
  try {
    return entriesByBytes(folder, most)
  } catch {
    return []
  }
}
