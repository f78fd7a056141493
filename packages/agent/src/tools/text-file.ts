import { codeOf } from '@halting/core/adapters'
import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { ChangingCall, FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import {
  type Disk,
  diskOf,
  type PinnedFolder,
  pinFolder,
  type OpenedInPlace,
  errorNaming,
  NotWrittenError,
  openInPlace,
  PathMovedError,
} from '@halting/policy/files'
import { ambiguousEncoding, changedMeanwhile } from './change-texts.ts'
import { type AskedEditor, isSameText, unsavedText, writtenByEditor } from './editor-files.ts'
import { hashOf, type SeenFile, seenFile } from './file-state.ts'
import { readAtMost } from './read-at-most.ts'
import { copyRights } from './copy-rights.ts'
import { decodedText, encodedText, encodingOf, nameOfEncoding, type TextEncoding } from './text-encoding.ts'

/** What is at a path. */
export type LoadedFile =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'text'
      readonly text: string
      readonly hasMark: boolean
      readonly encoding: TextEncoding
      readonly seen: SeenFile
      readonly stats: Stats
      /** Number of names of the file; more than one are hard links. */
      readonly names: number
    }
  /** The file exists but cannot be read as text. */
  | { readonly kind: 'not text'; readonly why: NotText; readonly seen: SeenFile; readonly stats: Stats }
  | { readonly kind: 'not a file'; readonly what: 'directory' | 'special' }

/** The file is too large, or not valid in its apparent encoding. */
type NotText = { readonly moreBytesThan: number } | 'UTF-8' | 'UTF-16'

/**
 * Reads a whole file as UTF-8 or UTF-16, strictly: it is not text if a byte would change when written back. Unsaved
 * text of the editor replaces what is on disk.
 */
export async function loadFile(path: string, largestBytes: number, editor?: AskedEditor): Promise<LoadedFile> {
  const found = await openIfThere(path)
  if (found === undefined) return { kind: 'absent' }
  if (found.kind === 'folder') return { kind: 'not a file', what: 'directory' }
  if (found.kind === 'special') return { kind: 'not a file', what: 'special' }
  try {
    const file = await loaded(found, largestBytes)
    return editor === undefined || file.kind !== 'text' ? file : await asInEditor(path, file, largestBytes, editor)
  } finally {
    await found.file.close()
  }
}

async function asInEditor(
  path: string,
  file: Extract<LoadedFile, { readonly kind: 'text' }>,
  largestBytes: number,
  editor: AskedEditor,
): Promise<LoadedFile> {
  const text = await unsavedText(path, file.text, editor, largestBytes)
  if (text === undefined) return file
  return { ...file, text, seen: seenFile(file.stats, hashOf(encodedText({ ...file, text }))) }
}

async function loaded(
  { file, stats }: Extract<OpenedInPlace, { readonly kind: 'file' }>,
  largestBytes: number,
): Promise<LoadedFile> {
  const bytes = stats.size > largestBytes ? undefined : await readAtMost(file, stats.size, largestBytes)
  if (bytes === undefined) {
    const why = { moreBytesThan: largestBytes }
    return { kind: 'not text', why, seen: seenFile(stats, undefined), stats }
  }
  const seen = seenFile(stats, hashOf(bytes))
  const decoded = decodedText(bytes)
  if (decoded !== undefined) return { kind: 'text', ...decoded, seen, stats, names: stats.nlink }
  return { kind: 'not text', why: encodingOf(bytes) === 'utf-8' ? 'UTF-8' : 'UTF-16', seen, stats }
}

