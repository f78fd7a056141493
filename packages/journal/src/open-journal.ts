import { stat, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HaltingError, Transcript } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { RecordedStage } from '@halting/core/after'
import {
  DurableStepEngine,
  foldSession,
  type PersonsMessage,
  type AnswerableStepEngine,
  type Clock,
  type EndedRun,
  type FoldedSession,
  type StoredSession,
  type StepStore,
  type StepRecord,
} from '@halting/core/steps'
import { redactedValue } from '@halting/core/redact'
import { makeDurableFolder, writeWhole } from './files/durable.ts'
import { checkFunction, checkObject, checkText } from './check-input.ts'
import { lockSession, lockSessionNow, type LockedSession } from './lock-session.ts'
import { JournalEncoder } from './format/encoder.ts'
import { hasEnded } from './session-ends.ts'
import { JournalFile } from './journal-file.ts'
import { appendingTo, type JournalHandle } from './journal-handle.ts'
import type { RewindTarget, Conversation } from './rewind.ts'
import { readForResume, type ReadJournal } from './read-journal.ts'
import { whileNobodyRebuilds } from './stores/rebuild-lock.ts'
import { workingCopiesOf, type StoreSession, type WorkingCopies, type WorkingCopy } from './stores/working-copies.ts'

/** The file of a session, and whose it is. */
export interface JournalOptions {
  /** Path of the file. */
  readonly path: string
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Of the program that writes. */
  readonly version: string
  /** What a person or a program calls a session that begins; one that is there keeps its own. */
  readonly title?: string
  /** When a session that begins began elsewhere, for a copy: ISO 8601 in UTC. Default: now. */
  readonly createdAt?: string
  /** Takes out of every text that is redacted what is to be on no disk, such as keys. What a run holds in memory is not changed. */
  readonly redact?: (text: string) => string
  /** Opens the file for appending. The file system does, unless said otherwise. */
  readonly openFile?: (path: string) => Promise<JournalHandle>
}

/** A session on disk that this process alone writes. What it holds is what `QueryEngine` takes as its `session`. */
export interface SessionJournal extends StoredSession {
  /** Path of the file. */
  readonly path: string
  /** Id of the session. */
  readonly sessionId: string
  /**
   * When the runs began that were in the file when it was opened, in milliseconds since 1970: those of `ended`, and then the open one; null where that is
   * not on record.
   */
  readonly began: readonly (number | null)[]
  /** A driver for a new run. */
  steps(options?: {
    /** Where time comes from. Default: the system's clock. */
    readonly clock?: Clock
  }): AnswerableStepEngine
  /** Appends a record of a session that was recorded elsewhere, at the time of then (ISO 8601 in UTC). */
  appendAt(record: StepRecord, timestamp: string): void
  /** Bytes at the end that were cut off: they were being redacted when a process ended, and nothing depended on them. */
  readonly tornBytes: number
  // Spec R-REW-1.
  /**
   * The conversation goes back to before this message of a person; on disk when it resolves. The older branch stays in the file.
   * Messages are named by the id of their entry, the one under which they were handed in, or a uuid that was told of them, here or in the sessions of
   * `alsoOf`. While no run goes on; then an engine that has the session is done with, and a new one takes what is left.
   * @throws ConfigurationError for a message that is not there or not a person's, and where the last run did not end.
   */
  rewind(message: string, alsoOf?: readonly string[]): Promise<PersonsMessage>
  /**
   * The same, to after any message: it is the last that is left, with the results of what it called. `dropsTurn` names the prompt of the one turn that may
   * be taken back.
   * @throws ResumeRejectedError where more than that would be: nothing is taken back then.
   */
  rewindAfter(message: string, alsoOf?: readonly string[], dropsTurn?: string): Promise<void>
  /** The message of a person to before which `rewind` would go; it throws as that does. */
  messageOf(message: string, alsoOf?: readonly string[]): Promise<PersonsMessage>
  /** Everything is on disk, and another process may write. */
  close(): Promise<void>
}

/**
 * Opens a session, or begins it.
 * @throws ConfigurationError for what does not name one.
 * @throws HaltingError `driver` for a session that another process writes (and which), a damaged file (and where), and what the file system refuses.
 */
