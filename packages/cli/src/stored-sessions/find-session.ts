import { realpath, stat, readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve, relative } from 'node:path'
import {
  readSessionHead,
  readJournal,
  refreshSession,
  storedSessions,
  type ReadJournal,
  type StoredSessionFile,
} from '@halting/journal'
import { nearest } from '../flags/nearest.ts'
import { oneLine } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { asUsageError } from './as-usage-error.ts'
import { sessionScope } from '@halting/agent/session-settings'
import type { Dirent } from 'node:fs'
import { messageOf } from '@halting/core/adapters'

// All commands find sessions in the same way: by ID or its unique beginning, preferring this folder. Commands that only read also accept files.

/** Minimum length of an ID's beginning. */
const minLetters = 4

const extension = '.jsonl'

/** Finds a session by its ID or its unique beginning. @throws UsageError if none or several match */
export async function findSession(id: string, program: Program): Promise<StoredSessionFile> {
  const all = await sessionsToChooseFrom('all', program)
  const found = await findByIdPrefix(id, all, program)
  if (found !== undefined) return found
  const near = nearest(
    id.toLowerCase(),
    all.map(({ sessionId }) => sessionId),
    4,
  )
  throw new UsageError(
    `No conversation found with session ID: ${oneLine(id, 100)}.${near === undefined ? '' : ` Did you mean ${near}?`} List the sessions of this folder with halting sessions.`,
  )
}

function sessionsToChooseFrom(
  which: 'of this folder' | 'all',
  program: Program,
): Promise<readonly StoredSessionFile[]> {
  return storedSessions(sessionScope(program), which, 'to choose from')
}

/** Like `findSession`, but undefined if none matches. Refreshes its file from the session store. */
async function findByIdPrefix(
  id: string,
  all: readonly StoredSessionFile[],
  program: Program,
): Promise<StoredSessionFile | undefined> {
  const meant = await resolveIdPrefix(id, all, program)
  return meant === undefined ? undefined : refreshed(meant)
}

async function refreshed(file: StoredSessionFile): Promise<StoredSessionFile> {
  await refreshSession(file)
  return file
}

async function resolveIdPrefix(
  id: string,
  all: readonly StoredSessionFile[],
  program: Program,
): Promise<StoredSessionFile | undefined> {
  const lowerCaseId = id.toLowerCase()
  const exact = all.find(({ sessionId }) => sessionId.toLowerCase() === lowerCaseId)
  if (exact !== undefined) return exact
  const matching =
    lowerCaseId.length < minLetters ? [] : all.filter(({ sessionId }) => sessionId.startsWith(lowerCaseId))
  const own = new Set((await sessionsToChooseFrom('of this folder', program)).map(({ path }) => path))
  const matchingOwn = matching.filter(({ path }) => own.has(path))
  const meant = matchingOwn.length > 0 ? matchingOwn : matching
  if (meant.length < 2) return meant[0]
  const ids = meant.slice(0, 5).map(({ sessionId }) => sessionId)
  throw new UsageError(`${meant.length} sessions start with ${id}: ${ids.join(', ')}. Use one of these IDs.`)
}

/**
 * Finds a session file for reading: by path, as `findSession` does, among sessions of other programs, or the newest of
 * this folder.
 * @throws UsageError if none or several match
 */
export async function findSessionFile(given: string | undefined, command: string, program: Program): Promise<string> {
  if (given === undefined) {
    const [newest] = await sessionsToChooseFrom('of this folder', program)
    if (newest === undefined)
      throw new UsageError(`This folder has no sessions. Name one by its id or file: halting ${command} FILE.`)
    return (await refreshed(newest)).path
  }
  const path = resolve(program.cwd, given)
  if ((await stat(path).catch(() => undefined))?.isFile() === true) return path
  if (looksLikeFile(given)) throw new UsageError(`File not found: ${given}.`)
  const own = await findByIdPrefix(given, await sessionsToChooseFrom('all', program), program)
  if (own !== undefined) return own.path
  const { findForeignSession } = await import('../foreign/find-foreign.ts')
  return (await findForeignSession(given, program))?.path ?? (await findSession(given, program)).path
}

/** Whether a text names a file, not an ID: IDs contain no slash. */
function looksLikeFile(given: string): boolean {
  return /[/\\]|\.jsonl$/.test(given)
}

/**
 * Finds the files of all named sessions; a folder stands for all session files below it (default: the sessions of this
 * folder).
 * @throws UsageError for a name without a session
 */
