import { lstatSync, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { entriesByBytes, type PathBytes } from '../files/first-entries.ts'
import { isExactPath, isInside } from '../files/paths.ts'
import { nodeOf } from './folder-scan.ts'
import { SandboxError } from './sandbox-error.ts'

/** How many files are inspected below what is denied, and how many for their other names. */
const maxEntries = 20_000
/** What unpacks or generates most files, and links many of them. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv'])

/**
 * Other names of files that deny rules are about: hard links in the directories of the session. Nothing is searched unless one of the
 * files has several names.
 *
 * @param places What the rules name: files, and folders with all that is in them.
 * @throws SandboxError for a name that is not UTF-8: nothing can be mounted over what no text names.
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
        `${path} is another name of a file that a deny rule is about, and is not UTF-8: it cannot be shut for a confined command. Rename it.`,
      )
    found.push(path)
  }
  return found
}

/** Files, the outermost first; links are not followed. */
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
