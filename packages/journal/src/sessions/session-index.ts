import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { crc32Of } from '../files/crc32.ts'
import { othersProblem, readSized } from '../files/private-file.ts'
import { openRegularSync } from '../files/regular-file.ts'

// What lists made of session files, so that the next one reads none that did not change. It is never asked which sessions there are, nor by what resumes one:
// a list finds the files, and an entry counts for the very file that it was made of. Without it everything is as before, and slower.

/** What was made of a file, by the list that made it. */
interface IndexEntry {
  /** Of the file. */
  readonly state: string
  readonly parts: { readonly [part: string]: unknown }
}

type Entries = Map<string, IndexEntry>

/** In each folder of sessions. */
export const indexName = '.sessions-index'
/** To be raised when what lists note of a file changes: an index of another version is as none. */
const indexVersion = 1
const mostBytes = 64 * 1_024 * 1_024
/** Entries of sessions that show more are not kept. */
const longestEntry = 16 * 1_024
/** A file that changes again within the grain of its times looks as before: some file systems count in two seconds. */
const settledMs = 2_000

/** What a list saw of a file, in addition. */
export interface ListedFile {
  /** What the system said of it. */
  readonly stats: Stats
  /** The time of day before it was looked at, in milliseconds since 1970. */
  readonly asOf: number
  /** Whether there was a lock of the session. */
  readonly isLocked: boolean
}

/** Differs where a file is another one, or was changed: anybody can set the time of a change; when its state changed, the system says. */
export function fileState({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** The `stat` of a regular file; undefined for anything else, and for what is gone or cannot be reached. Of some thousand files promises take longer than the system. */
export function regularFileStats(path: string): Stats | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    // Whoever opens a pipe waits for who writes it.
    return stats?.isFile() === true ? stats : undefined
  } catch {
    return undefined
  }
}

// Spec R-SESS-8e to R-SESS-8g.
/** What is known of session files from earlier lists, in a file of each of their folders. Damaged, missing or of another version it knows nothing. Not for two lists at once. */
export class SessionIndex {
  readonly #base: string
  readonly #folders = new Map<string, FolderIndex>()

  /** `base`: the folder with the folders of sessions. Of files elsewhere nothing is known, and nothing is written there. */
  constructor(base: string) {
    this.#base = base
  }

  /** What was noted of a file that was in this state; undefined for nothing. It is JSON of a list that may have been another program. */
  get(path: string, state: string, part: string): unknown {
    return partOf(this.#folderOf(path)?.entries.get(basename(path)), state, part)
  }

  /** The same of a file that `storedSessions` listed. */
  getListed(path: string, { stats }: Pick<ListedFile, 'stats'>, part: string): unknown {
    const entry = this.#folderOf(path)?.entries.get(basename(path))
    return entry === undefined ? undefined : partOf(entry, fileState(stats), part)
  }

  /**
   * Notes what was made of a file that was in this state before it was read. Nothing is noted of one that is in another state by now, or changed a moment ago.
   * `value`: JSON.
   */
  note(path: string, state: string, part: string, value: unknown): void {
    if (isSettled(path, state)) this.#note(path, state, part, value)
  }

  /**
   * The same of a file that `storedSessions` listed, and that was read since. It needs no second look: whatever changed it after the list gave it another
   * state than that of the list, of which this is noted.
   */
  noteListed(path: string, { stats, asOf }: Pick<ListedFile, 'stats' | 'asOf'>, part: string, value: unknown): void {
    if (isSettledAt(stats, asOf)) this.#note(path, fileState(stats), part, value)
  }

  #note(path: string, state: string, part: string, value: unknown): void {
    const folder = this.#folderOf(path)
    const json = folder === undefined ? undefined : JSON.stringify(value)
    if (json === undefined || json.length > longestEntry) return
    folder?.note(basename(path), state, part, value)
  }

