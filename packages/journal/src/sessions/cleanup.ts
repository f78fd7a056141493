import type { Stats } from 'node:fs'
import { lstat, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openRegular } from '../files/regular-file.ts'
import { holderOf, takeLock } from '../files/lock.ts'
import { workingCopiesIn } from '../stores/working-copies.ts'
import { forgetGrades, gradesFile } from './grades.ts'
import { forgetIndexed, indexName } from './session-index.ts'
import { sessionsOf, type SessionPlace } from './session-folder.ts'

// Removes sessions that were not used for a long time. Unknown files are preserved, and no link is followed. The
// session file is removed before its folder. So an interrupted cleanup leaves folders without a session, which the next
// one removes, but no session without its folder. Project folders remain, because a session may be about to be created
// in them.

/** Options of `cleanUpSessions`. */
export interface CleanUpOptions {
  /** Sessions unused for this many days are removed. */
  readonly days: number
  /** Time from which days are counted (default: now). */
  readonly now?: Date
}

/** The result of a cleanup. */
export interface CleanedUp {
  /** Number of removed sessions. */
  readonly sessions: number
}

const dayMs = 24 * 60 * 60 * 1_000
const extension = '.jsonl'
/** Age of stale drafts of dead processes: writing never takes an hour. */
const draftMs = 60 * 60 * 1_000

/** Whether a day has passed since the last cleanup; checks only one file. */
export async function isCleanUpDue(place: Omit<SessionPlace, 'sessionId'>, now: Date = new Date()): Promise<boolean> {
  const { base } = sessionsOf(place)
  const [folder, stamp] = [await stateOf(base, 'follow'), await stateOf(stampOf(base))]
  if (folder?.isDirectory() !== true) return false
  return stamp === undefined || Math.abs(now.getTime() - stamp.mtimeMs) >= dayMs
}

/**
 * Removes old sessions in all folders. Files that cannot be removed are skipped.
 * @throws HaltingError `driver` if the store of the sessions cannot be reached.
 */
export async function cleanUpSessions(
  place: Omit<SessionPlace, 'sessionId'>,
  { days, now = new Date() }: CleanUpOptions,
): Promise<CleanedUp> {
  const { base } = sessionsOf(place)
  const before = now.getTime() - days * dayMs
  const last = await stateOf(stampOf(base))
  const [held, isHeld] = [join(base, '.cleanup-held'), (await stateOf(join(base, '.cleanup-held'))) !== undefined]
  if (last !== undefined && last.mtimeMs < before && !isHeld) {
    // No cleanup ran for that long, or the clock jumped, so every session would count as old. The sessions are removed at the next cleanup.
    await touchStamp(held, now)
    await touchStamp(stampOf(base), now)
    return { sessions: 0 }
  }
  await rm(held, { force: true }).catch(() => {})
  const inStore = await removedFromStore(base, new Date(before))
  const removed: string[] = []
  const remainingAnywhere = new Set<string>()
  for (const project of await namesIn(base)) {
    const folder = join(base, project)
    if ((await stateOf(folder))?.isDirectory() !== true) continue
    const names = await namesIn(folder)
    const remaining = new Set<string>()
    // Without an id, the folder would be the one that contains all sessions.
    for (const name of names.filter((each) => each.endsWith(extension) && each !== extension)) {
      const id = name.slice(0, -extension.length)
      if (await wasRemoved(join(folder, id), before)) removed.push(id)
      else remaining.add(id)
    }
    for (const id of remaining) remainingAnywhere.add(id)
    // Includes sessions that a store, or another program, has removed.
    if (names.includes(indexName)) forgetIndexed(folder, (id) => !remaining.has(id))
    for (const name of names)
      if (!name.includes('.') && !remaining.has(name)) await removeLeftover(join(folder, name), before)
    for (const name of await namesIn(folder)) await removeDrafts(folder, name, now.getTime() - draftMs)
  }
  // Files of sessions in a store are copies. A session with a file in another folder still exists.
  const removedIds = inStore?.ids ?? new Set(removed.filter((id) => !remainingAnywhere.has(id)))
  await forgetGrades(gradesFile(place), removedIds).catch(() => {})
  // The mark is written last, so that an interrupted cleanup is repeated. Concurrent cleanups do not interfere.
  await touchStamp(stampOf(base), now)
  return { sessions: inStore?.count ?? removed.length }
}

