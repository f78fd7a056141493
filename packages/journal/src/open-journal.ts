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

/** The file of a session, and its metadata. */
export interface JournalOptions {
  /** Path of the file. */
  readonly path: string
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory of the session. */
  readonly cwd: string
  /** Version of the program. */
  readonly version: string
  /** Title of a new session; an existing session keeps its title. */
  readonly title?: string
  /** When a copied session was created: ISO 8601 in UTC (default: now). */
  readonly createdAt?: string
  /** Redacts texts before they are written, for instance to remove keys. Data in memory is unchanged. */
  readonly redact?: (text: string) => string
  /** Opens the file for appending (default: in the file system). */
  readonly openFile?: (path: string) => Promise<JournalHandle>
}

/** A session on disk that only this process writes. `QueryEngine` accepts it as its `session`. */
export interface SessionJournal extends StoredSession {
  /** Path of the file. */
  readonly path: string
  /** Id of the session. */
  readonly sessionId: string
  /**
   * When the runs in the opened file began, in milliseconds since 1970: first those of `ended`, then the open one. Null
   * if it is not recorded.
   */
  readonly began: readonly (number | null)[]
  /** Returns a step engine for a new run. */
  steps(options?: {
    /** Source of time (default: the system clock). */
    readonly clock?: Clock
  }): AnswerableStepEngine
  /** Appends a record of a session that was recorded elsewhere, with its original time (ISO 8601 in UTC). */
  appendAt(record: StepRecord, timestamp: string): void
  /** Bytes cut off at the end: an incomplete write of a process that ended. Nothing depended on them. */
  readonly tornBytes: number
  // Spec R-REW-1.
  /**
   * Rewinds the conversation to before this message of a person; on disk when it resolves. The older branch stays in
   * the file. Messages are identified by their entry id, the id under which they were submitted, or a reported uuid, of
   * this session or of those in `alsoOf`. Call it only between runs; afterwards create a new engine for the session.
   * @throws ConfigurationError for a message that is missing or not a person's, and if the last run did not end.
   */
  rewind(message: string, alsoOf?: readonly string[]): Promise<PersonsMessage>
  /**
   * Rewinds to after any message, which becomes the last one, together with the results of its calls. `dropsTurn` names
   * the prompt of the one turn that may be dropped.
   * @throws ResumeRejectedError if it would drop more than that; then nothing is changed.
   */
  rewindAfter(message: string, alsoOf?: readonly string[], dropsTurn?: string): Promise<void>
  /** Returns the message before which `rewind` would place the end of the conversation; throws the same errors. */
  messageOf(message: string, alsoOf?: readonly string[]): Promise<PersonsMessage>
  /** Writes everything to disk and unlocks the session. */
  close(): Promise<void>
}

/**
 * Opens a session, or creates it.
 * @throws ConfigurationError for invalid options.
 * @throws HaltingError `driver` for a session that another process writes (naming it), a damaged file (naming the
 * line), and errors of the file system.
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
 * Creates a session. A session that another process created in the meantime is neither written nor removed.
 * @throws HaltingError `driver` for a session that already has content.
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
      throw new HaltingError(
        'driver',
        `The file ${path} belongs to the session ${before.sessionId}, not to ${sessionId}.`,
      )
    if (before !== undefined && before.tornBytes > 0) await truncate(path, before.wholeBytes)
    const encoder = new JournalEncoder({ sessionId, cwd, version, ...titled }, before?.written)
    if (before === undefined) await writeWhole(path, encoder.head(createdAt))
    const file = new JournalFile(path, await openFile(path))
    const redacted = redact === undefined ? identity : (record: StepRecord): StepRecord => redactedValue(record, redact)
    return new OpenJournal({ sessionId, file, store, encoder, before, redacted, release: () => lock.release() })
  } catch (error) {
    await store?.close().catch(() => undefined)
    await lock.release()
    throw error
  }
}

/** Without a redactor nothing is scanned. */
const identity = (record: StepRecord): StepRecord => record

/** Locks a session. A session of a store is also locked there, and its file is brought up to date first. */
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

/** Options are checked at run time: JavaScript programs may pass anything, and it would be stored. */
export function checkJournalOptions(options: JournalOptions, by = 'openJournal'): void {
  checkObject(by, options, '{ path, sessionId, cwd, version }')
  const { path, sessionId, cwd, version, title, openFile } = options
  for (const [name, value] of Object.entries({ path, sessionId, cwd, version })) checkText(name, value)
  if (title !== undefined) checkText('title', title)
  if (openFile !== undefined) checkFunction('openFile', openFile)
}

/** Reads what is needed to continue. The records of ended runs, most of a session, are not needed. */
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
  /** The session in its store, if the file is a copy. */
  readonly store: StoreSession | undefined
  readonly encoder: JournalEncoder
  readonly before: ReadJournal | undefined
  /** Returns a record in the form that is stored. */
  readonly redacted: (record: StepRecord) => StepRecord
  readonly release: () => Promise<void>
}

class OpenJournal implements SessionJournal {
  readonly path: string
  readonly sessionId: string
  #folded: FoldedSession
  #before: ReadJournal | undefined
  /** Number of records appended since opening, and how many of them `#before` includes. */
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
    // Store and file have the same time.
    const moment = timestamp ?? (store === undefined ? undefined : new Date().toISOString())
    if (moment !== undefined) store?.append(safe, moment)
    const { lines, payloads } = encoder.linesOf(safe, moment)
    file.append(lines, payloads)
    // A paid reply is in the file before anything depends on it: tools and events may follow before the event loop
    // turns.
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

  /** Reads the conversation from disk: only the file has the records of this process's runs. */
  async #conversation(alsoOf: readonly string[]): Promise<Conversation> {
    if (this.#folds < this.#appended) {
      // Records appended during reading, such as the end of a stage, may not be included.
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

/** Whether a record has a model's reply. */
function isReply(record: StepRecord): boolean {
  if (record.type !== 'result') return false
  const { value } = record
  return isJsonObject(value) && value['kind'] === 'answered'
}

/** The store decides whether a record is durable: without it the file is lost, too. */
async function flushBoth(store: StoreSession, file: JournalFile): Promise<void> {
  await Promise.all([store.flush(), file.flush()])
}