export async function findSessionFiles(given: readonly string[], program: Program): Promise<readonly string[]> {
  if (given.length === 0) {
    const own = await storedSessions(sessionScope(program), 'of this folder')
    if (own.length === 0)
      throw new UsageError('This folder has no sessions. Name sessions, files, or a folder with session files.')
    return own.map(({ path }) => path)
  }
  const found = await Promise.all(
    given.map(async (name) => {
      const path = resolve(program.cwd, name)
      const stats = await stat(path).catch(() => undefined)
      if (stats === undefined && looksLikeFile(name)) throw new UsageError(`File or folder not found: ${name}.`)
      if (stats?.isDirectory() !== true) return [await findSessionFile(name, 'what-if', program)]
      const below = await filesBelow(path)
      const names = [...below].filter((each) => each.endsWith(extension) && !isChangeLog(each, below))
      if (names.length === 0) throw new UsageError(`No *${extension} files in ${name}.`)
      return names.toSorted().map((each) => join(path, each))
    }),
  )
  return withoutLinkedDuplicates(found.flat())
}

/** If a file has several paths because of links, keeps the shortest one. */
async function withoutLinkedDuplicates(paths: readonly string[]): Promise<readonly string[]> {
  const files = new Map<string, string>()
  const sorted = paths.toSorted((a, b) => a.length - b.length)
  for (const path of sorted) {
    const file = await realpath(path).catch((thrown: unknown) => (isLinkLoop(thrown) ? undefined : path))
    // A missing file is reported when it is read. A circular link is not a file.
    if (file !== undefined && !files.has(file)) files.set(file, path)
  }
  const shortest = new Set(files.values())
  return [...new Set(paths)].filter((path) => shortest.has(path))
}

function isLinkLoop(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ELOOP'
}

/** Whether the file is a session's log of file changes, which also consists of lines. */
function isChangeLog(name: string, below: ReadonlySet<string>): boolean {
  const session = dirname(dirname(name))
  return basename(dirname(name)) === 'files' && below.has(session + extension)
}

/** Reads a session file. @throws UsageError that says what is wrong with the file, and where */
export function readSession(path: string): Promise<ReadJournal> {
  return asUsageError(readJournal(path))
}

/** @throws UsageError if a session has this ID */
export async function refuseUsedId(sessionId: string, program: Program): Promise<void> {
  const all = await sessionsToChooseFrom('all', program)
  if (!all.some((file) => file.sessionId === sessionId)) return
  throw new UsageError(`The session ID ${sessionId} is already in use. Resume it: halting --resume ${sessionId}`)
}

/** The newest session of this folder. @throws UsageError if the folder has no sessions */
export async function newestSession(program: Program): Promise<StoredSessionFile> {
  const [newest] = await sessionsToChooseFrom('of this folder', program)
  if (newest !== undefined) return refreshed(newest)
  throw new UsageError('No conversation found to continue: this folder has no sessions. halting -p starts one.')
}

/** Finds a session of this folder. @throws UsageError that names its folder, or a similar ID */
export async function sessionOfThisFolder(id: string, program: Program): Promise<StoredSessionFile> {
  const file = await findSession(id, program)
  const [own] = (await sessionsToChooseFrom('of this folder', program)).filter(({ path }) => path === file.path)
  if (own !== undefined) return own
  const cwd = await folderOf(file)
  throw new UsageError(
    `The session ${file.sessionId} belongs to the folder ${cwd}. Resume it there: cd ${shellQuoted([cwd])} && halting --resume ${file.sessionId}`,
  )
}

/** The folder in the first line of the file. If that is damaged, reads the whole file, which reports the problem. */
async function folderOf({ path }: StoredSessionFile): Promise<string> {
  try {
    return readSessionHead(path).cwd
  } catch {
    return (await readSession(path)).cwd
  }
}

/**
 * Files below a folder, by relative path. Linked folders are skipped, since they may be circular or lead outside. Linked
 * files are included; pipes and devices are not, since reading them may block. Unreadable subfolders are skipped.
 * @throws UsageError if the folder itself cannot be read
 */
export async function filesBelow(folder: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await entriesOf(next, next === folder)
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (await isFile(entry, path)) found.add(relative(folder, path))
    }
  }
  return found
}

async function entriesOf(folder: string, isAskedFor: boolean): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (!isAskedFor) return []
    throw new UsageError(`The folder ${oneLine(folder, 200)} cannot be read: ${oneLine(messageOf(error), 200)}`)
  }
}

async function isFile(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return (await stat(path).catch(() => undefined))?.isFile() === true
}
