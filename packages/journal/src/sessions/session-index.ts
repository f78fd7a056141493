import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, type Stats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { crc32Of } from '../files/crc32.ts'
import { ownershipProblem, readSized } from '../files/private-file.ts'
import { openRegularSync } from '../files/regular-file.ts'

// Caches what lists read from session files, so that the next list skips unchanged files. It is not used to find
// sessions or to resume one: an entry is valid only for the exact file that it was created from. Without it everything
// works, but slower.

/** What a list stored about a file. */
interface IndexEntry {
  /** State of the file. */
  readonly state: string
  readonly parts: { readonly [part: string]: unknown }
}

type Entries = Map<string, IndexEntry>

/** Name of the index in each folder of sessions. */
export const indexName = '.sessions-index'
/** Version of the stored data. Increase it when the data changes: an index of another version is ignored. */
const indexVersion = 1
const maxBytes = 64 * 1_024 * 1_024
/** Larger entries are not stored. */
const longestEntry = 16 * 1_024
/** Time resolution of file systems, up to two seconds: a file that changes again within that time looks unchanged. */
const settledMs = 2_000

/** Details of a listed file. */
export interface ListedFile {
  /** Result of `stat`. */
  readonly stats: Stats
  /** A time before the file was checked, in milliseconds since 1970. */
  readonly asOf: number
  /** Whether the session had a lock. */
  readonly isLocked: boolean
}

/**
 * Returns a value that differs for another or a changed file. Anybody can set the modification time, but the system
 * sets the change time.
 */
export function fileState({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/**
 * Returns the `stat` of a regular file; undefined for anything else, and if it is missing or inaccessible. Synchronous,
 * because for thousands of files promises take longer than the system.
 */
export function regularFileStats(path: string): Stats | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    // Opening a pipe would block.
    return stats?.isFile() === true ? stats : undefined
  } catch {
    return undefined
  }
}

// Spec R-SESS-8e to R-SESS-8g.
/**
 * Cached data of session files from earlier lists, in one file per folder. A damaged, missing or outdated file counts
 * as empty. Not for concurrent lists.
 */
export class SessionIndex {
  readonly #base: string
  readonly #folders = new Map<string, FolderIndex>()

  /** `base` is the folder that contains the folders of sessions. Files elsewhere are not cached. */
  constructor(base: string) {
    this.#base = base
  }

  /**
   * Returns the data of a file in this state; undefined if there is no data. It is JSON, which another program may have
   * written.
   */
  get(path: string, state: string, part: string): unknown {
    return partOf(this.#folderOf(path)?.entries.get(basename(path)), state, part)
  }

  /** The same for a file listed by `storedSessions`. */
  getListed(path: string, { stats }: Pick<ListedFile, 'stats'>, part: string): unknown {
    const entry = this.#folderOf(path)?.entries.get(basename(path))
    return entry === undefined ? undefined : partOf(entry, fileState(stats), part)
  }

  /**
   * Stores data of a file that was in this state before it was read. Ignored if the file has changed since, or changed
   * a moment ago. `value` must be JSON.
   */
  note(path: string, state: string, part: string, value: unknown): void {
    if (isSettled(path, state)) this.#note(path, state, part, value)
  }

  /**
   * The same for a file listed by `storedSessions` and read since. It need not be checked again: any later change
   * results in another state than the listed one.
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

  /**
   * Writes new data, if there is enough, and clears the cache. Never throws: missing data is read again the next time.
   */
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
    // Rewriting the index for a few sessions takes longer than reading them again.
    if (this.#noted.size * 50 < this.entries.size || this.#noted.size === 0) return
    try {
      const there = new Set(readdirSync(this.#folder))
      // Another program may have written it in the meantime.
      const entries: Entries = new Map(readEntries(this.#folder))
      for (const name of this.#noted) {
        const [own, other] = [this.entries.get(name), entries.get(name)]
        if (own === undefined) continue
        entries.set(name, { ...own, parts: { ...(other?.state === own.state && other.parts), ...own.parts } })
      }
      for (const name of entries.keys()) if (!there.has(name)) entries.delete(name)
      writeEntries(this.#folder, entries)
    } catch {
      // The folder may belong to another user, or the disk be full.
    }
  }
}

/**
 * Removes the data of deleted sessions, which includes their first prompts. Never throws, because the sessions are
 * already deleted.
 */
export function forgetIndexed(folder: string, isGone: (sessionId: string) => boolean): void {
  const entries = readEntries(folder)
  const removedNames = [...(entries?.keys() ?? [])].filter((name) => isGone(name.replace(/\.jsonl$/, '')))
  if (entries !== undefined && removedNames.length === 0) return
  for (const name of removedNames) entries?.delete(name)
  try {
    if (entries !== undefined) return writeEntries(folder, entries)
  } catch {
    // The disk may be full.
  }
  try {
    rmSync(join(folder, indexName), { force: true })
  } catch {
    // A file that replaces the folder is not ours, and in a read-only folder nothing was deleted.
  }
}

function isSettled(path: string, state: string): boolean {
  const stats = regularFileStats(path)
  return stats !== undefined && fileState(stats) === state && isSettledAt(stats, Date.now())
}

function isSettledAt({ mtimeMs, ctimeMs }: Stats, moment: number): boolean {
  return Math.max(mtimeMs, ctimeMs) + settledMs < moment
}

/** Returns undefined if there is no usable index. */
function readEntries(folder: string): Entries | undefined {
  try {
    const path = join(folder, indexName)
    if (regularFileStats(path) === undefined) return undefined
    const file = openRegularSync(path)
    try {
      const stats = fstatSync(file)
      if (stats.size > maxBytes || ownershipProblem(path, stats) !== undefined) return undefined
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
  // Unique drafts: if two programs write concurrently, the last one wins.
  const draft = `${path}.${process.pid}.${randomUUID()}.part`
  try {
    writeFileSync(draft, Buffer.concat([Buffer.from(`${headOf(body)}\n`), body]), { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
