import { type Dirent, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { entriesByBytes, type EntryByBytes, firstEntries, type PathBytes } from '../files/first-entries.ts'
import { type Mount, mountOf, currentMounts, otherMountsOfDevice } from '../files/mounts.ts'
import { isInside, statOf } from '../files/paths.ts'
import { memoizeByObject } from '../shell/memoize.ts'
import type { PathPattern } from './path-pattern.ts'
import type { PermissionRule } from './rule.ts'

// A file can have several names without symbolic links: hard links, folders that are mounted twice, and file systems on which `.ENV` is `.env`. A
// deny rule for one name applies to all of them.

/** Minimum time for which lists of linked files are cached, in milliseconds: one call requests them many times. */
const cacheMs = 100

/** Other names of a path without links, limited to those that path rules may match. */
export function pathAliases(path: string, rules: readonly PermissionRule[]): readonly string[] {
  const patterns = patternsOf(rules)
  if (patterns.length === 0) return []
  const known = currentMounts()
  const onDisk = nameOnDisk(path, known)
  const linked = linkedNameUnder(path, patterns)
  return [
    ...(onDisk === path ? [] : [onDisk]),
    ...mountAliases(onDisk, known),
    ...(linked === undefined ? [] : [linked]),
  ]
}

const patternsOf = memoizeByObject((rules: readonly PermissionRule[]): readonly PathPattern[] =>
  rules.flatMap(({ spec }) => (spec.kind === 'path' ? [spec.pattern] : [])),
)

/** Paths at which other mounts show the file of this path. */
export function mountAliases(path: string, known: readonly Mount[]): readonly string[] {
  const mount = mountOf(path, known)
  if (mount === undefined) return []
  const others = otherMountsOfDevice(mount, known)
  if (others.length === 0) return []
  const place = join(mount.root, path.slice(mount.point.length))
  return others.flatMap((other) => {
    if (!isInside(place, other.root)) return []
    return [join(other.point, place.slice(other.root === '/' ? 0 : other.root.length))]
  })
}

/** On these file systems some or all folders ignore case. */
const caseInsensitiveTypes: ReadonlySet<string> = new Set(
  'vfat msdos exfat ntfs ntfs3 fuseblk 9p drvfs cifs smb3 hfs hfsplus vboxsf prl_fs fuse.vmhgfs-fuse'.split(' '),
)

/** The path with the names as their folders list them, in case the folders ignore case. */
export function nameOnDisk(path: string, known: readonly Mount[]): string {
  const mount = mountOf(path, known)
  if (mount === undefined || !caseInsensitiveTypes.has(mount.type) || path === mount.point) return path
  const folder = nameOnDisk(dirname(path), known)
  const names = entriesIn(folder).map((entry) => entry.name)
  const name = basename(path)
  const folded = name.toLowerCase()
  return join(folder, names.includes(name) ? name : (names.find((each) => each.toLowerCase() === folded) ?? name))
}

/** Maximum number of names that are checked for hard links. */
const maxNames = 20_000

interface LinkedFiles {
  /** For each file with several names, by device and inode, a name that a rule matches. */
  readonly byFile: ReadonlyMap<string, string>
  readonly untilMs: number
  /** Number of folder entries that may still be compared: a line may name hundreds of folders. */
  entriesLeft: number
}

/** Cached by the patterns, as the lists of rules are created anew for each decision. */
const linkedFiles = new Map<string, LinkedFiles>()
const maxLists = 16

/** The name that a rule matches, if this file has several names. */
function linkedNameUnder(path: string, patterns: readonly PathPattern[]): string | undefined {
  const stats = statOf(path)
  if (stats === undefined || !stats.isFile() || stats.nlink < 2) return undefined
  return linkedFilesOf(patterns).byFile.get(fileKey(stats))
}

function linkedFilesOf(patterns: readonly PathPattern[]): LinkedFiles {
  const atMs = performance.now()
  const key = JSON.stringify(patterns.map(({ anchors, source }) => [source, ...anchors]))
  const cached = linkedFiles.get(key)
  if (cached !== undefined && atMs <= cached.untilMs) return cached
  const byFile = linkedFilesUnder(patterns)
  if (linkedFiles.size >= maxLists) linkedFiles.clear()
  // A command may create another name at any time. Rescanning takes at most a tenth of the time.
  const now = performance.now()
  const untilMs = now + Math.max(cacheMs, 10 * (now - atMs))
  const found: LinkedFiles = { byFile, untilMs, entriesLeft: maxNames }
  linkedFiles.set(key, found)
  return found
}

function fileKey({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev}:${ino}`
}

/** Whether a folder contains, at any depth, a hard link to a file of a rule. Also true if such a file exists and there are too many files to check. */
export function containsAlias(rules: readonly PermissionRule[], folder: string): boolean {
  const patterns = patternsOf(rules)
  if (patterns.length === 0) return false
  const linked = linkedFilesOf(patterns)
  if (linked.byFile.size === 0) return false
  const open: PathBytes[] = [{ path: folder, bytes: Buffer.from(folder) }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (linked.entriesLeft <= 0) return true
    for (const found of entriesByBytesIn(next, linked.entriesLeft)) {
      linked.entriesLeft -= 1
      if (found.entry.isDirectory()) open.push(found)
      const stats = found.entry.isFile() ? statOf(found.bytes) : undefined
      if (stats !== undefined && stats.nlink > 1 && linked.byFile.has(fileKey(stats))) return true
    }
  }
  return false
}

/** Folders closest to the start of the patterns come first. */
function linkedFilesUnder(patterns: readonly PathPattern[]): LinkedFiles['byFile'] {
  const byFile = new Map<string, string>()
  const note = ({ path, bytes }: PathBytes): void => {
    if (!patterns.some((pattern) => pattern.matches(path))) return
    const stats = statOf(bytes)
    if (stats?.isFile() === true && stats.nlink > 1) byFile.set(fileKey(stats), path)
  }
  const open = new Map<string, PathBytes>()
  const add = (place: PathBytes): void => void open.set(place.bytes.toString('latin1'), place)
  for (const path of patterns.flatMap(({ named, anchors }) => (named.length > 0 ? named : anchors))) {
    const place = { path, bytes: Buffer.from(path) }
    note(place)
    add(place)
  }
  let left = maxNames
  // Iterating over a map also visits the entries that are added meanwhile.
  for (const folder of open.values()) {
    if (!patterns.some((pattern) => pattern.couldMatchBelow(folder.path))) continue
    for (const found of entriesByBytesIn(folder, left + 1)) {
      if ((left -= 1) < 0) return byFile
      if (found.entry.isFile()) note(found)
      if (found.entry.isDirectory()) add(found)
    }
  }
  return byFile
}

function entriesByBytesIn(...given: Parameters<typeof entriesByBytes>): readonly EntryByBytes[] {
  try {
    return entriesByBytes(...given)
  } catch {
    return []
  }
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return firstEntries(folder, Number.POSITIVE_INFINITY).entries
  } catch {
    return []
  }
}
