import { chmodSync, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { entriesByBytes, type PathBytes } from '../files/first-entries.ts'
import { isExactPath } from '../files/paths.ts'
import { inPinnedFolder } from './pinned-folder.ts'
import { foldersByBytes, listOrEmpty, ignoreErrors } from './on-disk.ts'
import { controlFileIndexes, controlFileGroups, readOnlyInSandbox } from '../control-files.ts'

/** Folders that are read-only as a whole for confined commands, because a partial change breaks a repository. */
export const versionControlFolders: readonly string[] = ['.git', '.hg', '.jj', '.sl', '.svn', '.bzr']

const wholeFolders: ReadonlySet<string> = new Set(versionControlFolders)

/** Names of control files: only the relevant part of folders such as `.github/workflows`, and all of version control folders. */
const controlNames: ReadonlySet<string> = new Set(
  [...versionControlFolders, ...readOnlyInSandbox.filter((name) => !wholeFolders.has(name.split('/')[0] ?? ''))].map(
    (name) => name.toLowerCase(),
  ),
)

/** Control files only if they are at the root of a repository. */
const rootOnly: ReadonlySet<string> = new Set(
  [controlFileGroups.folders, controlFileGroups.files].flatMap((groups) =>
    (groups['CI'] ?? '').toLowerCase().split(' '),
  ),
)

/**
 * Whether this name, in a folder with that name, is a control file.
 * @param depth Depth of the folder below a directory of the session, which has depth 0. Files of CI services count at the root only.
 */
function isControlFileName(name: string, folder: string, depth: number): boolean {
  const lower = name.toLowerCase()
  if (!/^[\w.~@+ -]*$/.test(lower)) return controlFileIndexes([name]).length > 0
  const below = `${folder.toLowerCase()}/${lower}`
  if (controlNames.has(below) && (depth <= 1 || !rootOnly.has(below))) return true
  return controlNames.has(lower) && (depth === 0 || !rootOnly.has(lower))
}

/** The result of a scan of the directories of a session. */
export interface FolderScan {
  /** The folders that were read, from the outside in. */
  readonly folders: readonly string[]
  /** Whether these are all folders. */
  readonly isComplete: boolean
  /** Control files, folders and links, with their identities. */
  readonly controlFiles: ReadonlyMap<string, Identity>
  /** Folders that git treats as repositories, with their identities. */
  readonly bare: ReadonlyMap<string, string>
  /** Sockets in the file system. */
  readonly sockets: readonly string[]
  /** Folders of packages, which are not scanned. */
  readonly packages: readonly string[]
  /** Folders with control files whose names are not UTF-8: no string can name them. */
  readonly unnameable: readonly PathBytes[]
}

/** Distinguishes a file, folder or link from a replacement. */
export interface Identity {
  readonly kind: 'folder' | 'file' | 'link'
  /** Device and inode. */
  readonly node: string
  /** The target of a link. */
  readonly target?: string
}

interface Listing {
  /** Number of directories of the session: the relevant names in a folder depend on whether it is one of them. */
  readonly roots: number
  readonly dev: number
  readonly ino: number
  readonly statusChangedMs: number
  readonly readAtMs: number
  readonly folders: readonly string[]
  readonly controlFiles: readonly string[]
  readonly sockets: readonly string[]
  readonly packages: readonly string[]
  readonly isBare: boolean
  /** Whether the folder contains names that are not UTF-8. */
  readonly hasUnnameable: boolean
}

interface LastScan {
  readonly roots: readonly string[]
  /** The listing of each of its folders. */
  readonly listings: readonly Listing[]
  readonly scan: FolderScan
}

const withoutThrow = { throwIfNoEntry: false } as const

/** Maximum number of folders that are read before a command, and of additional ones afterwards. */
const maxFolders = 1_000
const maxNewFolders = 4_000
/** A folder that was changed just before it was read may change again within the same clock tick. */
const tickMs = 50

/** Unpacked and generated files: nobody opens these folders as a project, and they contain most files. */
const skippedFolders: ReadonlySet<string> = new Set(
  (
    'node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .next .nuxt .turbo ' +
    '.parcel-cache .gradle .terraform target site-packages'
  ).split(' '),
)

const packageFolders: ReadonlySet<string> = new Set(['node_modules', '.venv', 'venv'])

/** Scans folders for control files, the outermost first. An unchanged folder is not read again: checking one takes a single system call. */
export class FolderScanner {
  readonly #known = new Map<string, Listing>()
  #last: LastScan | undefined

  /**
   * @param first Folders to scan before all others, such as those of an earlier scan.
   * @param sinceMs Restores read access to folders that were changed since and cannot be read. Default: none.
   */
  scan(roots: readonly string[], first: readonly string[] = [], sinceMs?: number): FolderScan {
    return this.#unchanged(roots, first) ?? this.#scanAll(roots, first, sinceMs)
  }

  /** The last scan, if it read all folders and none of them has changed; a new scan would have the same result. */
  #unchanged(roots: readonly string[], first: readonly string[]): FolderScan | undefined {
    const last = this.#last
    if (last === undefined || last.roots.length !== roots.length) return undefined
    if (!last.roots.every((root, index) => root === roots[index])) return undefined
    if (first.length > 0 && first !== last.scan.folders) return undefined
    const { folders } = last.scan
    const isSame = last.listings.every((listing, index) => {
      const stats = lstatSync(folders[index] ?? '', withoutThrow)
      return stats?.isDirectory() === true && isFresh(listing, stats)
    })
    return isSame ? last.scan : undefined
  }

  #scanAll(roots: readonly string[], first: readonly string[], sinceMs: number | undefined): FolderScan {
    const listings: Listing[] = []
    const found = {
      folders: [] as string[],
      controlFiles: new Map<string, Identity>(),
      bare: new Map<string, string>(),
    }
    const [sockets, packages]: [string[], string[]] = [[], []]
    const unnameable: PathBytes[] = []
    const [seen, reached] = [new Set<string>(), new Set<string>()]
    const queue = [...roots, ...first]
    const most = first.length + (first.length === 0 ? maxFolders : maxNewFolders)
    let at = 0
    for (; at < queue.length && found.folders.length < most; at += 1) {
      const folder = queue[at] ?? ''
      // Since the earlier scan a link may have replaced a folder above.
      if (seen.has(folder) || !(roots.includes(folder) || reached.has(dirname(folder)))) continue
      seen.add(folder)
      if (sinceMs !== undefined) restoreReadAccess(folder, roots, sinceMs)
      const listing = this.#listingOf(folder, roots)
      if (listing === undefined) continue
      listings.push(listing)
      found.folders.push(folder)
      reached.add(folder)
      queue.push(...listing.folders)
      sockets.push(...listing.sockets)
      packages.push(...listing.packages)
      if (listing.isBare) found.bare.set(folder, nodeOf(listing))
      if (listing.hasUnnameable) unnameable.push(...unnameableFolders(folder))
      for (const path of listing.controlFiles) {
        const identity = identityOf(path)
        if (identity !== undefined) found.controlFiles.set(path, identity)
      }
    }
    const scan = { ...found, isComplete: at >= queue.length, sockets, packages, unnameable }
    // An unreadable folder may become readable without a change of its parent.
    const isAll = scan.isComplete && reached.size === seen.size && listings.every(({ hasUnnameable }) => !hasUnnameable)
    this.#last = isAll ? { roots: [...roots], listings, scan } : undefined
    return scan
  }

  #listingOf(folder: string, roots: readonly string[]): Listing | undefined {
    try {
      const stats = lstatSync(folder)
      if (!stats.isDirectory()) return undefined
      const known = this.#known.get(folder)
      if (known !== undefined && isFresh(known, stats) && known.roots === roots.length) return known
      const { dev, ino, ctimeMs: statusChangedMs } = stats
      const listing = { ...readFolder(folder, depthIn(roots, folder)), dev, ino, roots: roots.length, statusChangedMs }
      this.#known.set(folder, listing)
      return listing
    } catch {
      // The folder was removed, or is not readable for this user and therefore not for a command.
      return undefined
    }
  }
}

