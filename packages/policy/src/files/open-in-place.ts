import { closeSync, constants, openSync, readlinkSync, type Stats } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { realPath } from '@halting/journal/files'
import { codeOf } from '@halting/core/adapters'
import { type Disk, diskOf, type OpenFile } from './disk.ts'

/** A path leads elsewhere than it did when it was judged: a link was put in the place of a folder or a file of it. */
export class PathMovedError extends Error {
  override readonly name = 'PathMovedError'
  readonly code = 'path_moved'

  constructor(path: string) {
    super(`${path} has become a link, or leads elsewhere, since the permission check. It was not opened.`)
  }
}

/** Nothing was written: the message says why, in words for a model. */
export class NotWrittenError extends Error {
  override readonly name = 'NotWrittenError'
  readonly code = 'not_written'
}

/** A folder that is held open: names in it are opened in this folder, whatever stands at its path by now. */
export interface PinnedFolder {
  /** The path of a name in it, for this process alone. */
  pathOf(name: string): string
  /** Throws `PathMovedError` where nothing better than a look at the path can be had, and it leads elsewhere. */
  check(): Promise<void>
  /** Closes the folder. */
  close(): Promise<void>
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
/** Of Linux: a folder is held without being read, so that it need not be readable. Node has no name for it. */
const O_PATH = 0o10000000

/** Whether `/proc/self/fd/N/name` is a name in a held folder. */
const hasDescriptorPaths = process.platform === 'linux'

/**
 * Opens a folder by a real path, part by part and without following a link. Missing folders are made with `makes`.
 * @throws PathMovedError, and ENOENT where it is not there.
 */
export async function pinFolder(
  path: string,
  {
    makes = false,
  }: {
    /** Make folders that are missing. Default: false. */
    readonly makes?: boolean
  } = {},
): Promise<PinnedFolder> {
  return hasDescriptorPaths ? pinByDescriptor(diskOf(path), path, makes) : checkByPath(path, makes)
}

async function pinByDescriptor(disk: Disk, path: string, makes: boolean): Promise<PinnedFolder> {
  let held = await disk.open('/', O_PATH | O_DIRECTORY)
  try {
    for (const name of path.split('/').filter(Boolean)) {
      const inner = await openPart(disk, pathInFolder(held, name), { path, makes })
      await held.close()
      held = inner
    }
  } catch (thrown) {
    await held.close()
    throw thrown
  }
  return { pathOf: (name) => pathInFolder(held, name), check: async () => undefined, close: () => held.close() }
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
 * Calls `use` with a path of the same file that leads through no link, also if one comes in the place of a folder above meanwhile. Undefined where there is
 * no such folder, or `use` finds nothing. At once, for what looks at many files.
 */
export function inFolderSync<T>(path: string, use: (at: string) => T): T | undefined {
  const folder = dirname(path)
  const opened: number[] = []
  try {
    if (!hasDescriptorPaths) {
      const found = realPath(folder) === folder ? use(path) : undefined
      return realPath(folder) === folder ? found : undefined
    }
    let held = openSync('/', O_PATH | O_DIRECTORY)
    opened.push(held)
    for (const name of folder.split('/').filter(Boolean)) {
      held = openSync(`/proc/self/fd/${held}/${name}`, O_PATH | O_DIRECTORY | O_NOFOLLOW)
      opened.push(held)
    }
    return use(`/proc/self/fd/${held}/${basename(path)}`)
  } catch (thrown) {
    // It has gone, or is a link or a file by now.
    if (codeOf(thrown) === undefined) throw thrown
    return undefined
  } finally {
    for (const file of opened) closeSync(file)
  }
}

/** Whether an open file is the one at a real path: none that was reached through a link in the place of a folder above. */
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

/** Where a folder cannot be held: the path is looked at before and after. */
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

/** A regular file that is open, or what stands there instead. */
export type OpenedInPlace =
  | {
      readonly kind: 'file'
      /** The open file. */
      readonly file: OpenFile
      /** What `fstat` says of it. */
      readonly stats: Stats
    }
  | { readonly kind: 'folder' }
  | { readonly kind: 'special' }

/**
 * Opens a file for reading by a real path, without following a link. A pipe or device is not opened: that may wait for
 * ever, or do something.
 * @throws PathMovedError, and what the system says, such as ENOENT.
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

/** The system's error with the path as the caller knows it, and not by a descriptor. */
export function errorNaming(thrown: unknown, path: string): unknown {
  if (thrown instanceof Error && !(thrown instanceof PathMovedError)) {
    thrown.message = thrown.message.replace(/'\/proc\/self\/fd\/\d+\/[^']*'/g, `'${path}'`)
  }
  return thrown
}
