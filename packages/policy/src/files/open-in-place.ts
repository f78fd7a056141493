import { closeSync, constants, openSync, readlinkSync, type Stats } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { realPath } from '@halting/journal/files'
import { codeOf } from '@halting/core/adapters'
import { type Disk, diskOf, type OpenFile } from './disk.ts'

/** The path now leads to another file than when it was judged, because a link has replaced the file or a folder above it. */
export class PathMovedError extends Error {
  override readonly name = 'PathMovedError'
  readonly code = 'path_moved'

  constructor(path: string) {
    super(`${path} has become a link, or leads elsewhere, since the permission check. It was not opened.`)
  }
}

/** Nothing was written. The message explains why, for a model. */
export class NotWrittenError extends Error {
  override readonly name = 'NotWrittenError'
  readonly code = 'not_written'
}

/** An open folder: names in it are resolved in this folder, even if its path is replaced meanwhile. */
export interface PinnedFolder {
  /** The path of a name in the folder, valid in this process only. */
  pathOf(name: string): string
  /** Throws `PathMovedError` if the path leads elsewhere. Needed where the system cannot open a folder by descriptor. */
  check(): Promise<void>
  /** Closes the folder. */
  close(): Promise<void>
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
/** Linux only: opens a folder without read permission. Node does not export this constant. */
const O_PATH = 0o10000000

/** Whether `/proc/self/fd/N/name` names an entry of an open folder. */
const hasDescriptorPaths = process.platform === 'linux'

/**
 * Opens a folder by a real path, name by name and without following links. Creates missing folders with `makes`.
 * @throws PathMovedError, and ENOENT if it does not exist.
 */
export async function pinFolder(
  path: string,
  {
    makes = false,
  }: {
    /** Whether to create missing folders. Default: false. */
    readonly makes?: boolean
  } = {},
): Promise<PinnedFolder> {
  return hasDescriptorPaths ? pinByDescriptor(diskOf(path), path, makes) : checkByPath(path, makes)
}

async function pinByDescriptor(disk: Disk, path: string, makes: boolean): Promise<PinnedFolder> {
  let pinned = await disk.open('/', O_PATH | O_DIRECTORY)
  try {
    for (const name of path.split('/').filter(Boolean)) {
      const inner = await openPart(disk, pathInFolder(pinned, name), { path, makes })
      await pinned.close()
      pinned = inner
    }
  } catch (thrown) {
    await pinned.close()
    throw thrown
  }
  return { pathOf: (name) => pathInFolder(pinned, name), check: async () => undefined, close: () => pinned.close() }
}

function pathInFolder(folder: OpenFile, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`
}

async function openPart(
  disk: Disk,
  part: string,
  { path, makes }: { readonly path: string; readonly makes: boolean },
): Promise<OpenFile> {
  const openIt = (): Promise<OpenFile> => disk.open(part, O_PATH | O_DIRECTORY | O_NOFOLLOW)
  try {
    return await openIt()
  } catch (thrown) {
    if (codeOf(thrown) === 'ELOOP' || codeOf(thrown) === 'ENOTDIR')
      throw (await isLink(disk, part)) ? new PathMovedError(path) : errorNaming(thrown, path)
    if (codeOf(thrown) !== 'ENOENT' || !makes) throw errorNaming(thrown, path)
  }
  try {
    await disk.mkdir(part)
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw errorNaming(thrown, path)
  }
  return openIt().catch((thrown: unknown) => {
    throw codeOf(thrown) === 'ENOENT' ? errorNaming(thrown, path) : new PathMovedError(path)
  })
}

/**
 * Calls `use` with a path of the same file that contains no link, even if a link replaces a folder above it meanwhile. Returns undefined if the
 * folder does not exist, or if `use` returns undefined. Synchronous, for code that inspects many files.
 */
export function inFolderSync<T>(path: string, use: (at: string) => T): T | undefined {
  const folder = dirname(path)
  const opened: number[] = []
  try {
    if (!hasDescriptorPaths) {
      const found = realPath(folder) === folder ? use(path) : undefined
      return realPath(folder) === folder ? found : undefined
    }
    let pinned = openSync('/', O_PATH | O_DIRECTORY)
    opened.push(pinned)
    for (const name of folder.split('/').filter(Boolean)) {
      pinned = openSync(`/proc/self/fd/${pinned}/${name}`, O_PATH | O_DIRECTORY | O_NOFOLLOW)
      opened.push(pinned)
    }
    return use(`/proc/self/fd/${pinned}/${basename(path)}`)
  } catch (thrown) {
    // The folder was removed, or replaced by a link or a file.
    if (codeOf(thrown) === undefined) throw thrown
    return undefined
  } finally {
    for (const file of opened) closeSync(file)
  }
}

/** Whether an open file is the one at a real path, and was not reached through a link. */
export function isOpenAt(file: number, path: string): boolean {
  try {
    const opened = readlinkSync(`/proc/self/fd/${file}`)
    return opened === path || opened === `${path} (deleted)`
  } catch {
    return realPath(path) === path
  }
}

async function isLink(disk: Disk, path: string): Promise<boolean> {
  const stats = await disk.lstat(path).catch(() => undefined)
  return stats?.isSymbolicLink() === true
}

/** For systems without descriptor paths: compares the path before and after. */
async function checkByPath(path: string, makes: boolean): Promise<PinnedFolder> {
  const check = async (): Promise<void> => {
    if (realPath(path) !== path) throw new PathMovedError(path)
  }
  await check()
  if (makes) await mkdir(path, { recursive: true })
  const before = await lstat(path)
  return {
    pathOf: (name) => join(path, name),
    async check() {
      await check()
      const now = await lstat(path)
      if (now.ino !== before.ino || now.dev !== before.dev) throw new PathMovedError(path)
    },
    close: async () => undefined,
  }
}

/** An open regular file, or what exists there instead. */
export type OpenedInPlace =
  | {
      readonly kind: 'file'
      /** The open file. */
      readonly file: OpenFile
      /** The result of `fstat`. */
      readonly stats: Stats
    }
  | { readonly kind: 'folder' }
  | { readonly kind: 'special' }

/**
 * Opens a file for reading by a real path, without following a link. Does not open pipes and devices: that may block, or have an effect.
 * @throws PathMovedError, and errors of the system such as ENOENT.
 */
export async function openInPlace(path: string): Promise<OpenedInPlace> {
  const disk = diskOf(path)
  const folder = await (hasDescriptorPaths
    ? pinByDescriptor(disk, dirname(path), false)
    : checkByPath(dirname(path), false))
  try {
    return await openIn(disk, folder, path)
  } finally {
    await folder.close()
  }
}

async function openIn(disk: Disk, folder: PinnedFolder, path: string): Promise<OpenedInPlace> {
  const at = basename(path) === '' ? folder.pathOf('.') : folder.pathOf(basename(path))
  try {
    const before = await disk.lstat(at)
    if (before.isSymbolicLink()) throw new PathMovedError(path)
    if (before.isDirectory()) return { kind: 'folder' }
    if (!before.isFile()) return { kind: 'special' }
    const file = await disk.open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    return await checkedFile(file, folder, path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ELOOP') throw new PathMovedError(path)
    throw errorNaming(thrown, path)
  }
}

async function checkedFile(file: OpenFile, folder: PinnedFolder, path: string): Promise<OpenedInPlace> {
  try {
    const stats = await file.stat()
    await folder.check()
    if (stats.isFile()) {
      if (!hasDescriptorPaths) await checkSame(stats, path)
      return { kind: 'file', file, stats }
    }
  } catch (thrown) {
    await file.close()
    throw thrown
  }
  await file.close()
  return { kind: 'special' }
}

async function checkSame(opened: Stats, path: string): Promise<void> {
  const there = await lstat(path)
  if (there.ino !== opened.ino || there.dev !== opened.dev) throw new PathMovedError(path)
}

/** The error of the system with the path that the caller used instead of a descriptor path. */
export function errorNaming(thrown: unknown, path: string): unknown {
  if (thrown instanceof Error && !(thrown instanceof PathMovedError)) {
    thrown.message = thrown.message.replace(/'\/proc\/self\/fd\/\d+\/[^']*'/g, `'${path}'`)
  }
  return thrown
}
