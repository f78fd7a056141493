import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { CallOf, FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { makeFolder } from '../make-folder.ts'
import { hashOf, type SeenFile, seenFile } from './file-state.ts'
import { codeOf } from './result.ts'

/** What stands at a path. */
export type LoadedFile =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'text'
      readonly text: string
      readonly hasMark: boolean
      readonly seen: SeenFile
      readonly mode: number
    }
  /** It is there and cannot be taken as text; says why. */
  | { readonly kind: 'not text'; readonly why: string; readonly seen: SeenFile; readonly mode: number }
  | { readonly kind: 'not a file'; readonly why: string }

const byteOrderMark = '\uFEFF'

/** Reads a whole file as UTF-8, strictly: a byte that would not survive the way back makes it no text. */
export async function loadFile(path: string, largestBytes: number): Promise<LoadedFile> {
  const stats = await statIfThere(path)
  if (stats === undefined) return { kind: 'absent' }
  if (stats.isDirectory()) return { kind: 'not a file', why: 'is a directory' }
  if (!stats.isFile()) return { kind: 'not a file', why: 'is not a regular file' }
  const { mode } = stats
  if (stats.size > largestBytes) {
    return { kind: 'not text', why: `is larger than ${largestBytes} bytes`, seen: seenFile(stats, undefined), mode }
  }
  const bytes = await readFile(path)
  const seen = seenFile(stats, hashOf(bytes))
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const hasMark = text.startsWith(byteOrderMark)
    return { kind: 'text', text: hasMark ? text.slice(1) : text, hasMark, seen, mode }
  } catch {
    return { kind: 'not text', why: 'is not UTF-8 text', seen, mode }
  }
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

export interface SaveOptions {
  readonly hasMark?: boolean
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
  { hasMark = false, mode, keeping }: SaveOptions = {},
): Promise<SeenFile> {
  const bytes = Buffer.from(hasMark ? byteOrderMark + text : text, 'utf8')
  const save = (): Promise<SeenFile> => replaceFile(path, bytes, mode)
  if (keeping?.checkpoints === undefined) return save()
  return keeping.checkpoints.around(keeping.call, path, { content: bytes, mode }, save)
}

async function replaceFile(path: string, bytes: Uint8Array, mode: number | undefined): Promise<SeenFile> {
  await makeFolder(dirname(path))
  const temporary = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID()}.tmp`)
  const file = await open(temporary, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o666)
  try {
    try {
      await file.writeFile(bytes)
      // Creation is subject to the umask; an existing mode is not.
      if (mode !== undefined) await file.chmod(mode & 0o7777)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (thrown) {
    await rm(temporary, { force: true })
    throw thrown
  }
  return seenFile(await stat(path), hashOf(bytes))
}
