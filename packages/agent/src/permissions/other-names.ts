import { type Dirent, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { firstEntries } from '../first-entries.ts'
import { isInside, statOf } from '../paths.ts'
import type { PathPattern } from './path-pattern.ts'
import type { PermissionRule } from './rule.ts'

// One file may stand under several names that no link tells of: hard links, folders that are mounted twice, and file systems for which `.ENV` is
// `.env`. A rule that denies one of them is about all.

/** A line of /proc/self/mountinfo: what of a device is seen where. */
export interface Mount {
  readonly device: string
  /** The folder on the device that is seen at `point`. */
  readonly root: string
  readonly point: string
  readonly type: string
}

/** What is known of the disk for so long, in milliseconds: one call asks many times. */
const keptMs = 1_000
let mounts: { readonly list: readonly Mount[]; readonly atMs: number } | undefined

function mountsNow(): readonly Mount[] {
  const atMs = performance.now()
  if (mounts === undefined || atMs - mounts.atMs > keptMs) mounts = { list: parseMounts(mountinfo()), atMs }
  return mounts.list
}

/** Only Linux has it. Elsewhere the system itself tells the name on disk (`realPath`). */
function mountinfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , device, root, point, ...rest] = line.split(' ')
    const type = rest[rest.indexOf('-') + 1]
    if (device === undefined || root === undefined || point === undefined || type === undefined) return []
    return [{ device, root: unescaped(root), point: unescaped(point), type }]
  })
}

function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_all, code: string) => String.fromCodePoint(Number.parseInt(code, 8)))
}

/** Other names of a path that leads through no link, of those that rules for paths may be about. */
export function otherNames(path: string, rules: readonly PermissionRule[]): readonly string[] {
  const patterns = rules.flatMap(({ spec }) => (spec.kind === 'path' ? [spec.pattern] : []))
  if (patterns.length === 0) return []
  const known = mountsNow()
  const onDisk = nameOnDisk(path, known)
  const linked = hardLinkUnder(path, rules, patterns)
  return [
    ...(onDisk === path ? [] : [onDisk]),
    ...namesByMounts(onDisk, known),
    ...(linked === undefined ? [] : [linked]),
  ]
}

/** The mount that a path lies in: the last one of the longest point hides those before it. */
function mountOf(path: string, known: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined
  for (const mount of known)
    if (isInside(path, mount.point) && mount.point.length >= (found?.point.length ?? 0)) found = mount
  return found
}

/** Where else the same place of the same device is seen. */
export function namesByMounts(path: string, known: readonly Mount[]): readonly string[] {
  const mount = mountOf(path, known)
  if (mount === undefined) return []
  const place = join(mount.root, path.slice(mount.point.length))
  return known.flatMap((other) => {
    if (other === mount || other.device !== mount.device || !isInside(place, other.root)) return []
    return [join(other.point, place.slice(other.root === '/' ? 0 : other.root.length))]
  })
}

/** Of these some or all take `.ENV` for `.env`. */
const folding: ReadonlySet<string> = new Set(
  'vfat msdos exfat ntfs ntfs3 fuseblk 9p drvfs cifs smb3 hfs hfsplus vboxsf prl_fs fuse.vmhgfs-fuse'.split(' '),
)

/** The path as its folders list it, where case may count for nothing. */
export function nameOnDisk(path: string, known: readonly Mount[]): string {
  const mount = mountOf(path, known)
  if (mount === undefined || !folding.has(mount.type) || path === mount.point) return path
  const folder = nameOnDisk(dirname(path), known)
  const names = entriesIn(folder).map((entry) => entry.name)
  const name = basename(path)
  const folded = name.toLowerCase()
  return join(folder, names.includes(name) ? name : (names.find((each) => each.toLowerCase() === folded) ?? name))
}

/** So many names are looked at for files with several names. */
const mostNames = 20_000

interface LinkedFiles {
  /** A name under a rule for each file that has several, by device and number. */
  readonly byFile: ReadonlyMap<string, string>
  readonly atMs: number
}

const linkedFiles = new WeakMap<readonly PermissionRule[], LinkedFiles>()

/** The name under which a rule is about this file, if it has several names. */
function hardLinkUnder(
  path: string,
  rules: readonly PermissionRule[],
  patterns: readonly PathPattern[],
): string | undefined {
  const stats = statOf(path)
  if (stats === undefined || !stats.isFile() || stats.nlink < 2) return undefined
  const atMs = performance.now()
  const kept = linkedFiles.get(rules)
  const found = kept !== undefined && atMs - kept.atMs <= keptMs ? kept : { byFile: linkedFilesUnder(patterns), atMs }
  linkedFiles.set(rules, found)
  return found.byFile.get(`${stats.dev}:${stats.ino}`)
}

/** The folders nearest to where patterns begin come first. */
function linkedFilesUnder(patterns: readonly PathPattern[]): ReadonlyMap<string, string> {
  const byFile = new Map<string, string>()
  const note = (path: string): void => {
    if (!patterns.some((pattern) => pattern.matches(path))) return
    const stats = statOf(path)
    if (stats?.isFile() === true && stats.nlink > 1) byFile.set(`${stats.dev}:${stats.ino}`, path)
  }
  const open = new Set<string>()
  for (const path of patterns.flatMap(({ named, anchors }) => (named.length > 0 ? named : anchors))) {
    note(path)
    open.add(path)
  }
  let left = mostNames
  for (const folder of open) {
    if (!patterns.some((pattern) => pattern.couldFitBelow(folder))) continue
    for (const entry of entriesIn(folder, left + 1)) {
      if ((left -= 1) < 0) return byFile
      const path = join(folder, entry.name)
      if (entry.isFile()) note(path)
      // A set that grows is gone through to its end.
      if (entry.isDirectory()) open.add(path)
    }
  }
  return byFile
}

function entriesIn(folder: string, most: number = Number.POSITIVE_INFINITY): readonly Dirent[] {
  try {
    return firstEntries(folder, most).entries
  } catch {
    return []
  }
}
