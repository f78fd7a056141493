import { statSync, type Stats } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { codeOf, messageOf } from '@halting/core/adapters'
import { checkObject, checkText } from '../check-input.ts'
import { holderOf } from '../files/lock.ts'
import { type CopiedSession, workingCopiesIn, workingCopiesOf } from '../stores/working-copies.ts'
import { forgetGrades, gradesFileBeside } from './grades.ts'
import { forgetIndexed, type ListedFile } from './session-index.ts'
import { isSessionOfFolder, sessionsOf, type SessionPlace } from './session-folder.ts'

/** The file of a stored session. */
export interface StoredSessionFile {
  /** Id of the session. */
  readonly sessionId: string
  /** Path of the file. */
  readonly path: string
  /** Name of the folder for its working directory. */
  readonly project: string
  /** When the file was last written. */
  readonly changedAt: Date
}

const extension = '.jsonl'
const lockExtension = `${extension}.lock`

const listedDetails = new WeakMap<StoredSessionFile, ListedFile>()

/**
 * Details of the file when `storedSessions` listed it; undefined if it did not check the file. Checking thousands of
 * files again would take a third of the list's time.
 */
export function listedFile(file: StoredSessionFile): ListedFile | undefined {
  return listedDetails.get(file)
}

/**
 * Lists the stored sessions of this folder, or of all, newest first. `to choose from`: for sessions in a store, files
 * may be missing or outdated until `refreshSession` updates the selected one.
 * @throws ConfigurationError for an invalid place.
 * @throws HaltingError `driver` if their store cannot be read.
 */
export async function storedSessions(
  place: Omit<SessionPlace, 'sessionId'>,
  which: 'of this folder' | 'all',
  how: 'to read' | 'to choose from' = 'to read',
): Promise<readonly StoredSessionFile[]> {
  checkObject('storedSessions', place, '{ cwd, home, env }')
  checkText('cwd', place.cwd)
  checkText('home', place.home)
  checkObject('env of storedSessions', place.env, 'process.env')
  const copies = workingCopiesIn(sessionsOf(place).base)
  const cwd = which === 'all' ? undefined : place.cwd
  if (copies !== undefined && how === 'to choose from') return (await copies.files(cwd)).map(withProject)
  await copies?.refresh(cwd)
  const files = which === 'all' ? await allFiles(place) : await ownFiles(place)
  return files.toSorted((a, b) => b.changedAt.getTime() - a.changedAt.getTime())
}

function withProject(file: CopiedSession): StoredSessionFile {
  return { ...file, project: basename(dirname(file.path)) }
}

/**
 * Updates the file of a session, if it is a copy from a store. @throws HaltingError `driver` if the store cannot be
 * read.
 */
export async function refreshSession({
  path,
  sessionId,
}: Pick<StoredSessionFile, 'path' | 'sessionId'>): Promise<void> {
  await workingCopiesOf(path)?.refreshOne(path, sessionId)
}

async function allFiles(place: Omit<SessionPlace, 'sessionId'>): Promise<readonly StoredSessionFile[]> {
  const { base } = sessionsOf(place)
  const files = await Promise.all((await namesIn(base)).map((project) => filesOf(base, project)))
  return files.flat()
}

async function ownFiles(place: Omit<SessionPlace, 'sessionId'>): Promise<readonly StoredSessionFile[]> {
  const { base, own, unhashed } = sessionsOf(place)
  const files = await filesOf(base, own)
  if (unhashed === undefined) return files
  const ids = new Set(files.map(({ sessionId }) => sessionId))
  const before = await filesOf(base, unhashed)
  return [
    ...files,
    ...before.filter(({ sessionId, path }) => !ids.has(sessionId) && isSessionOfFolder(path, place.cwd)),
  ]
}

async function filesOf(base: string, project: string): Promise<readonly StoredSessionFile[]> {
  // Without an id, the folder would be the one that contains all sessions.
  const folder = join(base, project)
  const asOf = Date.now()
  const names = await namesIn(folder)
  const locks = new Set(names.filter((name) => name.endsWith(lockExtension)))
  const files: StoredSessionFile[] = []
  for (const name of names) {
    if (!name.endsWith(extension) || name === extension) continue
    const path = `${folder}${sep}${name}`
    const stats = statsOf(path)
    // Opening a pipe would block.
    if (stats === undefined || stats.isFIFO()) continue
    const file = { sessionId: name.slice(0, -extension.length), path, project, changedAt: stats.mtime }
    listedDetails.set(file, { stats, asOf, isLocked: locks.has(`${name}.lock`) })
    files.push(file)
  }
  return files
}

/**
 * Returns undefined if it is missing or inaccessible. Synchronous, because for thousands of files promises take longer
 * than the system.
 */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Returns an empty list if the folder is missing, or is a file. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/**
 * Removes a session, its files, and its grades unless a copy remains in another folder of sessions. @throws Error if a
 * process writes it.
 */
export async function deleteSession({ path, sessionId }: StoredSessionFile): Promise<void> {
  const holder = await holderOf(`${path}.lock`)
  if (holder !== undefined)
    throw new Error(
      `The session ${sessionId} is in use by process ${holder.pid} on ${holder.host}. Close it there first.`,
    )
  await workingCopiesOf(path)?.remove(sessionId)
  await rm(path)
  await rm(path.slice(0, -extension.length), { recursive: true, force: true })
  await rm(`${path}.lock`, { force: true })
  forgetIndexed(dirname(path), (id) => id === sessionId)
  await removeGrades(path, sessionId)
}

/**
 * Deletes the grades of a session after the session was removed.
 * @throws Error that says that the session is deleted and its grades are not.
 */
async function removeGrades(path: string, sessionId: string): Promise<void> {
  const file = gradesFileBeside(dirname(dirname(path)))
  if (file === undefined || (await hasCopy(dirname(file), basename(path)).catch(() => false))) return
  await forgetGrades(file, new Set([sessionId])).catch((error: unknown) => {
    throw new Error(`The session ${sessionId} is deleted, and its grades are not: ${messageOf(error)}`)
  })
}

/** Whether a session with this name remains: sessions copied to or from a store have the same id in both. */
async function hasCopy(folder: string, name: string): Promise<boolean> {
  const stores = await namesIn(join(folder, 'stores'))
  for (const base of [folder, ...stores.map((store) => join(folder, 'stores', store))].map((each) =>
    join(each, 'projects'),
  ))
    for (const project of await namesIn(base))
      if ((await stat(join(base, project, name)).catch(() => undefined))?.isFile() === true) return true
  return false
}

/** Removes a session without any content, after its journal was closed. */
export async function discardSession({
  path,
  sessionId,
}: Pick<StoredSessionFile, 'path' | 'sessionId'>): Promise<void> {
  await workingCopiesOf(path)?.remove(sessionId)
  await rm(path, { force: true })
}