/** Whether the folder is the one that was read, and is unchanged. Then its entries are the same too, as replacing one changes the folder. */
function isFresh({ statusChangedMs, readAtMs, dev, ino }: Listing, stats: Stats): boolean {
  return (
    statusChangedMs === stats.ctimeMs && statusChangedMs < readAtMs - tickMs && ino === stats.ino && dev === stats.dev
  )
}

/** A command may have removed read access to a folder in which it created something: its files can still be opened by name. */
function restoreReadAccess(folder: string, roots: readonly string[], sinceMs: number): void {
  ignoreErrors(() => {
    const { mode, uid, ctimeMs } = lstatSync(folder)
    if ((mode & 0o500) === 0o500 || ctimeMs < sinceMs || uid !== process.getuid?.()) return
    inPinnedFolder(join(folder, 'x'), roots, (pinned) => chmodSync(pinned, (mode & 0o7777) | 0o500))
  })
}

/** Depth of a folder: 0 for a directory of the session, 1 directly inside it, and 2 for everything deeper. */
function depthIn(roots: readonly string[], folder: string): number {
  if (roots.includes(folder)) return 0
  return roots.includes(dirname(folder)) ? 1 : 2
}

function readFolder(folder: string, depth: number): Omit<Listing, 'dev' | 'ino' | 'statusChangedMs' | 'roots'> {
  const readAtMs = Date.now()
  const entries = readdirSync(folder, { withFileTypes: true })
  const names = new Set(entries.map(({ name }) => name))
  const base = folder.slice(folder.lastIndexOf('/') + 1)
  // Programs look for repositories directly in a directory of the session, so these folders are read, but not their contents.
  const isSkipped = (name: string): boolean =>
    depth > 0 && skippedFolders.has(name) && !isControlFileName(name, base, depth)
  const controlFiles: string[] = []
  const folders: string[] = []
  for (const entry of entries) {
    if (isControlFileName(entry.name, base, depth)) controlFiles.push(join(folder, entry.name))
    else if (entry.isDirectory() && isExactPath(entry.name) && !isSkipped(entry.name))
      folders.push(join(folder, entry.name))
  }
  return {
    readAtMs,
    controlFiles,
    folders: depth > 0 && skippedFolders.has(base) ? [] : folders,
    sockets: entries.flatMap((entry) => (entry.isSocket() ? [join(folder, entry.name)] : [])),
    packages: entries.flatMap(({ name }) => (packageFolders.has(name) ? [join(folder, name)] : [])),
    isBare: names.has('HEAD') && ((names.has('objects') && names.has('refs')) || names.has('commondir')),
    hasUnnameable: entries.some((entry) => entry.isDirectory() && !isExactPath(entry.name)),
  }
}

