import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from './make-folder.ts'

// A file name is durable once its folder is synced.

/** Creates a private folder. Its name survives a power failure, and so do those of parent folders that were missing. */
export async function makeDurableFolder(path: string): Promise<void> {
  const missing: string[] = []
  for (let each = path; !existsSync(each) && dirname(each) !== each; each = dirname(each)) missing.push(each)
  await makeFolder(path, 0o700)
  for (const each of missing) await syncFolder(dirname(each))
}

/** Returns the path of a file while it is being written. */
export function partOf(path: string): string {
  return `${path}.part`
}

/** User, group and mode of a file. */
export interface FileRights {
  /** User id, as in `stat`. */
  readonly uid: number
  /** Group id, as in `stat`. */
  readonly gid: number
  /** Permission bits. */
  readonly mode: number
}

/**
 * Writes a file in an existing folder atomically: it has this content or does not exist, even after a power failure. It
 * is private to this user, unless `rights` set those of the file that it replaces.
 */
export async function writeWhole(path: string, content: string | Uint8Array, rights?: FileRights): Promise<void> {
  const part = partOf(path)
  // Somebody may have created a link here in a project folder, which would be followed.
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

/** The order is required, because changing the user removes mode bits. */
async function setRights(file: FileHandle, { uid, gid, mode }: FileRights): Promise<void> {
  const own = await file.stat()
  if (own.uid !== uid) await file.chown(uid, gid)
  // Not every user may assign this group.
  else if (own.gid !== gid) await file.chown(uid, gid).catch(() => {})
  await file.chmod(mode)
}

/** Removes such a file, and an incomplete draft of a killed process. */
export async function removeWhole(path: string): Promise<void> {
  await rm(path, { force: true })
  await removeDraft(path)
}

/** Removes an incomplete file of a killed process. */
export async function removeDraft(path: string): Promise<void> {
  await rm(partOf(path), { force: true })
}

/** Moves a file or a folder, and creates the target folder if missing. The result survives a power failure. */
export async function moveInto(from: string, to: string): Promise<void> {
  await makeDurableFolder(dirname(to))
  await rename(from, to)
  await syncFolder(dirname(to))
}

async function syncFolder(path: string): Promise<void> {
  // Some systems cannot open folders, and some file systems cannot sync them.
  const folder = await open(path, 'r').catch(() => undefined)
  if (folder === undefined) return
  await folder.sync().catch(() => {})
  await folder.close()
}
