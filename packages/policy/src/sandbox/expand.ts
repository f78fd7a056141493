import { type Dirent, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { entriesByBytes } from '../files/first-entries.ts'
import { matchesPath, type GlobPattern, matchStateBelow } from '../files/glob-pattern.ts'
import { isExactPath, realPath } from '../files/paths.ts'
import { foldedName } from '../files/look-alikes.ts'
import { SandboxError } from './sandbox-error.ts'

/** A pattern of paths with its base folders, for example of a deny rule. */
export interface PlacePattern {
  /** The base folders. */
  readonly anchors: readonly string[]
  /** The pattern of the path below a base folder. */
  readonly glob: GlobPattern
  /** The pattern for look-alike names (`foldedName`); absent if there are none. */
  readonly foldedGlob?: GlobPattern
  /** As it was written. */
  readonly source?: string
  /** Paths without wildcards: they count even if nothing exists there. */
  readonly named?: readonly string[]
}

const maxEntries = 300_000

/**
 * The existing files that patterns match; for a matching folder, only the folder. A matching link is returned as it is, and a link to a folder is
 * also followed, as its contents can be reached through it. `folder/**` returns the folder, as nothing may be created in it.
 * @throws SandboxError if there is too much to check: unchecked files could not be protected.
 */
export function expandPlaces(patterns: readonly PlacePattern[]): readonly string[] {
  let entriesLeft = maxEntries
  const found = new Set<string>()
  const seen = new Set<string>()
  const look = (folder: Folder, segments: readonly string[], wanted: WantedPattern): void => {
    for (const entry of entriesOf(folder)) {
      entriesLeft -= 1
      if (entriesLeft < 0) {
        throw new SandboxError(
          `The deny rules for files have more than ${maxEntries} files to search before a command can run confined. Write rules that name their folder, such as Read(./config/.env).`,
        )
      }
      const inner = [...segments, wanted.nameOf(entry.name)]
      if (matchesPath(wanted.glob, inner)) found.add(placeOf(entry))
      else if (entry.isFolder) enter(entry.path, entry, inner, wanted)
      else if (entry.isLink) enter(realPathOf(entry), entry, inner, wanted)
    }
  }
  /** Visits every folder once for the same remaining patterns, as links may form cycles. */
  const enter = (real: string, folder: Folder, segments: readonly string[], wanted: WantedPattern): void => {
    const state = matchStateBelow(wanted.glob, segments)
    const key = `${state}:${real}`
    if (state === undefined || seen.has(key)) return
    // Two folders may have the same text if the text is not their exact name.
    if (isExactPath(real)) seen.add(key)
    look(folder, segments, wanted)
  }
  for (const { anchors, ...pattern } of patterns) {
    for (const { glob, nameOf } of wantedPatterns(pattern)) {
      const own = glob.at(-1) === 'any' ? glob.slice(0, -1) : glob
      for (const anchor of anchors) {
        if (own.length === 0) found.add(anchor)
        else enter(realPath(anchor), { path: anchor }, [], { glob: own, nameOf })
      }
      // The remaining patterns of one rule do not apply to the next rule.
      seen.clear()
    }
  }
  return [...found]
}

/** A pattern, and how names are compared with it. */
interface WantedPattern {
  readonly glob: GlobPattern
  readonly nameOf: (name: string) => string
}

function wantedPatterns({ glob, foldedGlob }: Omit<PlacePattern, 'anchors'>): readonly WantedPattern[] {
  const written: WantedPattern = { glob, nameOf: (name) => name }
  return foldedGlob === undefined ? [written] : [written, { glob: foldedGlob, nameOf: foldedName }]
}

/** A folder, also as bytes if its path is not UTF-8. */
interface Folder {
  readonly path: string
  readonly bytes?: Buffer
}

interface Entry extends Folder {
  readonly name: string
  readonly isFolder: boolean
  readonly isLink: boolean
}

function entriesOf({ path, bytes }: Folder): readonly Entry[] {
  try {
    const entries = bytes === undefined ? readdirSync(path, { withFileTypes: true }) : undefined
    // Names as buffers take four times as long.
    if (entries?.every(({ name }) => isExactPath(name)) === true)
      return entries.map((entry) => ({ ...kindOf(entry), name: entry.name, path: join(path, entry.name) }))
    const all = entriesByBytes({ path, bytes: bytes ?? Buffer.from(path) }, Number.POSITIVE_INFINITY)
    return all.map((found) => ({
      ...kindOf(found.entry),
      name: found.entry.name.toString(),
      path: found.path,
      ...(!isExactPath(found.path) && { bytes: found.bytes }),
    }))
  } catch {
    // A command runs as this user, so a folder that this user cannot list is not listable for a command either.
    return []
  }
}

function kindOf(entry: Pick<Dirent, 'isDirectory' | 'isSymbolicLink'>): Pick<Entry, 'isFolder' | 'isLink'> {
  return { isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() }
}

/** The path to protect. A link may have a target that is not valid UTF-8. */
function placeOf(entry: Entry): string {
  if (entry.bytes === undefined) return entry.path
  const real = realPathOf(entry)
  if (isExactPath(real)) return real
  throw new SandboxError(
    `A deny rule covers ${entry.path}, whose name is not UTF-8, so the sandbox cannot protect it. Rename it.`,
  )
}

function realPathOf({ path, bytes }: Folder): string {
  if (bytes === undefined) return realPath(path)
  try {
    return realpathSync.native(bytes)
  } catch {
    return path
  }
}
