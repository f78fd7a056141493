import { closeSync, fstatSync, readSync } from 'node:fs'
import { readdir, rm, utimes } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ConfigurationError, HaltingError } from '@halting/core'
import { codeOf, messageOf } from '@halting/core/adapters'
import type { OpenSession, SessionHead, SessionStore, StoredSessionInfo, StepRecord } from '@halting/core/steps'
import { makeDurableFolder, writeWhole } from '../files/durable.ts'
import { takeLock } from '../files/lock.ts'
import { openRegularSync } from '../files/regular-file.ts'
import { payloadsFolder } from '../format/payloads.ts'
import type { Payload } from '../format/payloads.ts'
import { projectName, safeName } from '../sessions/session-folder.ts'
import { whileNobodyRebuilds } from './rebuild-lock.ts'
import type { CopiedSession, StoreSession, WorkingCopies, WorkingCopy } from './working-copies.ts'
import { JournalEncoder } from '../format/encoder.ts'
import type { JournalPlace } from '../format/encoder.ts'
import { valueOf } from '../format/line.ts'
import { ContentInterner } from './content-interner.ts'

/** A store, and the location of its session files. */
export interface WorkingCopiesOptions {
  /** Folder of the session files. */
  readonly base: string
  /** Name of the store without credentials, for messages. */
  readonly name: string
  /** Connects to the store. Called once, on first use. */
  readonly connect: () => Promise<SessionStore>
  /** Removes credentials from messages of the store. */
  readonly redact?: (text: string) => string
  /** Receives notices: that one session cannot be read, and that the store responds slowly. */
  readonly onProblem?: (problem: string) => void
}

type Read = NonNullable<Awaited<ReturnType<SessionStore['read']>>>

const extension = '.jsonl'
const pageLength = 1_000
/** Commands list sessions more than once; a recent list is reused. */
const freshMs = 500
/** Time after which a notice is shown, because a store retries for longer than a person waits without one. */
const slowMs = 2_000

/**
 * The sessions of one store, with a file each. `registerWorkingCopies` makes the journal write to the store whatever it
 * writes to these files.
 */
export class StoreWorkingCopies implements WorkingCopies {
  readonly base: string
  readonly #options: WorkingCopiesOptions
  #connected: Promise<SessionStore> | undefined
  readonly #refreshed = new Map<string, number>()
  readonly #reportedProblems = new Set<string>()
  /** As of the last list. */
  readonly #listed = new Map<string, StoredSessionInfo>()

  constructor(options: WorkingCopiesOptions) {
    this.base = options.base
    this.#options = options
  }

  async refresh(cwd?: string): Promise<void> {
    const now = performance.now()
    const last = Math.max(this.#refreshed.get('') ?? -Infinity, this.#refreshed.get(cwd ?? '') ?? -Infinity)
    if (now - last < freshMs) return
    const infos = await this.list(cwd)
    const present = new Set<string>()
    for (const info of infos) {
      const path = this.#pathOf(info)
      present.add(path)
      if (!isCopyOf(path, info)) await this.#rebuild(path, info.sessionId, info)
    }
    for (const path of await this.#files(cwd)) if (!present.has(path)) await removeCopy(path)
    this.#refreshed.set(cwd ?? '', performance.now())
  }

  async refreshOne(path: string, sessionId: string): Promise<void> {
    const info = this.#listed.get(sessionId)
    if (info === undefined || !isCopyOf(path, info)) await this.#rebuild(path, sessionId, info)
  }

  async files(cwd?: string): Promise<readonly CopiedSession[]> {
    const infos = await this.list(cwd)
    return infos.map((info) => ({
      sessionId: info.sessionId,
      path: this.#pathOf(info),
      changedAt: new Date(info.updatedAt),
    }))
  }

  /** Lists the sessions of the store, most recently written first. @throws HaltingError */
  async list(cwd?: string): Promise<readonly StoredSessionInfo[]> {
    return this.#ask(async (store) => {
      const found: StoredSessionInfo[] = []
      for (let page: readonly StoredSessionInfo[] | undefined; page === undefined || page.length === pageLength;) {
        const after = page?.at(-1)?.sessionId
        page = await store.list({
          limit: pageLength,
          ...(cwd !== undefined && { cwd: resolve(cwd) }),
          ...(after !== undefined && { after }),
        })
        found.push(...page)
        for (const info of page) this.#listed.set(info.sessionId, info)
      }
      return found
    })
  }

