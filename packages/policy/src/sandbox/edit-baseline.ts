import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isInside, realPath } from '../files/paths.ts'
import type { MovedAside } from './edit-command.ts'
import { type FolderScan, type FolderScanner, type Identity, identityOf, nodeOf } from './folder-scan.ts'
import { inPinnedFolder } from './pinned-folder.ts'
import { removeTree } from './remove-tree.ts'
import { ignoreErrors } from './on-disk.ts'

/** The state before a confined command starts: control files that appear later were created by the command. Plain data, as it is stored. */
export interface Baseline {
  /** The directories that the command can write. */
  readonly directories: readonly string[]
  /** Control files by path. */
  readonly obeyed: readonly (readonly [path: string, identity: Identity])[]
  /** Device and inode of the targets of links among them. */
  readonly ends: readonly (readonly [path: string, node: string | undefined])[]
  /** Folders that are repositories themselves, by device and inode. */
  readonly bare: readonly string[]
  /** Paths that did not exist, and must not exist after the command. */
  readonly missing: readonly string[]
  /** Folders that contain names that are not UTF-8. */
  readonly odd: readonly string[]
  /** Whether every folder was read. */
  readonly isComplete: boolean
  /** Time of the scan, in milliseconds since 1970. */
  readonly atMs: number
}

/** Records the state before a command starts. `missing`: further control files because of settings. */
export function baselineOf(directories: readonly string[], scan: FolderScan, missing: readonly string[]): Baseline {
  return {
    directories,
    obeyed: [...scan.controlFiles],
    ends: [...scan.controlFiles].flatMap(([path, { kind }]) => (kind === 'link' ? [[path, endOf(path)] as const] : [])),
    bare: [...scan.bare.values()],
    missing: missing.filter((path) => identityOf(path) === undefined),
    odd: scan.unnameable.map(({ path }) => path),
    isComplete: scan.isComplete,
    atMs: Date.now(),
  }
}

/** Something to be moved aside. */
export interface Intruder {
  readonly path: string
  /** The path as bytes, if it is not UTF-8. */
  readonly bytes?: Buffer
}

/** Control files that a command created. */
function findIntruders(baseline: Baseline, scan: FolderScan): readonly Intruder[] {
  const before = new Map(baseline.obeyed)
  const ends = new Map(baseline.ends)
  const known = new Set(baseline.obeyed.map(([path, identity]) => keyOf(path, identity)))
  const isInWorkspace = (path: string): boolean => baseline.directories.some((folder) => isInside(path, folder))
  const obeyed = [...scan.controlFiles].flatMap(([path, identity]): readonly Intruder[] => {
    const isKnown = known.has(keyOf(path, identity))
    // A control file that already existed may have moved with its folder; it was read-only the whole time.
    if (!isKnown) return [{ path }]
    if (identity.kind !== 'link' || !before.has(path) || ends.get(path) === endOf(path)) return []
    const end = realPath(path)
    return end !== path && isInWorkspace(end) && existsSync(end) ? [{ path: end }] : []
  })
  const heads = [...scan.bare].flatMap(([folder, node]) =>
    baseline.bare.includes(node) ? [] : [{ path: join(folder, 'HEAD') }],
  )
  const named = baseline.missing.filter((path) => identityOf(path) !== undefined).map((path) => ({ path }))
  const odd = scan.unnameable.filter(({ path }) => !baseline.odd.includes(path))
  const all = new Map([...obeyed, ...heads, ...named, ...odd].map((intruder) => [intruder.path, intruder]))
  return [...all.values()]
}

function keyOf(path: string, { kind, node, target = '' }: Identity): string {
  return `${kind} ${node} ${basename(path).toLowerCase()} ${target}`
}

function endOf(path: string): string | undefined {
  try {
    return nodeOf(statSync(path))
  } catch {
    return undefined
  }
}

