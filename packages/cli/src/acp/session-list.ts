import type { ListSessionsResponse, SessionInfo } from '@agentclientprotocol/sdk'
import { deleteSession, refreshSession, type StoredSessionFile, storedSessions } from '@halting/journal'
import type { TranscriptEntry } from '@halting/core'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { readRecordedTranscript } from '@halting/analysis/transcript'
import { sessionScope } from '@halting/agent/session-settings'

const pageSize = 50
const titleWidth = 100

/** The stored sessions, newest first, one page at a time. Undefined for an invalid cursor. */
export async function listSessions(
  { cwd: folder, cursor }: { readonly cwd?: string | null; readonly cursor?: string | null },
  program: Pick<Program, 'cwd' | 'env'>,
): Promise<ListSessionsResponse | undefined> {
  const start = cursor === undefined || cursor === null ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined
  if (start === undefined) return undefined
  const cwd = folder ?? undefined
  const all = await storedSessions(
    sessionScope({ ...program, cwd: cwd ?? program.cwd }),
    cwd === undefined ? 'all' : 'of this folder',
  )
  const { summariesOf } = await import('../stored-sessions/session-summaries.ts')
  const page = await summariesOf(all.slice(start, start + pageSize))
  const sessions = page.flatMap(
    ({ sessionId, cwd: where, title: storedTitle, firstPrompt, changedAt }): readonly SessionInfo[] => {
      // A session without a known folder cannot be resumed.
      if (where === undefined) return []
      const title = titleOf(storedTitle ?? firstPrompt)
      return [{ sessionId, cwd: where, ...(title !== '' && { title }), updatedAt: changedAt.toISOString() }]
    },
  )
  const next = start + pageSize
  return { sessions, ...(next < all.length && { nextCursor: String(next) }) }
}

/** The title or first prompt of a conversation, for a list. */
export function titleOf(firstPrompt: string): string {
  return oneLine(firstPrompt, titleWidth)
}

/** The file of a session; undefined for an unknown id. */
export async function findSessionFile(
  sessionId: string,
  program: Pick<Program, 'cwd' | 'env'>,
): Promise<StoredSessionFile | undefined> {
  const all = await storedSessions(sessionScope(program), 'all', 'to choose from')
  const found = all.find((file) => file.sessionId === sessionId)
  if (found !== undefined) await refreshSession(found)
  return found
}

/** The whole conversation, including an unfinished run. */
export async function readEntries({ path }: StoredSessionFile): Promise<readonly TranscriptEntry[]> {
  // An interrupted turn is repeated when the session continues.
  return [...(await readRecordedTranscript(path))]
}

/** Deletes the session; does nothing if it is gone. @throws Error if another process is writing it. */
export async function removeSession(sessionId: string, program: Pick<Program, 'cwd' | 'env'>): Promise<void> {
  const file = await findSessionFile(sessionId, program)
  if (file !== undefined) await deleteSession(file)
}
