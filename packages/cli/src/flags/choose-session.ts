import { endsOf, type JournalOptions, sessionFolder } from '@halting/agent'
import { type ChosenSession } from '@halting/agent/open-session'
import { sessionScope } from '@halting/agent/session-settings'
import { newUuid } from '@halting/journal/files'
import type { Flags } from './flags.ts'
import type { Program } from '../program.ts'

// Code that only resumed sessions need is loaded on demand.

/** Finds the session that the flags name. @throws UsageError if it does not exist, or its ID is already in use */
export async function chooseSession(flags: Flags, program: Program): Promise<ChosenSession> {
  const { resume, sessionId, forkSession: forks, noSessionPersistence } = flags
  const plain = { readableFolders: [], isNamed: sessionId !== undefined }
  if (noSessionPersistence === true) return { ...plain, sessionId: sessionId ?? newUuid(), kind: 'unkept' }
  const isContinuing = resume !== undefined || flags.continue === true
  if (!isContinuing && sessionId === undefined) return { ...plain, sessionId: newUuid(), kind: 'new' }
  const { newestSession, sessionOfThisFolder, refuseUsedId } = await import('../stored-sessions/find-session.ts')
  if (sessionId !== undefined) await refuseUsedId(sessionId, program)
  if (!isContinuing) return { ...plain, sessionId: sessionId ?? newUuid(), kind: 'new' }
  const { resumeSessionAt: resumeAt, resumeDropsTurn: dropsTurn } = flags
  const at = { ...(resumeAt !== undefined && { resumeAt }), ...(dropsTurn !== undefined && { dropsTurn }) }
  if (resume !== undefined) {
    const { foreignToResume } = await import('../foreign/find-foreign.ts')
    const foreign = await foreignToResume(resume, program)
    const own = forks === true ? (sessionId ?? newUuid()) : foreign?.sessionId
    if (foreign !== undefined && own !== undefined) {
      const { programNames, takeOver } = await import('@halting/analysis/foreign')
      const takenFrom = {
        program: programNames[foreign.program],
        path: foreign.path,
        copyTo: async (journal: JournalOptions) => takeOver(foreign, journal),
      }
      return { sessionId: own, kind: 'kept', isNamed: true, takenFrom, readableFolders: [], ...at }
    }
  }
  const file = resume === undefined ? await newestSession(program) : await sessionOfThisFolder(resume, program)
  if (forks !== true) return { sessionId: file.sessionId, kind: 'kept', isNamed: true, readableFolders: [], ...at }
  return {
    sessionId: sessionId ?? newUuid(),
    kind: 'kept',
    isNamed: true,
    forkOf: file,
    ...at,
    readableFolders: endsOf(sessionFolder({ ...sessionScope(program), sessionId: file.sessionId })),
  }
}
