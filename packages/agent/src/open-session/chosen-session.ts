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
import { whose } from './whose.ts'

// What only a session that goes on needs is loaded for that.

/** The session of a run: where it is from, and whether it is kept. */
export interface ChosenSession {
  /** Id of the session. */
  readonly sessionId: string
  /** `kept`: it goes on with what is on disk; `new`: it is written from its beginning; `unkept`: nothing is; `elsewhere`: others keep it. */
  readonly kind: 'kept' | 'new' | 'unkept' | 'elsewhere'
  /** The person named it: then it is an error if it cannot be kept. */
  readonly isNamed: boolean
  /** The session that it begins as a copy of. */
  readonly forkOf?: StoredSessionFile
  /** The session of another program that it continues, in a file of its own. */
  readonly takenFrom?: OtherProgramsSession
  /** The message that is the last of the conversation that is left. */
  readonly resumeAt?: string
  /** The prompt of the one turn that may be taken back by that. */
  readonly dropsTurn?: string
  /** Folders of results that it may read although they are not its own. */
  readonly readableFolders: readonly string[]
}

/** A session of another program, which stays as it is. */
export interface OtherProgramsSession {
  /** Name of the program. */
  readonly program: string
  /** Path of its file. */
  readonly path: string
  /** Writes its conversation as the beginning of a new journal. @throws HaltingError where nothing was said in it. */
  copyTo(journal: JournalOptions): Promise<void>
}

/** A session of which this program writes no file. */
export function keptElsewhere({ sessionId }: { readonly sessionId: string }): ChosenSession {
  return { sessionId, kind: 'elsewhere', isNamed: true, readableFolders: [] }
}

/** Opens what was chosen; undefined for a session that is kept in no file. @throws ConfigurationError where a person named it and it cannot be opened. */
export async function openJournalOf(
  chosen: ChosenSession,
  ports: SessionPorts,
  title?: string,
): Promise<SessionJournal | undefined> {
  // What is written from here on is of a run.
  const redact = createKeyRedactor(ports.env)
  ports.redactWith?.(redact)
  const notify = (notice: SessionNotice): void => ports.note(ports.wordNotice(notice))
  if (chosen.kind === 'unkept' || chosen.kind === 'elsewhere') return undefined
  const { sessionId, forkOf, takenFrom, isNamed } = chosen
  const path = sessionFile({ ...whose(ports), sessionId })
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
    // Whoever has chosen a store does not want a run that is nowhere.
    if (isNamed || (ports.env[sessionStoreVariable] ?? '') !== '') throw new ConfigurationError(messageOf(thrown))
    notify({ kind: 'session_not_stored', why: messageOf(thrown) })
    return undefined
  }
}

/** Closes it. A new one in which nothing has begun leaves nothing behind. */
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

/** A copy under an id of its own. */
export async function forkOf(journal: SessionJournal, ports: SessionPorts): Promise<string> {
  const { forkSession } = await import('./fork.ts')
  const sessionId = randomUUID()
  await journal.log.flush()
  const path = sessionFile({ ...whose(ports), sessionId })
  await forkSession(journal.path, { path, sessionId, cwd: ports.cwd, version: ports.version() })
  return sessionId
}