/** Restores links that the command removed, as nothing can be mounted over a link. */
function restoreLinks(baseline: Baseline, scan: FolderScan): void {
  const nodes = new Set([...scan.controlFiles.values()].map(({ node }) => node))
  for (const [path, { kind, node, target }] of baseline.obeyed) {
    if (kind !== 'link' || target === undefined || nodes.has(node) || identityOf(path) !== undefined) continue
    ignoreErrors(() =>
      inPinnedFolder(path, baseline.directories, (folder) => symlinkSync(target, join(folder, basename(path)))),
    )
  }
}

/** Scans for control files that a command created, and moves them aside. */
export function moveIntrudersAside(
  baseline: Baseline,
  scanner: FolderScanner,
  options: {
    /** Folders to scan first. */
    readonly first: readonly string[]
    /** The folder to which they are moved; created when needed. */
    readonly folder: string
    /** Whether something may be moved. Default: everything. */
    readonly mayMove?: (intruder: Intruder) => boolean
  },
): {
  readonly takenBack: readonly MovedAside[]
  /** The result of the scan. */
  readonly scan: FolderScan
} {
  const { first, folder, mayMove = () => true } = options
  const scan = scanner.scan(baseline.directories, first, baseline.atMs - clockMs)
  const read = new Set(first)
  const moved = findIntruders(baseline, scan)
    .filter((intruder) => baseline.isComplete || read.has(dirname(intruder.path)) || isNewerThan(baseline, intruder))
    .filter(mayMove)
    .flatMap((intruder) => moveAside(intruder, baseline.directories, folder))
  restoreLinks(baseline, moved.length === 0 ? scan : scanner.scan(baseline.directories, first))
  return { takenBack: moved, scan }
}

/** Tolerance for the coarse clock of file times, in milliseconds. */
const clockMs = 20

/** For folders that were not read before the command: files older than the command existed before it. */
function isNewerThan({ atMs }: Baseline, { path, bytes }: Intruder): boolean {
  const stats = lstatSync(bytes ?? path, { throwIfNoEntry: false })
  return stats !== undefined && stats.birthtimeMs >= atMs - clockMs
}

// A concurrent command may replace a folder by a link between the scan and the move.
function moveAside({ path, bytes }: Intruder, directories: readonly string[], folder: string): readonly MovedAside[] {
  const root = directories.find((directory) => isInside(path, directory)) ?? dirname(path)
  const name = path.slice(root.length).replaceAll('\uFFFD', '_')
  const movedTo = freePath(join(folder, basename(root), name))
  return (
    inPinnedFolder(path, directories, (pinned) => {
      const from = `${pinned}/${basename(path)}`
      const inBytes = bytes && Buffer.concat([Buffer.from(pinned), bytes.subarray(bytes.lastIndexOf('/'))])
      if (lstatSync(inBytes ?? from, { throwIfNoEntry: false }) === undefined) return []
      mkdirSync(dirname(movedTo), { recursive: true, mode: 0o700 })
      move(from, inBytes ?? from, movedTo)
      return [{ path, movedTo: identityOf(movedTo) === undefined ? path : movedTo }]
    }) ?? []
  )
}

function move(path: string, from: string | Buffer, to: string): void {
  const isMoved = (): boolean => {
    try {
      renameSync(from, to)
      return true
    } catch {
      return false
    }
  }
  if (isMoved()) return
  // The command may have removed the permission to move it. A link is skipped, as its target belongs to somebody else.
  const locked = [dirname(path), ...(identityOf(path)?.kind === 'folder' ? [path] : [])]
  for (const one of locked) ignoreErrors(() => chmodSync(one, statSync(one).mode | 0o700))
  if (isMoved()) return
  // The folder is on another file system.
  ignoreErrors(() => cpSync(path, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true }))
  removeTree(path)
}

function freePath(path: string): string {
  let free = path
  for (let count = 2; identityOf(free) !== undefined; count += 1) free = `${path}.${count}`
  return free
}
