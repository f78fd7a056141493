import type { Stats } from 'node:fs'
import { lstat, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openRegular } from '../files/regular-file.ts'
import { holderOf, takeLock } from '../files/lock.ts'
import { workingCopiesIn } from '../stores/working-copies.ts'
import { forgetGrades, gradesFile } from './grades.ts'
import { forgetIndexed, indexName } from './session-index.ts'
import { sessionsOf, type SessionPlace } from './session-folder.ts'

// Sessions that nobody touched for long are removed. What is not known to be ours stays; no link is followed; the file goes before what lies
// beside it, so that whoever is ended in the middle leaves parts without a session, which the next one removes, and no session without parts.
// Folders of projects stay: somebody may be about to put a session in.

/** Options of `cleanUpSessions`. */
export interface CleanUpOptions {
  /** Sessions that were not touched for so many days go. */
  readonly days: number
  /** The moment from which the days are counted. Default: now. */
  readonly now?: Date
}

/** What was removed. */
export interface CleanedUp {
  /** Number of sessions that were removed. */
  readonly sessions: number
}

const dayMs = 24 * 60 * 60 * 1_000
const extension = '.jsonl'
/** Drafts that a dead process left: nobody takes an hour to write one. */
const draftMs = 60 * 60 * 1_000

/** Whether a day has passed since the last time; one look at one file. */
export async function isCleanUpDue(place: Omit<SessionPlace, 'sessionId'>, now: Date = new Date()): Promise<boolean> {
  const { base } = sessionsOf(place)
  const [folder, stamp] = [await stateOf(base, 'follow'), await stateOf(stampOf(base))]
  if (folder?.isDirectory() !== true) return false
  return stamp === undefined || Math.abs(now.getTime() - stamp.mtimeMs) >= dayMs
}

/**
 * Removes what is too old, in all folders. Never throws for what cannot be removed: that stays.
 * @throws HaltingError `driver` where the sessions are in a store that cannot be asked.
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
    // Nobody was here for so long, or the clock has jumped: then everything would be old. The next time tells.
    await touchStamp(held, now)
    await touchStamp(stampOf(base), now)
    return { sessions: 0 }
  }
  await rm(held, { force: true }).catch(() => {})
  const inStore = await removedFromStore(base, new Date(before))
  const removed: string[] = []
  const left = new Set<string>()
  for (const project of await namesIn(base)) {
    const folder = join(base, project)
    if ((await stateOf(folder))?.isDirectory() !== true) continue
    const names = await namesIn(folder)
    const remaining = new Set<string>()
    // Without an id the folder of a session would be the one that all are in.
    for (const name of names.filter((each) => each.endsWith(extension) && each !== extension)) {
      const id = name.slice(0, -extension.length)
      if (await wasRemoved(join(folder, id), before)) removed.push(id)
      else remaining.add(id)
    }
    for (const id of remaining) left.add(id)
    // Also those that a store, or somebody, has removed since.
    if (names.includes(indexName)) forgetIndexed(folder, (id) => !remaining.has(id))
    for (const name of names)
      if (!name.includes('.') && !remaining.has(name)) await removeLeftover(join(folder, name), before)
    for (const name of await namesIn(folder)) await removeDrafts(folder, name, now.getTime() - draftMs)
  }
  // Of a session in a store its file is a copy. A session of which another folder has a file is not gone.
  const gone = inStore?.ids ?? new Set(removed.filter((id) => !left.has(id)))
  await forgetGrades(gradesFile(place), gone).catch(() => {})
  // At the end: whoever is ended in the middle leaves the rest to the next run. Two at once do each other no harm.
  await touchStamp(stampOf(base), now)
  return { sessions: inStore?.count ?? removed.length }
}

/** Undefined where the sessions are files. */
async function removedFromStore(
  base: string,
  before: Date,
): Promise<{ readonly count: number; readonly ids: ReadonlySet<string> } | undefined> {
  const copies = workingCopiesIn(base)
  if (copies === undefined) return undefined
  const there = await copies.files()
  const count = await copies.removeOlderThan(before)
  if (count === 0) return { count, ids: new Set() }
  const left = new Set((await copies.files()).map(({ sessionId }) => sessionId))
  return { count, ids: new Set(there.map(({ sessionId }) => sessionId).filter((id) => !left.has(id))) }
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

/** `path` is that of the session, without the extension. */
async function wasRemoved(path: string, before: number): Promise<boolean> {
  const file = `${path}${extension}`
  if (!(await isOld(file, path, before)) || !(await isJournal(file))) return false
  const lock = await takeLock(`${file}.lock`).catch(() => undefined)
  // Somebody writes it.
  if (lock?.kind !== 'locked') return false
  try {
    // Whoever had it until now may have touched it.
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

/** The newest of the file, its folder and what lies in that: answers and undos come without the file being written. */
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

/** Its first line says that this program wrote it. */
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

/** What a session keeps beside its file; a run that keeps no session has large results all the same. */
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

/** Drafts of the file itself, of payloads, results, answers and what files were, where no process writes the session. */
async function removeDrafts(project: string, name: string, before: number): Promise<void> {
  if (name.endsWith('.part')) return removeDraft(join(project, name), before)
  if (name.includes('.') || (await stateOf(join(project, name)))?.isDirectory() !== true) return
  if ((await holderOf(join(project, `${name}${extension}.lock`))) !== undefined) return
  const files = join('files', 'contents')
  for (const folder of ['', 'payloads', 'tool-results', 'files', files]) {
    const path = join(project, name, folder)
    // A link above would lead elsewhere.
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

/** Of the thing itself: a link is a link. */
function stateOf(path: string, links: 'follow' | 'stay' = 'stay'): Promise<Stats | undefined> {
  return (links === 'follow' ? stat(path) : lstat(path)).catch(() => undefined)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}