const maxUnnameableDepth = 4

/** The folders in a folder with names that are not UTF-8 and with control files at any depth. */
function unnameableFolders(folder: string): readonly PathBytes[] {
  return foldersByBytes({ path: folder, bytes: Buffer.from(folder) }).filter(
    (inner) => !isExactPath(inner.path) && containsControlFile(inner, 1),
  )
}

function containsControlFile(folder: PathBytes, depth: number): boolean {
  const base = folder.path.slice(folder.path.lastIndexOf('/') + 1)
  const entries = listOrEmpty(() => entriesByBytes(folder, maxFolders))
  if (entries.some(({ entry }) => isControlFileName(entry.name.toString(), base, 2))) return true
  return (
    depth < maxUnnameableDepth &&
    entries.some((inner) => inner.entry.isDirectory() && containsControlFile(inner, depth + 1))
  )
}

/** The identity of a file, folder or link; undefined if nothing exists. */
export function identityOf(path: string): Identity | undefined {
  try {
    const stats = lstatSync(path)
    if (stats.isSymbolicLink()) return { kind: 'link', node: nodeOf(stats), target: readlinkSync(path) }
    return { kind: stats.isDirectory() ? 'folder' : 'file', node: nodeOf(stats) }
  } catch {
    return undefined
  }
}

/** Device and inode. */
export function nodeOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`
}
