import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import {
  entryOfLine,
  readJournal,
  endsOf,
  ResumeRejectedError,
  type KeptFile,
  openJournal,
  sessionFile,
  sessionFolder,
  type SessionJournal,
} from '@halting/journal'
import type { ForeignSession } from '@halting/analysis/foreign'
import { messageOf } from '@halting/core/adapters'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { versionOf } from '../version.ts'
import { whose } from './whose.ts'

// What only a session that goes on needs is loaded for that.

/** The session of a run: where it is from, and whether it is kept. */
export interface ChosenSession {
  readonly sessionId: string
  /** `kept`: it goes on with what is on disk; `new`: it is written from its beginning; `unkept`: nothing is; `elsewhere`: others keep it. */
  readonly kind: 'kept' | 'new' | 'unkept' | 'elsewhere'
  /** The person named it: then it is an error if it cannot be kept. */
  readonly isNamed: boolean
  /** The session that it begins as a copy of. */
  readonly forkOf?: KeptFile
  /** The session of another program that it goes on with, in a file of its own. */
  readonly takenFrom?: ForeignSession
  /** The message that is the last of the conversation that is left. */
  readonly resumeAt?: string
  /** The prompt of the one turn that may be taken back by that. */
  readonly dropsTurn?: string
  /** Folders of results that it may read although they are not its own. */
  readonly readableFolders: readonly string[]
}

/** @throws UsageError for a session that is not there, or is there although it should be new. */
export async function chooseSession(flags: Flags, program: Program): Promise<ChosenSession> {
  const { resume, sessionId, forkSession: forks, noSessionPersistence } = flags
  const plain = { readableFolders: [], isNamed: sessionId !== undefined }
  if (noSessionPersistence === true) return { ...plain, sessionId: sessionId ?? randomUUID(), kind: 'unkept' }
  const goesOn = resume !== undefined || flags.continue === true
  if (!goesOn && sessionId === undefined) return { ...plain, sessionId: randomUUID(), kind: 'new' }
  const { newestSession, ownSession, refuseTaken } = await import('./find-session.ts')
  if (sessionId !== undefined) await refuseTaken(sessionId, program)
  if (!goesOn) return { ...plain, sessionId: sessionId ?? randomUUID(), kind: 'new' }
  const { resumeSessionAt: resumeAt, resumeDropsTurn: dropsTurn } = flags
  const at = { ...(resumeAt !== undefined && { resumeAt }), ...(dropsTurn !== undefined && { dropsTurn }) }
  if (resume !== undefined) {
    const { foreignToResume } = await import('../foreign/find-foreign.ts')
    const takenFrom = await foreignToResume(resume, program)
    const own = forks === true ? (sessionId ?? randomUUID()) : takenFrom?.sessionId
    if (takenFrom !== undefined && own !== undefined)
      return { sessionId: own, kind: 'kept', isNamed: true, takenFrom, readableFolders: [], ...at }
  }
  const file = resume === undefined ? await newestSession(program) : await ownSession(resume, program)
  if (forks !== true) return { sessionId: file.sessionId, kind: 'kept', isNamed: true, readableFolders: [], ...at }
  return {
    sessionId: sessionId ?? randomUUID(),
    kind: 'kept',
    isNamed: true,
    forkOf: file,
    ...at,
    readableFolders: endsOf(sessionFolder({ ...whose(program), sessionId: file.sessionId })),
  }
}

/** A session of which this program writes no file. */
export function keptElsewhere({ sessionId }: { readonly sessionId: string }): ChosenSession {
  return { sessionId, kind: 'elsewhere', isNamed: true, readableFolders: [] }
}

/** Opens what was chosen; undefined for a session that is kept in no file. @throws UsageError where a person named it and it cannot be opened. */
export async function openSession(
  chosen: ChosenSession,
  program: Program,
  title?: string,
): Promise<SessionJournal | undefined> {
  // What is written from here on is of a run.
  const redact = createKeyRedactor(program.env)
  program.output.redactWith(redact)
  if (chosen.kind === 'unkept' || chosen.kind === 'elsewhere') return undefined
  const { sessionId, forkOf, takenFrom, isNamed } = chosen
  const path = sessionFile({ ...whose(program), sessionId })
  const named = title === undefined ? {} : { title }
  const options = {
    path,
    sessionId,
    cwd: program.cwd,
    version: versionOf(program),
    redact,
    ...named,
  }
  try {
    if (forkOf !== undefined) {
      const { forkSession } = await import('./fork.ts')
      await forkSession(forkOf.path, options)
    }
    if (takenFrom !== undefined) {
      const { takeOver, programNames } = await import('./fork.ts')
      await takeOver(takenFrom, options)
      const from = `${programNames[takenFrom.program]} (${takenFrom.path}, which stays as it is)`
      program.output.err(told(`goes on with a session of ${from} as the session ${sessionId}`))
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
      await closeSession(journal, false, chosen)
      throw thrown
    }
  } catch (thrown) {
    if (thrown instanceof ResumeRejectedError) throw thrown
    if (isNamed) throw new UsageError(messageOf(thrown))
    program.output.err(told(`this session is not kept: ${messageOf(thrown)}`))
    return undefined
  }
}

/** Closes it. A new one in which nothing has begun leaves nothing behind. */
export async function closeSession(
  journal: SessionJournal | undefined,
  hasBegun: boolean,
  { kind, forkOf, takenFrom }: ChosenSession,
): Promise<void> {
  if (journal === undefined) return
  await journal.close()
  if (hasBegun || (kind === 'kept' && forkOf === undefined && takenFrom === undefined)) return
  if (forkOf !== undefined) {
    const { removeFork } = await import('./fork.ts')
    return removeFork(journal.path)
  }
  await rm(journal.path, { force: true })
}
