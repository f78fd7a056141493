import { type Dirent, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { entriesByBytes } from '../files/first-entries.ts'
import { matchesPath, type GlobPattern, matchStateBelow } from '../files/glob-pattern.ts'
import { isExactPath, realPath } from '../files/paths.ts'
import { foldedName } from '../files/look-alikes.ts'
import { SandboxError } from './sandbox-error.ts'

/** A pattern of paths with the folders from which it counts, such as those of deny rules. */
export interface PlacePattern {
  /** The folders. */
  readonly anchors: readonly string[]
  /** What the path below an anchor looks like. */
  readonly glob: GlobPattern
  /** The pattern for names that look the same (`foldedName`); absent where none does. */
  readonly foldedGlob?: GlobPattern
  /** As it was written. */
  readonly source?: string
  /** Paths that are named without a pattern: they count also where nothing is there. */
  readonly named?: readonly string[]
}

const maxEntries = 300_000

/**
 * What there is on disk that patterns name: of a folder that fits, the folder alone. A link that fits is given as it stands;
 * one to a folder is followed, since what lies behind it can be named through it. `folder/**` is the folder: nothing may come to be in it either.
 * @throws SandboxError when there is too much to look at: what was not looked at could not be kept shut.
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
  /** Every folder once for the same wants: links may lead in circles. */
  const enter = (real: string, folder: Folder, segments: readonly string[], wanted: WantedPattern): void => {
    const state = matchStateBelow(wanted.glob, segments)
    const key = `${state}:${real}`
    if (state === undefined || seen.has(key)) return
    // The texts of two folders may be the same where they are not what the folders are called.
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
      // Wants of one pattern say nothing about those of the next.
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

/** With its bytes where these are not UTF-8. */
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
    // What this user may not list, a command of this user may not list either.
    return []
  }
}

function kindOf(entry: Pick<Dirent, 'isDirectory' | 'isSymbolicLink'>): Pick<Entry, 'isFolder' | 'isLink'> {
  return { isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() }
}

/** The path by which something is kept shut. A link may lead to where a text can name it. */
function placeOf(entry: Entry): string {
  if (entry.bytes === undefined) return entry.path
  const real = realPathOf(entry)
  if (isExactPath(real)) return real
  throw new SandboxError(
    `A deny rule is about ${entry.path}, whose name is not UTF-8: the sandbox cannot keep it shut. Rename it.`,
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
