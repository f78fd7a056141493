import { closeSync, type Dirent, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { firstEntries } from '../files/first-entries.ts'
import { isDirectory, isInside } from '../files/paths.ts'
import { commonFolderOf, type GitRepository } from './repository.ts'
import { pathKind, readSmallFile } from './small-file.ts'

/** Maximum number of files, which take about 0.3 s of CPU without a cache. A folder costs as much as ten files. */
const maxFiles = 80_000
const filesPerFolder = 10

/**
 * Why files of a repository could show content from outside of it; undefined if they cannot. Lists every folder and reads no object. Only plain
 * files with a single name are accepted, as git prints lines of most of its files in messages and references.
 */
export function gitFolderProblem({ gitFolder, commonFolder }: GitRepository): string | undefined {
  const roots = isInside(gitFolder, commonFolder) ? [commonFolder] : [commonFolder, gitFolder]
  const left = { files: maxFiles }
  for (const root of roots) {
    const problem = specialFileProblem(root, left)
    if (problem !== undefined) return problem
  }
  return foreignNameProblem(gitFolder, commonFolder)
}

interface Listing {
  readonly stamp: string
  readonly folders: readonly string[]
  readonly files: number
}

/** Listings by folder. While a folder is unchanged, only its times are read again. */
const listings = new Map<string, Listing>()
const maxListings = 30_000

function specialFileProblem(root: string, left: { files: number }): string | undefined {
  const open = [root]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (left.files < filesPerFolder) return `${root} has too many files to check`
    const listing = listingOf(folder, root, left.files)
    if (typeof listing === 'string') return listing
    left.files -= filesPerFolder + listing.files
    for (const name of listing.folders) open.push(join(folder, name))
  }
  return undefined
}

function listingOf(folder: string, root: string, maxEntries: number): Listing | string {
  try {
    const stats = lstatSync(folder)
    if (!stats.isDirectory()) return `${folder} is not a folder`
    const stamp = `${stats.dev}:${stats.ino}:${stats.mtimeMs}:${stats.ctimeMs}`
    const known = listings.get(folder)
    if (known?.stamp === stamp) return known
    const { entries, isAll } = firstEntries(folder, maxEntries + 1)
    if (!isAll) return `${root} has too many files to check`
    const found = checkEntries(folder, relative(root, folder), entries)
    if (typeof found === 'string') return found
    const listing = { stamp, folders: found.folders, files: entries.length }
    if (found.isStable && isSettled(stats)) {
      if (listings.size >= maxListings) listings.clear()
      listings.set(folder, listing)
    }
    return listing
  } catch {
    // The folder was removed in the meantime, for example with a branch.
    return pathKind(folder) === 'missing' ? { stamp: '', folders: [], files: 0 } : `${folder} cannot be read`
  }
}

/** File times are coarse: another change right after this one may have the same time. */
function isSettled({ mtimeMs, ctimeMs }: Stats): boolean {
  return Date.now() - Math.max(mtimeMs, ctimeMs) > 3_000
}

function checkEntries(
  folder: string,
  place: string,
  entries: readonly Dirent[],
): { readonly folders: readonly string[]; readonly isStable: boolean } | string {
  // A clone on the same disk shares its objects with the original by hard links.
  const hasSharedFiles = /^(?:modules\/.+\/)?(?:lfs\/|annex\/)?objects(?:\/|$)/.test(place)
  const isHooks = /^(?:modules\/.+\/)?hooks$/.test(place)
  const placeInTree = place.replace(/^worktrees\/[^/]+(?:\/|$)/, '')
  const folders: string[] = []
  let isStable = true
  for (const entry of entries) {
    const path = join(folder, entry.name)
    // No string can name the entries of such a folder.
    if (entry.name.includes('\uFFFD')) return `${path} has a name that is not UTF-8`
    if (entry.isDirectory()) folders.push(entry.name)
    else if (entry.isFile()) {
      if (!hasSharedFiles && hasSecondName(path)) return `${path} has another name elsewhere (a hard link)`
    } else if (entry.isSymbolicLink()) {
      if (isHooks ? isProgram(path) : place === '' && entry.name === 'hooks' && holdsPrograms(path)) isStable = false
      else if (!isEditorLock(placeInTree, entry.name)) return `${path} is a link`
    } else if (placeInTree !== '' || entry.name !== 'fsmonitor--daemon.ipc') return `${path} is not a plain file`
  }
  return { folders, isStable }
}

/** A lock file may have been removed by now. */
function hasSecondName(path: string): boolean {
  return (lstatSync(path, { throwIfNoEntry: false })?.nlink ?? 1) > 1
}

