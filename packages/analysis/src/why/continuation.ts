import { realpath } from 'node:fs/promises'
import type { RunResult } from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { readAnswers, storedSessions, type SessionPlace, type StoredSessionFile } from '@halting/journal'
import { findForeign } from '../foreign/find-foreign.ts'
import type { ForeignSession } from '../foreign/session.ts'
import type { AnySession } from '../sessions/read-session.ts'
import { waitingCalls } from '../transcript/waiting-calls.ts'
import { terminalOf } from './terminal-of.ts'

/** How a session in a file can continue. */
export type SessionContinuation =
  /** Move the file first: it is not in a folder of resumable sessions of its program. */
  | {
      readonly kind: 'move-file'
      /** The session; undefined for one of Halting. */
      readonly foreign: ForeignSession | undefined
    }
  /** As a copy, because another program recorded it. */
  | {
      readonly kind: 'copy'
      /** The session. */
      readonly foreign: ForeignSession
    }
  /** With a prompt, because its conversation was rewound. */
  | { readonly kind: 'rewound' }
  /** Every call that waited for a person now has an answer. */
  | { readonly kind: 'answered' }
  /** According to the ending of its last run. */
  | {
      readonly kind: 'ending'
      /** How the last run ended; undefined for a run that has not ended. */
      readonly terminal: RunResult | undefined
    }

/** Determines how a session that was read from this file can continue. */
export async function sessionContinuation(
  session: AnySession,
  path: string,
  place: Omit<SessionPlace, 'sessionId'>,
): Promise<SessionContinuation> {
  const { sessionId, cwd, runs, foreign } = session
  const stored =
    foreign === undefined ? await storedSessions(place, 'all', 'to choose from') : await findForeign(sessionId, place)
  if (!(await isAmong(path, sessionId, stored))) return { kind: 'move-file', foreign }
  if (foreign !== undefined) return { kind: 'copy', foreign }
  const folded = foldSession(runs)
  if (folded.isRewound === true) return { kind: 'rewound' }
  const calls = waitingCalls(folded)
  if (calls.length > 0) {
    const answers = await readAnswers({ ...place, cwd, sessionId }, folded.ended.at(-1)?.runId ?? '')
    if (calls.every(({ id }) => answers[id] !== undefined)) return { kind: 'answered' }
  }
  return { kind: 'ending', terminal: terminalOf(runs.at(-1) ?? []) }
}

/** Whether the file itself is listed, under any path; copies do not count. */
async function isAmong(
  path: string,
  sessionId: string,
  stored: readonly Pick<StoredSessionFile, 'path' | 'sessionId'>[],
): Promise<boolean> {
  const own = await realpath(path)
  for (const file of stored) if (file.sessionId === sessionId && (await realpath(file.path)) === own) return true
  return false
}