  async open(copy: WorkingCopy): Promise<StoreSession> {
    const { path, sessionId, ...head } = copy
    const session = await this.#ask((store) => store.open(sessionId, headOf(head)))
    try {
      const read = await this.#ask((store) => store.read(sessionId))
      if (read === undefined || read.records.length === 0) await rm(path, { force: true })
      else if (!isCopyOf(path, read.info)) await this.#write(path, read)
    } catch (thrown) {
      await session.close().catch(() => undefined)
      throw thrown
    }
    return this.#writing(session)
  }

  #writing(session: OpenSession): StoreSession {
    let isLost = false
    const guarded = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work()
      } catch (thrown) {
        isLost = true
        throw this.#lossError(thrown)
      }
    }
    return {
      append: (record, timestamp) => {
        const timed: TimedRecord = { ...record, timestamp }
        this.#refreshed.clear()
        try {
          session.log.append(timed)
        } catch (thrown) {
          throw this.#lossError(thrown)
        }
      },
      flush: () => guarded(async () => session.log.flush()),
      // The failure was already reported.
      close: () => (isLost ? session.close().catch(() => undefined) : guarded(() => session.close())),
    }
  }

  async remove(sessionId: string): Promise<void> {
    this.#refreshed.clear()
    await this.#ask((store) => store.remove(sessionId))
  }

  async removeOlderThan(moment: Date): Promise<number> {
    this.#refreshed.clear()
    return this.#ask((store) => store.removeOlderThan(moment))
  }

  /** Closes the connection, if there is one. Sessions were closed before, so a failure loses nothing. */
  async close(): Promise<void> {
    const store = await this.#connected?.catch(() => undefined)
    await store?.close().catch(() => undefined)
  }

  /** Updates one file, unless another process has done so. A file that a process of this machine writes is current. */
  async #rebuild(path: string, sessionId: string, info: StoredSessionInfo | undefined): Promise<void> {
    await makeDurableFolder(dirname(path))
    await whileNobodyRebuilds(path, async () => {
      if (info !== undefined && isCopyOf(path, info)) return
      const lock = await takeLock(`${path}.lock`)
      if (lock.kind !== 'locked') return
      try {
        const read = await this.#ask((store) => store.read(sessionId))
        if (read === undefined || read.records.length === 0) await rm(path, { force: true })
        else await this.#write(path, read)
      } catch (thrown) {
        // Other sessions are still listed.
        this.#report(`The session ${sessionId} of ${this.#options.name} cannot be read: ${messageOf(thrown)}`)
        await rm(path, { force: true })
      } finally {
        await lock.release()
      }
    })
  }

  #report(problem: string): void {
    if (this.#reportedProblems.has(problem)) return
    this.#reportedProblems.add(problem)
    this.#options.onProblem?.(problem)
  }

  async #write(path: string, { info, records }: Read): Promise<void> {
    const { sessionId, cwd = '/', version = 'unknown', title } = info
    const place = { sessionId, cwd, version, ...(title !== undefined && { title }) }
    const { bytes, payloads } = journalOfRecords(place, info, records)
    await writePayloads(payloadsFolder(path), payloads)
    await writeWhole(path, bytes)
    const changed = new Date(info.updatedAt)
    // Lists of sessions use this time.
    if (!Number.isNaN(changed.getTime())) await utimes(path, changed, changed)
  }

  #pathOf({ cwd = '/', sessionId }: StoredSessionInfo): string {
    return join(this.base, projectName(resolve(cwd)), `${safeName(sessionId)}${extension}`)
  }

  async #files(cwd: string | undefined): Promise<readonly string[]> {
    const projects = cwd === undefined ? await namesIn(this.base) : [projectName(resolve(cwd))]
    const files: string[] = []
    for (const project of projects)
      for (const name of await namesIn(join(this.base, project)))
        if (name.endsWith(extension) && name !== extension) files.push(join(this.base, project, name))
    return files
  }

  /** Calls the store. Nothing is running yet, so errors are configuration errors for the user to fix. */
  async #ask<T>(question: (store: SessionStore) => Promise<T>): Promise<T> {
    const slow = setTimeout(() => this.#report(`Waiting for the session store ${this.#options.name}.`), slowMs)
    try {
      return await question(await (this.#connected ??= this.#options.connect()))
    } catch (thrown) {
      throw new ConfigurationError(this.#textOf(thrown))
    } finally {
      clearTimeout(slow)
    }
  }

  #lossError(thrown: unknown): HaltingError {
    return new HaltingError('driver', this.#textOf(thrown))
  }

  /**
   * Returns an error message. Stores are packages with their own error classes, and their messages may contain a
   * password.
   */
  #textOf(thrown: unknown): string {
    const { name, redact = (text) => text } = this.#options
    const isHalting =
      thrown instanceof Error && 'code' in thrown && (thrown.code === 'driver' || thrown.code === 'configuration')
    const message = redact(messageOf(thrown))
    return isHalting ? message : `The session store ${name} failed: ${message}`
  }
}

function headOf({ cwd, version, title, createdAt }: Omit<WorkingCopy, 'path' | 'sessionId'>): SessionHead {
  return {
    cwd: resolve(cwd),
    version,
    ...(title !== undefined && { title }),
    ...(createdAt !== undefined && { createdAt }),
  }
}

/** Whether the file was rebuilt from this state of its session, and is unchanged. */
function isCopyOf(path: string, { records, updatedAt }: Pick<StoredSessionInfo, 'records' | 'updatedAt'>): boolean {
  try {
    const file = openRegularSync(path)
    try {
      const start = Buffer.alloc(64 * 1_024)
      const state = copiedState(start.subarray(0, readSync(file, start, 0, start.length, 0)))
      return (
        state !== undefined &&
        state.records === records &&
        state.updatedAt === updatedAt &&
        fstatSync(file).size === state.headBytes + state.bytes
      )
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
}

/** Writes the payloads, which are named by their hash. */
async function writePayloads(folder: string, payloads: readonly Payload[]): Promise<void> {
  if (payloads.length === 0) return
  await makeDurableFolder(folder)
  for (const { sha256, text } of payloads) await writeWhole(join(folder, sha256), text)
}

/** Removes a file whose session was removed from the store. Its folder is removed when it is old. */
async function removeCopy(path: string): Promise<void> {
  const lock = await takeLock(`${path}.lock`).catch(() => undefined)
  if (lock?.kind !== 'locked') return
  try {
    await rm(path, { force: true })
  } finally {
    await lock.release()
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/** A record as it is put into a store, with its time, which stores preserve like all other fields. */
type TimedRecord = StepRecord & { readonly timestamp?: string }

/** The state of a session that a file represents. */
interface CopiedState extends Pick<StoredSessionInfo, 'records' | 'updatedAt'> {
  /** Bytes after the first line: a process that wrote more, or less, has changed the file. */
  readonly bytes: number
}

/** Creates the file of a session in a store, as the program would have written it. */
export function journalOfRecords(
  place: JournalPlace,
  { createdAt, updatedAt, records: count }: Pick<StoredSessionInfo, 'createdAt' | 'updatedAt' | 'records'>,
  records: readonly TimedRecord[],
): { readonly bytes: Buffer; readonly payloads: readonly Payload[] } {
  const encoder = new JournalEncoder(place)
  // Call it to count the line, as in every file.
  encoder.head(createdAt)
  const contents = new ContentInterner()
  const lines: Buffer[] = []
  const payloads: Payload[] = []
  let newest = createdAt
  for (const { timestamp, ...given } of records) {
    newest = timestamp ?? newest
    // The rest is the record.
    const encoded = encoder.linesOf(contents.intern(given), newest)
    lines.push(Buffer.from(encoded.lines))
    payloads.push(...encoded.payloads)
  }
  const state: CopiedState = { records: count, updatedAt, bytes: lines.reduce((sum, each) => sum + each.length, 0) }
  const head = new JournalEncoder(place).head(createdAt, { stored: state })
  return { bytes: Buffer.concat([Buffer.from(head), ...lines]), payloads }
}

/** Returns the state in the first line of such a file, with the size of that line; undefined for any other file. */
function copiedState(start: Buffer): (CopiedState & { readonly headBytes: number }) | undefined {
  const end = start.indexOf(10)
  if (end < 0) return undefined
  try {
    const { stored } = valueOf(start, 0, end) as { readonly stored?: CopiedState }
    return stored === undefined ? undefined : { ...stored, headBytes: end + 1 }
  } catch {
    return undefined
  }
}
