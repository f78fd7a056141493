import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, open, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { CallOf, FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { holdFolder, type InPlace, named, openInPlace, PathMovedError } from '../open-in-place.ts'
import { hashOf, type SeenFile, seenFile } from './file-state.ts'
import { codeOf } from './result.ts'
import { decodedText, encodedText, encodingOf, type TextEncoding } from './text-encoding.ts'

/** What stands at a path. */
export type LoadedFile =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'text'
      readonly text: string
      readonly hasMark: boolean
      readonly encoding: TextEncoding
      readonly seen: SeenFile
      readonly mode: number
      /** Names of it; beyond the first they are hard links. */
      readonly names: number
    }
  /** It is there and cannot be taken as text; says why. */
  | { readonly kind: 'not text'; readonly why: string; readonly seen: SeenFile; readonly mode: number }
  | { readonly kind: 'not a file'; readonly why: string }

/** Reads a whole file as UTF-8 or UTF-16, strictly: a byte that would not survive the way back makes it no text. */
export async function loadFile(path: string, largestBytes: number): Promise<LoadedFile> {
  const found = await openIfThere(path)
  if (found === undefined) return { kind: 'absent' }
  if (found.kind === 'folder') return { kind: 'not a file', why: 'is a directory' }
  if (found.kind === 'special') return { kind: 'not a file', why: 'is not a regular file' }
  try {
    return await loaded(found, largestBytes)
  } finally {
    await found.file.close()
  }
}

async function loaded(
  { file, stats }: Extract<InPlace, { readonly kind: 'file' }>,
  largestBytes: number,
): Promise<LoadedFile> {
  const { mode } = stats
  if (stats.size > largestBytes) {
    return { kind: 'not text', why: `is larger than ${largestBytes} bytes`, seen: seenFile(stats, undefined), mode }
  }
  const bytes = await file.readFile()
  const seen = seenFile(stats, hashOf(bytes))
  const decoded = decodedText(bytes)
  if (decoded !== undefined) return { kind: 'text', ...decoded, seen, mode, names: stats.nlink }
  return { kind: 'not text', why: `is not ${encodingOf(bytes) === 'utf-8' ? 'UTF-8' : 'UTF-16'} text`, seen, mode }
}

async function openIfThere(path: string): Promise<InPlace | undefined> {
  try {
    return await openInPlace(path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

export interface SaveOptions {
  readonly hasMark?: boolean
  /** UTF-8 when absent. */
  readonly encoding?: TextEncoding
  readonly mode?: number
  /** Who keeps what the file was, and for which call. */
  readonly keeping?: { readonly checkpoints: FileCheckpoints | undefined; readonly call: CallOf }
}

/**
 * Replaces a file in one step: whoever reads it sees the old bytes or the new ones, never a part. Makes missing folders,
 * keeps the mode. `path` must be a real path: renaming onto a link would replace the link.
 */
export async function saveFile(
  path: string,
  text: string,
  { hasMark = false, encoding = 'utf-8', mode, keeping }: SaveOptions = {},
): Promise<SeenFile> {
  const bytes = encodedText({ text, encoding, hasMark })
  const save = (): Promise<SeenFile> => replaceFile(path, bytes, mode)
  if (keeping?.checkpoints === undefined) return save()
  return keeping.checkpoints.around(keeping.call, path, { content: bytes, mode }, save)
}

const longestPath = 4000

/** In the folder that is at the path now, whatever comes to stand there meanwhile. */
async function replaceFile(path: string, bytes: Uint8Array, mode: number | undefined): Promise<SeenFile> {
  // Part by part it could be made, and nobody could open it by its path.
  if (Buffer.byteLength(path) > longestPath)
    throw Object.assign(new Error('the path is too long'), { code: 'ENAMETOOLONG' })
  const folder = await holdFolder(dirname(path), { makes: true })
  const name = basename(path)
  const temporary = folder.pathOf(`.${name.slice(0, 40)}.${randomUUID()}.tmp`)
  try {
    const stats = await written(temporary, bytes, mode)
    await folder.check()
    // What is a link by now was none when it was judged. A rename would replace it and write nothing through it.
    const there = await lstat(folder.pathOf(name)).catch(() => undefined)
    if (there?.isSymbolicLink() === true) throw new PathMovedError(path)
    await rename(temporary, folder.pathOf(name))
    return seenFile(stats, hashOf(bytes))
  } catch (thrown) {
    await rm(temporary, { force: true })
    throw named(thrown, path)
  } finally {
    await folder.close()
  }
}

async function written(path: string, bytes: Uint8Array, mode: number | undefined): Promise<Stats> {
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o666)
  try {
    await file.writeFile(bytes)
    // Creation is subject to the umask; an existing mode is not.
    if (mode !== undefined) await file.chmod(mode & 0o7777)
    await file.sync()
    return await file.stat()
  } finally {
    await file.close()
  }
}