/** Hooks are often links to scripts. git may read any file in this folder as a reference, but a program is not a secret. */
function isProgram(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && (stats.mode & 0o111) !== 0
}

/** The folder of hooks may be a link as a whole, for example to a folder of the project. */
function holdsPrograms(folder: string): boolean {
  if (!isDirectory(folder)) return false
  const { entries, isAll } = firstEntries(folder, 100)
  return isAll && entries.every(({ name }) => isProgram(join(folder, name)))
}

/** Emacs locks an edited message by creating a dangling link; git opens no file of that name. */
function isEditorLock(place: string, name: string): boolean {
  return (
    (place === '' || /^rebase-(?:merge|apply)$/.test(place)) && /^\.#(?:[A-Z_]+|git-rebase-todo|message)$/.test(name)
  )
}

/** Files that name other files for git. The named files must be in the expected places. */
function foreignNameProblem(gitFolder: string, commonFolder: string): string | undefined {
  const at = (name: string): string => join(commonFolder, name)
  for (const name of ['alternates', 'http-alternates'])
    if (pathKind(at(`objects/info/${name}`)) !== 'missing') return 'the repository uses objects of another repository'
  const worktrees = foldersOf(at('worktrees'))
  const strange = worktrees.find(
    (folder) => pathKind(join(folder, 'commondir')) !== 'missing' && commonFolderOf(folder) !== commonFolder,
  )
  if (strange !== undefined) return `${join(strange, 'commondir')} leads to another repository`
  const chains = [
    at('objects/info/commit-graphs/commit-graph-chain'),
    at('objects/pack/multi-pack-index.d/multi-pack-index-chain'),
  ]
  const tables = [commonFolder, gitFolder, ...worktrees].map((folder) => join(folder, 'reftable/tables.list'))
  const foreign =
    chains.find((file) => !allLinesMatch(file, /^(?:[\da-f]{40}|[\da-f]{64})$/)) ??
    tables.find((file) => !allLinesMatch(file, /^[\w-][\w.-]*$/)) ??
    packIndexes(commonFolder).find((file) => !namesOnlyPlainPacks(file))
  return foreign === undefined ? undefined : `${foreign} names files in other places, or cannot be read`
}

function foldersOf(folder: string): readonly string[] {
  return (listings.get(folder)?.folders ?? entriesOf(folder, (entry) => entry.isDirectory())).map((name) =>
    join(folder, name),
  )
}

function entriesOf(folder: string, fits: (entry: Dirent) => boolean): readonly string[] {
  try {
    return firstEntries(folder, maxFiles).entries.flatMap((entry) => (fits(entry) ? [entry.name] : []))
  } catch {
    return []
  }
}

/** git prints lines that it does not expect in such a file. */
function allLinesMatch(file: string, form: RegExp): boolean {
  const bytes = readSmallFile(file)
  if (typeof bytes === 'string') return bytes === 'missing'
  return bytes
    .toString('latin1')
    .split('\n')
    .every((line) => line === '' || form.test(line))
}

function packIndexes(commonFolder: string): readonly string[] {
  const folder = join(commonFolder, 'objects/pack/multi-pack-index.d')
  const layers = entriesOf(folder, ({ name }) => name.endsWith('.midx'))
  return [join(commonFolder, 'objects/pack/multi-pack-index'), ...layers.map((name) => join(folder, name))]
}

const maxNameBytes = 1_000_000

/** A multi-pack-index has a chunk with the names of its packs. git appends them to the path of their folder. */
function namesOnlyPlainPacks(file: string): boolean {
  const kind = pathKind(file)
  if (kind !== 'file') return kind === 'missing'
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const head = bytesAt(descriptor, 0, 12)
    const table = bytesAt(descriptor, 12, ((head[6] ?? 0) + 1) * 12)
    if (head.toString('latin1', 0, 4) !== 'MIDX') return false
    for (let at = 0; at + 24 <= table.length; at += 12) {
      if (table.toString('latin1', at, at + 4) !== 'PNAM') continue
      const [from, to] = [Number(table.readBigUInt64BE(at + 4)), Number(table.readBigUInt64BE(at + 16))]
      if (!(to - from <= maxNameBytes)) return false
      const names = bytesAt(descriptor, from, to - from)
        .toString('latin1')
        .split('\0')
      const count = head.readUInt32BE(8)
      // Padding follows the last name.
      if (names.length <= count || names.slice(0, count).some((name) => !/^[\w.-]+$/.test(name))) return false
    }
    return true
  } catch {
    return false
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function bytesAt(descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position))
}