async function openIfThere(path: string): Promise<OpenedInPlace | undefined> {
  try {
    return await openInPlace(path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

export interface SaveOptions {
  readonly hasMark?: boolean
  /** The encoding (default: UTF-8). */
  readonly encoding?: TextEncoding
  /** The file to replace, in the state in which it was read. If absent, no file may exist at the path. */
  readonly over?: Stats
  /** The file whose owner and mode are copied (default: `over`). */
  readonly rightsOf?: Stats
  /** Stores the former content, with the call that changes it. */
  readonly keeping?: { readonly checkpoints: FileCheckpoints | undefined; readonly call: ChangingCall }
  /** The editor that may write the file. */
  readonly editor?: AskedEditor | undefined
}

/**
 * Replaces a file in one step: readers see the old bytes or the new ones, never a mixture. Creates missing folders,
 * and preserves owner and mode. `path` must be a real path: renaming onto a link would replace the link.
 * @throws NotWrittenError if the file has changed meanwhile, or if the text would not be read back unchanged.
 */
export async function saveFile(
  path: string,
  text: string,
  { hasMark = false, encoding = 'utf-8', over, rightsOf = over, keeping, editor }: SaveOptions = {},
): Promise<SeenFile> {
  const bytes = encodedText({ text, encoding, hasMark })
  // Without a byte order mark, only its zeros show the encoding.
  if (encoding !== 'utf-8' && encodingOf(bytes) !== encoding)
    throw new NotWrittenError(ambiguousEncoding(path, nameOfEncoding(encoding)))
  const save = async (): Promise<SeenFile> =>
    (editor === undefined ? undefined : await throughEditor(path, { text, bytes, over, editor })) ??
    (await replaceFile(path, bytes, { over, rightsOf }))
  if (keeping?.checkpoints === undefined) return save()
  return keeping.checkpoints.around(keeping.call, path, { content: bytes, mode: rightsOf?.mode }, save)
}

interface EditorWrite {
  readonly text: string
  readonly bytes: Uint8Array
  readonly over: Stats | undefined
  readonly editor: AskedEditor
}

/**
 * Writes through the editor, in the folder that was judged, as far as this can be verified for another program.
 * Undefined if the editor does not write the file.
 */
async function throughEditor(path: string, { text, bytes, over, editor }: EditorWrite): Promise<SeenFile | undefined> {
  if (editor.files.write === undefined) return undefined
  const disk = diskOf(path)
  const folder = await pinFolder(dirname(path), { makes: true })
  try {
    await folder.check()
    await checkUnchanged(disk, folder, { path, over })
  } catch (thrown) {
    throw errorNaming(thrown, path)
  } finally {
    await folder.close()
  }
  if (!(await writtenByEditor(path, text, editor))) return undefined
  // The editor claimed to have written the file, but did not.
  if (over !== undefined && isSameFile(await disk.lstat(path).catch(() => undefined), over)) return undefined
  const now = await loadFile(path, Infinity, editor)
  // The editor claimed to have saved the file, but has it only in memory: the code below writes it to disk.
  if (now.kind !== 'text') return undefined
  // If the editor formatted the text on saving, the model has to read it again.
  return isSameText(now.text, text) ? now.seen : seenFile(now.stats, hashOf(bytes))
}

const longestPath = 4000

/** Writes in the folder that is now at the path, whatever replaces it meanwhile. */
async function replaceFile(
  path: string,
  bytes: Uint8Array,
  { over, rightsOf }: { readonly over: Stats | undefined; readonly rightsOf: Stats | undefined },
): Promise<SeenFile> {
  // The path could be created piece by piece, but no program could open the file by its path.
  if (Buffer.byteLength(path) > longestPath)
    throw Object.assign(new Error('the path is too long'), { code: 'ENAMETOOLONG' })
  const disk = diskOf(path)
  const folder = await pinFolder(dirname(path), { makes: true })
  const name = basename(path)
  const temporary = folder.pathOf(`.${name.slice(0, 40)}.${randomUUID()}.tmp`)
  try {
    const stats = await writeChecked(disk, temporary, { bytes, rightsOf })
    await folder.check()
    await checkUnchanged(disk, folder, { path, over })
    await disk.rename(temporary, folder.pathOf(name))
    return seenFile(stats, hashOf(bytes))
  } catch (thrown) {
    await disk.rm(temporary, { force: true })
    throw errorNaming(thrown, path)
  } finally {
    await folder.close()
  }
}

/**
 * Deletes the file at a real path, in the folder that is there now.
 * @throws NotWrittenError if it is not the file that was read
 */
export async function removeFile(
  path: string,
  { over, keeping }: { readonly over: Stats; readonly keeping?: SaveOptions['keeping'] },
): Promise<void> {
  const remove = async (): Promise<void> => {
    const disk = diskOf(path)
    const folder = await pinFolder(dirname(path), { makes: false })
    try {
      await folder.check()
      await checkUnchanged(disk, folder, { path, over })
      await disk.rm(folder.pathOf(basename(path)))
    } catch (thrown) {
      throw errorNaming(thrown, path)
    } finally {
      await folder.close()
    }
  }
  if (keeping?.checkpoints === undefined) return remove()
  return keeping.checkpoints.around(keeping.call, path, 'deleted', remove)
}

/** Checks the file immediately before it is replaced: writing takes time, and other programs write too. */
async function checkUnchanged(
  disk: Disk,
  folder: PinnedFolder,
  { path, over }: { readonly path: string; readonly over: Stats | undefined },
): Promise<void> {
  const there = await disk.lstat(folder.pathOf(basename(path))).catch(() => undefined)
  // The path was not a link when it was judged. A rename would replace the link and write nothing through it.
  if (there?.isSymbolicLink() === true) throw new PathMovedError(path)
  if (!isSameFile(there, over)) throw new NotWrittenError(changedMeanwhile(path))
}

/** Whether the file is unchanged, as far as its stamps show. */
function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.ino === other?.ino && one?.mtimeMs === other?.mtimeMs && one?.size === other?.size
}

async function writeChecked(
  disk: Disk,
  path: string,
  { bytes, rightsOf }: { readonly bytes: Uint8Array; readonly rightsOf: Stats | undefined },
): Promise<Stats> {
  const file = await disk.open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o666)
  try {
    await file.writeFile(bytes)
    // Creation is subject to the umask; an existing mode is not.
    if (rightsOf !== undefined) await copyRights(file, rightsOf)
    await file.sync()
    return await file.stat()
  } finally {
    await file.close()
  }
}
