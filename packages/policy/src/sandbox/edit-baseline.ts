import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isInside, realPath } from '../files/paths.ts'
import type { MovedAside } from './edit-command.ts'
import { type FolderScan, type FolderScanner, type Identity, identityOf, nodeOf } from './folder-scan.ts'
import { inPinnedFolder } from './pinned-folder.ts'
import { removeTree } from './remove-tree.ts'
import { ignoreErrors } from './on-disk.ts'

/** What was there before a confined command started: what appears later at such names is its work. Plain data, as it is stored. */
export interface Baseline {
  /** The directories that the command can write. */
  readonly directories: readonly string[]
  /** What is obeyed later, by its path. */
  readonly obeyed: readonly (readonly [path: string, identity: Identity])[]
  /** Where the links among it lead: device and inode. */
  readonly ends: readonly (readonly [path: string, node: string | undefined])[]
  /** Folders that are repositories themselves, by device and inode. */
  readonly bare: readonly string[]
  /** Paths at which nothing was, and nothing may be afterwards. */
  readonly missing: readonly string[]
  /** Folders whose names are not UTF-8. */
  readonly odd: readonly string[]
  /** Whether every folder was read. */
  readonly isComplete: boolean
  /** When this was, in milliseconds since 1970. */
  readonly atMs: number
}

/** Writes down what is there before a command starts. `missing`: paths that are obeyed later because of what settings say. */
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
  /** The path as the system takes it, where the name is not UTF-8. */
  readonly bytes?: Buffer
}

/** What a command made where something is obeyed later. */
function findIntruders(baseline: Baseline, scan: FolderScan): readonly Intruder[] {
  const before = new Map(baseline.obeyed)
  const ends = new Map(baseline.ends)
  const known = new Set(baseline.obeyed.map(([path, identity]) => keyOf(path, identity)))
  const isInWorkspace = (path: string): boolean => baseline.directories.some((folder) => isInside(path, folder))
  const obeyed = [...scan.controlFiles].flatMap(([path, identity]): readonly Intruder[] => {
    const isKnown = known.has(keyOf(path, identity))
    // What was there before may have moved with the folder that it is in: it was read-only all the time.
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

/** Makes links anew that the command removed: nothing can be mounted over a link. */
function restoreLinks(baseline: Baseline, scan: FolderScan): void {
  const nodes = new Set([...scan.controlFiles.values()].map(({ node }) => node))
  for (const [path, { kind, node, target }] of baseline.obeyed) {
    if (kind !== 'link' || target === undefined || nodes.has(node) || identityOf(path) !== undefined) continue
    ignoreErrors(() =>
      inPinnedFolder(path, baseline.directories, (folder) => symlinkSync(target, join(folder, basename(path)))),
    )
  }
}

/** Looks at what a command made, and moves aside what may not be where it is. */
export function moveIntrudersAside(
  baseline: Baseline,
  scanner: FolderScanner,
  options: {
    /** Folders to look at first. */
    readonly first: readonly string[]
    /** The folder into which things are moved, made when it is needed. */
    readonly folder: string
    /** Whether it may be moved; everything when absent. */
    readonly isBlamed?: (intruder: Intruder) => boolean
  },
): {
  readonly takenBack: readonly MovedAside[]
  /** What was found. */
  readonly scan: FolderScan
} {
  const { first, folder, isBlamed = () => true } = options
  const scan = scanner.scan(baseline.directories, first, baseline.atMs - clockMs)
  const read = new Set(first)
  const moved = findIntruders(baseline, scan)
    .filter((intruder) => baseline.isComplete || read.has(dirname(intruder.path)) || isNewerThan(baseline, intruder))
    .filter(isBlamed)
    .flatMap((intruder) => moveAside(intruder, baseline.directories, folder))
  restoreLinks(baseline, moved.length === 0 ? scan : scanner.scan(baseline.directories, first))
  return { takenBack: moved, scan }
}

/** The clock of files is a little behind. */
const clockMs = 20

/** For folders that were not read before the command: what is older than the command was there. */
function isNewerThan({ atMs }: Baseline, { path, bytes }: Intruder): boolean {
  const stats = lstatSync(bytes ?? path, { throwIfNoEntry: false })
  return stats !== undefined && stats.birthtimeMs >= atMs - clockMs
}

// Beside this command another one may run, which puts a link in the place of a folder between the scan and the move.
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
  // The command may have taken the right to move it away. A link leads to what is somebody else's.
  const locked = [dirname(path), ...(identityOf(path)?.kind === 'folder' ? [path] : [])]
  for (const one of locked) ignoreErrors(() => chmodSync(one, statSync(one).mode | 0o700))
  if (isMoved()) return
  // On another file system.
  ignoreErrors(() => cpSync(path, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true }))
  removeTree(path)
}

function freePath(path: string): string {
  let free = path
  for (let count = 2; identityOf(free) !== undefined; count += 1) free = `${path}.${count}`
  return free
}