  /** Writes what was noted, where it is enough to be worth it, and forgets all. Never throws: what cannot be written is read again the next time. */
  save(): void {
    for (const folder of this.#folders.values()) folder.save()
    this.#folders.clear()
  }

  #folderOf(path: string): FolderIndex | undefined {
    const folder = dirname(path)
    const known = this.#folders.get(folder)
    if (known !== undefined || dirname(folder) !== this.#base) return known
    const opened = new FolderIndex(folder)
    this.#folders.set(folder, opened)
    return opened
  }
}

function partOf(entry: IndexEntry | undefined, state: string, part: string): unknown {
  return entry?.state === state && Object.hasOwn(entry.parts, part) ? entry.parts[part] : undefined
}

class FolderIndex {
  readonly #folder: string
  readonly entries: Entries
  readonly #noted = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
    this.entries = readEntries(folder) ?? new Map()
  }

  note(name: string, state: string, part: string, value: unknown): void {
    const before = this.entries.get(name)
    const parts = before?.state === state ? before.parts : {}
    this.entries.set(name, { state, parts: { ...parts, [part]: value } })
    this.#noted.add(name)
  }

  save(): void {
    // To write all of it anew for one session takes longer than to read that again.
    if (this.#noted.size * 50 < this.entries.size || this.#noted.size === 0) return
    try {
      const there = new Set(readdirSync(this.#folder))
      // Another program may have written it meanwhile.
      const entries: Entries = new Map(readEntries(this.#folder))
      for (const name of this.#noted) {
        const [own, other] = [this.entries.get(name), entries.get(name)]
        if (own === undefined) continue
        entries.set(name, { ...own, parts: { ...(other?.state === own.state && other.parts), ...own.parts } })
      }
      for (const name of entries.keys()) if (!there.has(name)) entries.delete(name)
      writeEntries(this.#folder, entries)
    } catch {
      // The folder may be of somebody else, or the disk full.
    }
  }
}

/** Forgets what is known of sessions that are gone: it has what was said first in them. Never throws: the sessions are gone by then. */
export function forgetIndexed(folder: string, isGone: (sessionId: string) => boolean): void {
  const entries = readEntries(folder)
  const gone = [...(entries?.keys() ?? [])].filter((name) => isGone(name.replace(/\.jsonl$/, '')))
  if (entries !== undefined && gone.length === 0) return
  for (const name of gone) entries?.delete(name)
  try {
    if (entries !== undefined) return writeEntries(folder, entries)
  } catch {
    // The disk may be full.
  }
  try {
    rmSync(join(folder, indexName), { force: true })
  } catch {
    // A folder in its place has nothing of ours in it, and in a folder that nobody can write nothing was deleted.
  }
}

function isSettled(path: string, state: string): boolean {
  const stats = regularFileStats(path)
  return stats !== undefined && fileState(stats) === state && isSettledAt(stats, Date.now())
}

function isSettledAt({ mtimeMs, ctimeMs }: Stats, moment: number): boolean {
  return Math.max(mtimeMs, ctimeMs) + settledMs < moment
}

/** Undefined for none that can be used. */
function readEntries(folder: string): Entries | undefined {
  try {
    const path = join(folder, indexName)
    if (regularFileStats(path) === undefined) return undefined
    const file = openRegularSync(path)
    try {
      const stats = fstatSync(file)
      if (stats.size > mostBytes || othersProblem(path, stats) !== undefined) return undefined
      return entriesIn(readSized(file, stats.size))
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

function entriesIn(bytes: Buffer): Entries | undefined {
  const end = bytes.indexOf(10)
  const body = bytes.subarray(end + 1)
  if (end < 0 || bytes.toString('utf8', 0, end) !== headOf(body)) return undefined
  const value: unknown = JSON.parse(body.toString('utf8'))
  if (!isJsonObject(value)) return undefined
  const entries: Entries = new Map()
  for (const [name, entry] of Object.entries(value) as [string, unknown][]) if (isEntry(entry)) entries.set(name, entry)
  return entries
}

function isEntry(value: unknown): value is IndexEntry {
  return isJsonObject(value) && typeof value['state'] === 'string' && isJsonObject(value['parts'])
}

function headOf(body: Buffer): string {
  return JSON.stringify({ type: 'halting sessions index', version: indexVersion, sum: crc32Of(body) })
}

function writeEntries(folder: string, entries: Entries): void {
  const body = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
  const path = join(folder, indexName)
  // Each has a draft of its own: two programs may write at once, and the last one is in place.
  const draft = `${path}.${process.pid}.${randomUUID()}.part`
  try {
    writeFileSync(draft, Buffer.concat([Buffer.from(`${headOf(body)}\n`), body]), { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