/** Returns undefined if the sessions are files. */
async function removedFromStore(
  base: string,
  before: Date,
): Promise<{ readonly count: number; readonly ids: ReadonlySet<string> } | undefined> {
  const copies = workingCopiesIn(base)
  if (copies === undefined) return undefined
  const there = await copies.files()
  const count = await copies.removeOlderThan(before)
  if (count === 0) return { count, ids: new Set() }
  const remaining = new Set((await copies.files()).map(({ sessionId }) => sessionId))
  return { count, ids: new Set(there.map(({ sessionId }) => sessionId).filter((id) => !remaining.has(id))) }
}

async function touchStamp(stamp: string, now: Date): Promise<void> {
  await writeFile(stamp, '', { flag: 'a', mode: 0o600 }).then(
    () => utimes(stamp, now, now),
    () => {},
  )
}

function stampOf(base: string): string {
  return join(base, '.last-cleanup')
}

/** `path` is that of the session without its extension. */
async function wasRemoved(path: string, before: number): Promise<boolean> {
  const file = `${path}${extension}`
  if (!(await isOld(file, path, before)) || !(await isJournal(file))) return false
  const lock = await takeLock(`${file}.lock`).catch(() => undefined)
  // Another process writes it.
  if (lock?.kind !== 'locked') return false
  try {
    // The previous holder may have changed it.
    if (!(await isOld(file, path, before))) return false
    await rm(file)
    if ((await stateOf(path))?.isDirectory() === true) await rm(path, { recursive: true, force: true })
    return true
  } catch {
    return false
  } finally {
    await lock.release()
  }
}

/** Checks file, folder and the folder's content: answers and undos do not change the session file. */
async function isOld(file: string, folder: string, before: number): Promise<boolean> {
  const state = await stateOf(file)
  if (state?.isFile() !== true || state.mtimeMs >= before) return false
  return isFolderOld(folder, before)
}

async function isFolderOld(folder: string, before: number): Promise<boolean> {
  const state = await stateOf(folder)
  if (state === undefined) return true
  if (!state.isDirectory() || state.mtimeMs >= before) return false
  for (const part of [folder, join(folder, 'files')])
    for (const name of await namesIn(part)) {
      const found = await stateOf(join(part, name))
      if (found !== undefined && found.mtimeMs >= before) return false
    }
  return true
}

/** Whether the first line shows that this program wrote the file. */
async function isJournal(path: string): Promise<boolean> {
  const file = await openRegular(path).catch(() => undefined)
  if (file === undefined) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
    return buffer.toString('utf8', 0, bytesRead).startsWith('{"type":"halting","format":')
  } finally {
    await file.close()
  }
}

/** Files of a session in its folder; a run without a stored session may have large results, too. */
const sessionEntries: ReadonlySet<string> = new Set([
  'tool-results',
  'tool-output',
  'payloads',
  'files',
  'answers.json',
])

async function removeLeftover(folder: string, before: number): Promise<void> {
  if ((await stateOf(folder))?.isDirectory() !== true || !(await isFolderOld(folder, before))) return
  const names = await namesIn(folder)
  if (names.length === 0 || names.some((name) => !sessionEntries.has(name))) return
  if ((await stateOf(`${folder}${extension}`)) !== undefined) return
  await rm(folder, { recursive: true, force: true }).catch(() => {})
}

/**
 * Removes stale drafts of session, payloads, results, answers and file checkpoints, unless a process writes the
 * session.
 */
async function removeDrafts(project: string, name: string, before: number): Promise<void> {
  if (name.endsWith('.part')) return removeDraft(join(project, name), before)
  if (name.includes('.') || (await stateOf(join(project, name)))?.isDirectory() !== true) return
  if ((await holderOf(join(project, `${name}${extension}.lock`))) !== undefined) return
  const files = join('files', 'contents')
  for (const folder of ['', 'payloads', 'tool-results', 'files', files]) {
    const path = join(project, name, folder)
    // A link in the path would lead elsewhere.
    if (folder === files && (await stateOf(dirname(path)))?.isDirectory() !== true) continue
    if ((await stateOf(path))?.isDirectory() !== true) continue
    for (const part of await namesIn(path))
      if (part.endsWith('.part') || (folder === 'files' && part === 'waiting'))
        await removeDraft(join(path, part), before)
  }
}

async function removeDraft(path: string, before: number): Promise<void> {
  const state = await stateOf(path)
  if (state?.isFile() === true && state.mtimeMs < before) await rm(path, { force: true }).catch(() => {})
}

/** Returns the state of the path itself; links are not followed by default. */
function stateOf(path: string, links: 'follow' | 'stay' = 'stay'): Promise<Stats | undefined> {
  return (links === 'follow' ? stat(path) : lstat(path)).catch(() => undefined)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}
