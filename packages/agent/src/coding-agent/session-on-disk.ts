import type { SessionFile } from '@halting/core/session'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigurationError, type RunResult } from '@halting/core'
import {
  storedSessions,
  sessionFile,
  sessionFolder,
  type SessionPlace,
  openJournal,
  openNewJournal,
  type SessionJournal,
} from '@halting/journal'
import type { CodingAgentOptions } from './options.ts'

type Place = Omit<SessionPlace, 'sessionId'>

/** The id of a session, and whether it existed before. */
export interface NamedSession {
  readonly sessionId: string
  readonly isResumed: boolean
}

/** @throws ConfigurationError for a session that does not exist. */
export async function namedSession(
  { sessionId, resume, persistSession }: Pick<CodingAgentOptions, 'sessionId' | 'resume' | 'persistSession'>,
  place: Place,
): Promise<NamedSession> {
  if (resume === undefined) return { sessionId: sessionId ?? randomUUID(), isResumed: false }
  if (persistSession === false)
    throw new ConfigurationError('A continued session is always stored. Remove persistSession or resume.')
  if (sessionId !== undefined)
    throw new ConfigurationError('A continued session keeps its ID. Use sessionId or resume, not both.')
  if (typeof resume === 'string') {
    const isThere = (await stat(sessionFile({ ...place, sessionId: resume })).catch(() => undefined))?.isFile() === true
    if (!isThere) throw new ConfigurationError(`No conversation of ${place.cwd} found with session ID: ${resume}`)
    return { sessionId: resume, isResumed: true }
  }
  const [newest] = await storedSessions(place, 'of this folder')
  if (newest === undefined) throw new ConfigurationError(`There is no stored session of ${place.cwd}.`)
  return { sessionId: newest.sessionId, isResumed: true }
}

/**
 * The folder of a session that is not stored, for large results of tools. Returns a function that removes it, unless
 * the folder existed before.
 */
export function prepareUnstoredFolder(place: SessionPlace): () => Promise<void> {
  const { base, parts } = sessionFolder(place)
  const folder = join(base, ...parts)
  if (existsSync(folder)) return () => Promise.resolve()
  return async () => {
    await rm(folder, { recursive: true, force: true })
    // The folder of the project, if that folder is empty.
    await rmdir(dirname(folder)).catch(() => undefined)
  }
}

/** The error message after `dispose`. */
export const disposedMessage = 'This session was disposed of. Open another one with codingAgent.'

/** A stored session, for its engine and its session object. */
export type OpenSessionFile = SessionFile

/**
 * A stored session. It is open from when an engine acquires it until all runs of that engine are on disk. J1: only one
 * engine writes the session. J2: the session is closed when no run is active. J3: a new session in which no run began
 * leaves no file.
 */
export class SessionOnDisk {
  readonly #place: SessionPlace
  readonly #isResumed: boolean
  readonly #redact: (text: string) => string
  #journal: SessionJournal | undefined
  #hasBegun = false
  #running: { readonly ended: Promise<void>; readonly end: () => void } | undefined

  constructor(place: Place, { sessionId, isResumed }: NamedSession, redact: (text: string) => string = (text) => text) {
    this.#redact = redact
    this.#place = { ...place, sessionId }
    this.#isResumed = isResumed
  }

  get path(): string {
    return sessionFile(this.#place)
  }

  /**
   * @throws HaltingError `driver` if another process writes the session, if the file is damaged, or if the file system
   * refuses.
   */
  async open(version: string): Promise<OpenSessionFile> {
    const { cwd, sessionId } = this.#place
    const options = { path: this.path, sessionId, cwd, version, redact: this.#redact }
    const journal = this.#isResumed ? await openJournal(options) : await openNewJournal(options)
    this.#journal = journal
    const { log } = journal
    return {
      sessionId,
      path: journal.path,
      // A rewind changes the ended runs.
      get ended() {
        return journal.ended
      },
      get stages() {
        return journal.stages ?? []
      },
      get transcript() {
        return journal.transcript
      },
      get open() {
        return journal.open
      },
      get isRewound() {
        return journal.isRewound === true
      },
      rewind: (message) => journal.rewind(message),
      messageOf: (message) => journal.messageOf(message),
      log: {
        ...log,
        append: (record) => {
          if (this.#journal !== journal) throw new ConfigurationError(disposedMessage)
          this.#hasBegun = true
          // Stages after a run are awaited by their caller.
          if (record.type !== 'stage') this.#running ??= ending()
          log.append(record)
        },
      },
    }
  }

  async flush(): Promise<void> {
    await this.#journal?.log.flush()
  }

  /** For `onResult`. */
  readonly ended = (_terminal: RunResult): void => {
    this.#running?.end()
    this.#running = undefined
  }

  /** Resolves when no run is running. */
  async settled(): Promise<void> {
    await this.#running?.ended
  }

  async close(): Promise<void> {
    const journal = this.#journal
    this.#journal = undefined
    if (journal === undefined) return
    await journal.close()
    if (!this.#hasBegun && !this.#isResumed) await rm(journal.path, { force: true })
  }
}

function ending(): { readonly ended: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { ended, end }
}