export async function openJournal(options: JournalOptions): Promise<SessionJournal> {
  checkJournalOptions(options)
  try {
    return await openChecked(options)
  } catch (error) {
    if (error instanceof HaltingError) throw error
    throw new HaltingError('driver', `The session ${options.path} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/**
 * Begins a session. One that another process began since it was looked for is not ours to write, nor to remove.
 * @throws HaltingError `driver` for a session in which there is something already.
 */
export async function openNewJournal(options: JournalOptions): Promise<SessionJournal> {
  const journal = await openJournal(options)
  if (journal.ended.length === 0 && journal.open === undefined) return journal
  await journal.close()
  throw new HaltingError('driver', `The session ${options.sessionId} is there already. Go on with that one.`)
}

async function openChecked({
  path,
  sessionId,
  cwd,
  version,
  title,
  createdAt,
  redact,
  openFile = appendingTo,
}: JournalOptions): Promise<SessionJournal> {
  const copies = workingCopiesOf(path)
  const titled = title === undefined ? {} : { title }
  const place = { path, sessionId, cwd, version, ...titled, ...(createdAt !== undefined && { createdAt }) }
  await makeDurableFolder(dirname(path))
  const { lock, store } = await lockForWriting(place, copies)
  try {
    const before = (await exists(path)) ? await readBefore(path) : undefined
    if (before !== undefined && before.sessionId !== sessionId)
      throw new HaltingError('driver', `The file ${path} is of the session ${before.sessionId}, not of ${sessionId}.`)
    if (before !== undefined && before.tornBytes > 0) await truncate(path, before.wholeBytes)
    const encoder = new JournalEncoder({ sessionId, cwd, version, ...titled }, before?.written)
    if (before === undefined) await writeWhole(path, encoder.head(createdAt))
    const file = new JournalFile(path, await openFile(path))
    const redacted = redact === undefined ? asIs : (record: StepRecord): StepRecord => redactedValue(record, redact)
    return new OpenJournal({ sessionId, file, store, encoder, before, redacted, release: () => lock.release() })
  } catch (error) {
    await store?.close().catch(() => undefined)
    await lock.release()
    throw error
  }
}

/** Without a redactor nothing is looked through. */
const asIs = (record: StepRecord): StepRecord => record

/** Locks a session. One of a store is locked there as well, and its file is up to date before another process looks at it. */
async function lockForWriting(
  copy: WorkingCopy,
  copies: WorkingCopies | undefined,
): Promise<{ readonly lock: LockedSession; readonly store?: StoreSession }> {
  const { path, sessionId } = copy
  if (copies === undefined) return { lock: await lockSession(path, sessionId) }
  return whileNobodyRebuilds(path, async () => {
    const lock = await lockSessionNow(path, sessionId)
    try {
      return { lock, store: await copies.open(copy) }
    } catch (error) {
      await lock.release()
      throw error
    }
  })
}

/** Plain JavaScript may give anything, and what is redacted stays. */
export function checkJournalOptions(options: JournalOptions, by = 'openJournal'): void {
  checkObject(by, options, '{ path, sessionId, cwd, version }')
  const { path, sessionId, cwd, version, title, openFile } = options
  for (const [name, value] of Object.entries({ path, sessionId, cwd, version })) checkText(name, value)
  if (title !== undefined) checkText('title', title)
  if (openFile !== undefined) checkFunction('openFile', openFile)
}

/** Records of runs that ended are of no use to what comes next: they are most of a session. */
function readBefore(path: string): Promise<ReadJournal> {
  return readForResume(path, hasEnded(path) ? 'conversation' : 'open')
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size > 0
  } catch {
    return false
  }
}

interface JournalParts {
  readonly sessionId: string
  readonly file: JournalFile
  /** Where the session is, when the file is a copy of it. */
  readonly store: StoreSession | undefined
  readonly encoder: JournalEncoder
  readonly before: ReadJournal | undefined
  /** A record as it goes to disk. */
  readonly redacted: (record: StepRecord) => StepRecord
  readonly release: () => Promise<void>
}

class OpenJournal implements SessionJournal {
  readonly path: string
  readonly sessionId: string
  #folded: FoldedSession
  #before: ReadJournal | undefined
  /** Records that came since the file was opened, and how many of them are in what was read of it. */
  #appended = 0
  #folds = 0
  readonly log: StepStore
  readonly tornBytes: number
  readonly #opening: JournalParts

  constructor(opening: JournalParts) {
    const { sessionId, file, store, before } = opening
    this.#before = before
    this.#folded = foldSession(before?.runs ?? [])
    this.path = file.path
    this.tornBytes = before?.tornBytes ?? 0
    this.log = {
      keeps: 'all',
      append: (record) => this.appendAt(record),
      flush: store === undefined ? () => file.flush() : () => flushBoth(store, file),
    }
    this.#opening = opening
    this.sessionId = sessionId
  }

  appendAt(record: StepRecord, timestamp?: string): void {
    const { file, store, encoder, redacted } = this.#opening
    this.#appended++
    const safe = redacted(record)
    // The store and the file say the same moment.
    const moment = timestamp ?? (store === undefined ? undefined : new Date().toISOString())
    if (moment !== undefined) store?.append(safe, moment)
    const { lines, payloads } = encoder.linesOf(safe, moment)
    file.append(lines, payloads)
    // What was paid for is in the file before anything follows from it: tools and events may be done before the event loop turns.
    if (isReply(record)) file.writeNow()
  }

  get open(): readonly StepRecord[] | undefined {
    return this.#folded.open
  }

  get ended(): readonly EndedRun[] {
    return this.#folded.ended
  }

  get began(): readonly (number | null)[] {
    return this.#before?.began ?? []
  }

  get stages(): readonly RecordedStage[] {
    return this.#folded.stages ?? []
  }

  get transcript(): Transcript {
    return this.#folded.transcript
  }

  get isRewound(): boolean {
    return this.#folded.isRewound === true
  }

  async rewind(message: string, alsoOf: readonly string[] = []): Promise<PersonsMessage> {
    const { rewindBefore: backToBefore } = await import('./rewind.ts')
    const { found, ...back } = backToBefore(await this.#conversation(alsoOf), message)
    await this.#applyRewind(back)
    return found
  }

  async messageOf(message: string, alsoOf: readonly string[] = []): Promise<PersonsMessage> {
    const { rewindBefore: backToBefore } = await import('./rewind.ts')
    return backToBefore(await this.#conversation(alsoOf), message).found
  }

  async rewindAfter(message: string, alsoOf: readonly string[] = [], dropsTurn?: string): Promise<void> {
    const { rewindAfter: backToAfter } = await import('./rewind.ts')
    await this.#applyRewind(backToAfter(await this.#conversation(alsoOf), message, dropsTurn))
  }

  /** What is on disk: the file alone has the records of runs that this process has made. */
  async #conversation(alsoOf: readonly string[]): Promise<Conversation> {
    if (this.#folds < this.#appended) {
      // What is appended while the file is read, such as the end of a stage, may not be in what was read.
      const upTo = this.#appended
      await this.log.flush()
      this.#before = await readBefore(this.path)
      this.#folded = foldSession(this.#before.runs)
      this.#folds = upTo
    }
    return { folded: this.#folded, file: this.#before, sessions: [this.sessionId, ...alsoOf] }
  }

  async #applyRewind({ entries, record }: RewindTarget): Promise<void> {
    this.log.append(record)
    await this.log.flush()
    const transcript = Transcript.of(this.transcript.since(0).slice(0, entries))
    this.#folded = { ...this.#folded, transcript, isRewound: true }
  }

  steps({ clock }: { readonly clock?: Clock } = {}): AnswerableStepEngine {
    return new DurableStepEngine({ log: this.log, sessionId: this.sessionId, ...(clock !== undefined && { clock }) })
  }

  async close(): Promise<void> {
    const { file, store, release } = this.#opening
    try {
      await file.close()
      await store?.close()
    } finally {
      await release()
    }
  }
}

/** Whether it holds what a model answered. */
function isReply(record: StepRecord): boolean {
  if (record.type !== 'result') return false
  const { value } = record
  return isJsonObject(value) && value['kind'] === 'answered'
}

/** What is only in the file is lost with it, so the store decides whether a record is safe. */
async function flushBoth(store: StoreSession, file: JournalFile): Promise<void> {
  await Promise.all([store.flush(), file.flush()])
}
