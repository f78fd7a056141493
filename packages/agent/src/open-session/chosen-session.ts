import { ConfigurationError } from '@halting/core'
import type { SessionNotice, SessionPorts } from './ports.ts'
import { randomUUID } from 'node:crypto'
import { discardSession, entryOfLine, readJournal, sessionStoreVariable } from '@halting/journal'
import { ResumeRejectedError } from '@halting/journal'
import type { StoredSessionFile } from '@halting/journal'
import { type JournalOptions, openJournal, type SessionJournal } from '@halting/journal'
import { sessionFile } from '@halting/journal'
import { messageOf } from '@halting/core/adapters'
import { createKeyRedactor } from '@halting/models'
import { sessionScope } from './session-scope.ts'

// Code that only resumed sessions need is loaded on demand.

/** The session of a run: its origin, and whether it is stored. */
export interface ChosenSession {
  /** Id of the session. */
  readonly sessionId: string
  /**
   * `kept`: continues the session on disk. `new`: stored from its beginning. `unkept`: not stored. `elsewhere`: stored
   * by another component.
   */
  readonly kind: 'kept' | 'new' | 'unkept' | 'elsewhere'
  /** Whether the user named the session; then a failure to store it is an error. */
  readonly isNamed: boolean
  /** The session of which this session starts as a copy. */
  readonly forkOf?: StoredSessionFile
  /** The session of another program that this session continues, in a separate file. */
  readonly takenFrom?: OtherProgramsSession
  /** Id of the message that becomes the last one of the conversation. */
  readonly resumeAt?: string
  /** The prompt of the only turn that `resumeAt` may remove. */
  readonly dropsTurn?: string
  /** Folders of other sessions' results that this session may read. */
  readonly readableFolders: readonly string[]
}

/** A session of another program, which stays unchanged. */
export interface OtherProgramsSession {
  /** Name of the program. */
  readonly program: string
  /** Path of its file. */
  readonly path: string
  /**
   * Writes the conversation as the beginning of a new journal.
   * @throws HaltingError if the conversation has no messages.
   */
  copyTo(journal: JournalOptions): Promise<void>
}

/** A session whose file this program does not write. */
export function externalSession({ sessionId }: { readonly sessionId: string }): ChosenSession {
  return { sessionId, kind: 'elsewhere', isNamed: true, readableFolders: [] }
}

/**
 * Opens the chosen session; undefined for one that is not stored in a file.
 * @throws ConfigurationError if the user named it and it cannot be opened.
 */
export async function openJournalOf(
  chosen: ChosenSession,
  ports: SessionPorts,
  title?: string,
): Promise<SessionJournal | undefined> {
  // Everything that is written from this point on belongs to a run.
  const redact = createKeyRedactor(ports.env)
  ports.redactWith?.(redact)
  const notify = (notice: SessionNotice): void => ports.note(ports.wordNotice(notice))
  if (chosen.kind === 'unkept' || chosen.kind === 'elsewhere') return undefined
  const { sessionId, forkOf, takenFrom, isNamed } = chosen
  const path = sessionFile({ ...sessionScope(ports), sessionId })
  const named = title === undefined ? {} : { title }
  const options = {
    path,
    sessionId,
    cwd: ports.cwd,
    version: ports.version(),
    redact,
    ...named,
  }
  try {
    if (forkOf !== undefined) {
      const { forkSession } = await import('./fork.ts')
      await forkSession(forkOf.path, options)
    }
    if (takenFrom !== undefined) {
      await takenFrom.copyTo(options)
      notify({ kind: 'session_taken_over', program: takenFrom.program, path: takenFrom.path, sessionId })
    }
    const journal = await openJournal(options)
    if (chosen.resumeAt === undefined) return journal
    try {
      const read = forkOf === undefined ? undefined : await readJournal(forkOf.path)
      const entryOf = (uuid: string): string => (read === undefined ? uuid : entryOfLine(read, uuid))
      const dropsTurn = chosen.dropsTurn === undefined ? undefined : entryOf(chosen.dropsTurn)
      await journal.rewindAfter(entryOf(chosen.resumeAt), forkOf === undefined ? [] : [forkOf.sessionId], dropsTurn)
      return journal
    } catch (thrown) {
      await closeJournalOf(journal, false, chosen)
      throw thrown
    }
  } catch (thrown) {
    if (thrown instanceof ResumeRejectedError) throw thrown
    // A user who has chosen a store does not want a run that is not stored.
    if (isNamed || (ports.env[sessionStoreVariable] ?? '') !== '') throw new ConfigurationError(messageOf(thrown))
    notify({ kind: 'session_not_stored', why: messageOf(thrown) })
    return undefined
  }
}

/** Closes the journal. Removes a new session in which nothing has begun. */
export async function closeJournalOf(
  journal: SessionJournal | undefined,
  hasBegun: boolean,
  { kind, forkOf, takenFrom }: ChosenSession,
): Promise<void> {
  if (journal === undefined) return
  await journal.close()
  if (hasBegun || (kind === 'kept' && forkOf === undefined && takenFrom === undefined)) return
  if (forkOf !== undefined) {
    const { removeFork } = await import('./fork.ts')
    return removeFork(journal.path, journal.sessionId)
  }
  await discardSession(journal)
}

/** Copies the session under a new id. */
export async function forkOf(journal: SessionJournal, ports: SessionPorts): Promise<string> {
  const { forkSession } = await import('./fork.ts')
  const sessionId = randomUUID()
  await journal.log.flush()
  const path = sessionFile({ ...sessionScope(ports), sessionId })
  await forkSession(journal.path, { path, sessionId, cwd: ports.cwd, version: ports.version() })
  return sessionId
}
