import { stat, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HaltingError, type Transcript } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import {
  StepsDriver,
  foldSession,
  type AnswerableSteps,
  type Clock,
  type EndedRun,
  type KeptSession,
  type StepLog,
  type StepRecord,
} from '@halting/core/steps'
import { makeDurableFolder, writeWhole } from './durable.ts'
import { JournalEncoder } from './journal-codec.ts'
import { JournalFile, appendingTo, type JournalHandle } from './journal-file.ts'
import { takeLock } from './journal-lock.ts'
import { readJournal, type ReadJournal } from './read-journal.ts'

/** The file of a session, and whose it is. */
export interface JournalOptions {
  readonly path: string
  readonly sessionId: string
  readonly cwd: string
  /** Of the program that writes. */
  readonly version: string
  /** Opens the file for appending. The file system does, unless said otherwise. */
  readonly openFile?: (path: string) => Promise<JournalHandle>
}

/** A session on disk that this process alone writes. What it holds is what `QueryEngine` takes as its `session`. */
export interface SessionJournal extends KeptSession {
  readonly path: string
  /** A driver for a new run. */
  steps(options?: { readonly clock?: Clock }): AnswerableSteps
  /** Bytes at the end that were cut off: they were being written when a process ended, and nothing depended on them. */
  readonly tornBytes: number
  /** Everything is on disk, and another process may write. */
  close(): Promise<void>
}

/**
 * Opens a session, or begins it.
 * @throws HaltingError `driver` for a session that another process writes (and which), a damaged file (and where), and what the file system refuses.
 */
export async function openJournal(options: JournalOptions): Promise<SessionJournal> {
  try {
    return await opened(options)
  } catch (error) {
    if (error instanceof HaltingError) throw error
    throw new HaltingError('driver', `The session ${options.path} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

async function opened({
  path,
  sessionId,
  cwd,
  version,
  openFile = appendingTo,
}: JournalOptions): Promise<SessionJournal> {
  await makeDurableFolder(dirname(path))
  const lock = await takeLock(`${path}.lock`)
  if (lock.kind === 'held') {
    const { pid, host, since } = lock.holder
    throw new HaltingError(
      'driver',
      `The session ${sessionId} is written by process ${pid} on ${host} since ${since}. End it there, or fork the session.`,
    )
  }
  try {
    const before = (await exists(path)) ? await readJournal(path) : undefined
    if (before !== undefined && before.sessionId !== sessionId)
      throw new HaltingError('driver', `The file ${path} is of the session ${before.sessionId}, not of ${sessionId}.`)
    if (before !== undefined && before.tornBytes > 0) await truncate(path, before.wholeBytes)
    const encoder = new JournalEncoder({ sessionId, cwd, version }, before?.written)
    if (before === undefined) await writeWhole(path, encoder.head())
    const file = new JournalFile(path, await openFile(path))
    return new OpenJournal(sessionId, file, encoder, before, () => lock.release())
  } catch (error) {
    await lock.release()
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size > 0
  } catch {
    return false
  }
}

class OpenJournal implements SessionJournal {
  readonly path: string
  readonly transcript: Transcript
  readonly open: readonly StepRecord[] | undefined
  readonly ended: readonly EndedRun[]
  readonly log: StepLog
  readonly tornBytes: number
  readonly #file: JournalFile
  readonly #release: () => Promise<void>
  readonly #sessionId: string

  constructor(
    sessionId: string,
    file: JournalFile,
    encoder: JournalEncoder,
    before: ReadJournal | undefined,
    release: () => Promise<void>,
  ) {
    const { transcript, open, ended } = foldSession(before?.runs ?? [])
    this.path = file.path
    this.transcript = transcript
    this.open = open
    this.ended = ended
    this.tornBytes = before?.tornBytes ?? 0
    this.log = {
      keeps: 'all',
      append: (record) => {
        const { lines, payloads } = encoder.linesOf(record)
        file.append(lines, payloads)
      },
      flush: () => file.flush(),
    }
    this.#file = file
    this.#release = release
    this.#sessionId = sessionId
  }

  steps({ clock }: { readonly clock?: Clock } = {}): AnswerableSteps {
    return new StepsDriver({ log: this.log, sessionId: this.#sessionId, ...(clock !== undefined && { clock }) })
  }

  async close(): Promise<void> {
    await this.#file.close()
    await this.#release()
  }
}
