import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from './make-folder.ts'

// The name of a file is durable once its folder was synced.

/** A folder for the person alone. Its name outlives a power failure, and so do those of the folders above it that were missing. */
export async function makeDurableFolder(path: string): Promise<void> {
  const missing: string[] = []
  for (let each = path; !existsSync(each) && dirname(each) !== each; each = dirname(each)) missing.push(each)
  await makeFolder(path, 0o700)
  for (const each of missing) await syncFolder(dirname(each))
}

/** Where a file is while it is written. */
export function partOf(path: string): string {
  return `${path}.part`
}

/** Of which user and group a file is, and its mode. */
export interface FileRights {
  /** User, as `stat` has it. */
  readonly uid: number
  /** Group, as `stat` has it. */
  readonly gid: number
  /** Permission bits. */
  readonly mode: number
}

/**
 * A file in a folder that is there: it holds this, or is not there at all, also after a power failure. It is of this process, and nobody else reads it, unless
 * `rights` say otherwise: those of the file that it takes the place of.
 */
export async function writeWhole(path: string, content: string | Uint8Array, rights?: FileRights): Promise<void> {
  const part = partOf(path)
  // In a folder of a project somebody may have put a link there, which would be written through.
  await rm(part, { force: true })
  const file = await open(part, 'wx', 0o600)
  try {
    await file.writeFile(content)
    if (rights !== undefined) await setRights(file, rights)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(part, path)
  await syncFolder(dirname(path))
}

/** In this order: a change of the user takes bits of the mode away. */
async function setRights(file: FileHandle, { uid, gid, mode }: FileRights): Promise<void> {
  const own = await file.stat()
  if (own.uid !== uid) await file.chown(uid, gid)
  // Not everybody may give a file to this group.
  else if (own.gid !== gid) await file.chown(uid, gid).catch(() => {})
  await file.chmod(mode)
}

/** Removes such a file, and what a process that was killed in the middle of writing it left. */
export async function removeWhole(path: string): Promise<void> {
  await rm(path, { force: true })
  await removeDraft(path)
}

/** Removes what a process that was killed in the middle of writing this file left. */
export async function removeDraft(path: string): Promise<void> {
  await rm(partOf(path), { force: true })
}

/** Puts a file or a folder that is on disk in another place, of which the folder may be missing. That it is there outlives a power failure. */
export async function moveInto(from: string, to: string): Promise<void> {
  await makeDurableFolder(dirname(to))
  await rename(from, to)
  await syncFolder(dirname(to))
}

async function syncFolder(path: string): Promise<void> {
  // Some systems open no folders, and some file systems sync none.
  const folder = await open(path, 'r').catch(() => undefined)
  if (folder === undefined) return
  await folder.sync().catch(() => {})
  await folder.close()
}
