import { realpath } from 'node:fs/promises'
import { storedSessions, readAnswers, type StoredSessionFile } from '@halting/journal'
import { findForeign, programNames, type ForeignSession } from '@halting/analysis/foreign'
import { foldSession } from '@halting/core/steps'
import type { AnySession } from '@halting/analysis/sessions'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { waitingCalls } from '../stored-sessions/waiting-calls.ts'
import { whose } from '@halting/agent/session-settings'
import { answeredGoOn, goOn, type GoOn, type Where } from './go-on.ts'
import { terminalOf } from '@halting/analysis/why'

/** What has a session go on, and a command only where that does what it says. */
export async function wayOn(session: AnySession, path: string, program: Program): Promise<GoOn> {
  const { sessionId, cwd: sessionCwd, runs, foreign } = session
  const where: Where = { sessionId, sessionCwd, cwd: program.cwd }
  const kept =
    foreign === undefined ? await storedSessions(whose(program), 'all') : await findForeign(sessionId, whose(program))
  const whoseFile = foreign === undefined ? 'this program' : programNames[foreign.program]
  if (!(await isAmong(path, sessionId, kept)))
    return { says: `To continue it, move the file to where --resume looks: among the sessions of ${whoseFile}.` }
  if (foreign !== undefined) return goOnForeign(foreign, where)
  const folded = foldSession(runs)
  if (folded.isRewound === true)
    return { says: 'Its conversation was rewound. Continue it with --resume and a prompt.' }
  const calls = waitingCalls(folded)
  if (calls.length > 0) {
    const answers = await readAnswers(
      { ...whose(program), cwd: sessionCwd, sessionId },
      folded.ended.at(-1)?.runId ?? '',
    )
    if (calls.every(({ id }) => answers[id] !== undefined)) return answeredGoOn(where)
  }
  return goOn(terminalOf(runs.at(-1) ?? []), where)
}

/** The file itself, however its path is written; not a copy of it. */
async function isAmong(
  path: string,
  sessionId: string,
  kept: readonly Pick<StoredSessionFile, 'path' | 'sessionId'>[],
): Promise<boolean> {
  const own = await realpath(path)
  for (const file of kept) if (file.sessionId === sessionId && (await realpath(file.path)) === own) return true
  return false
}

/** It goes on in a session of ours, with a copy of what was said. */
function goOnForeign({ program }: ForeignSession, { sessionId, sessionCwd, cwd }: Where): GoOn {
  const command = `halting ${shellQuoted(['-p', '--resume', sessionId, 'Go on.'])}`
  return {
    says: `This goes on with a copy of it; the file of ${programNames[program]} stays as it is:`,
    command: sessionCwd === cwd || sessionCwd === '' ? command : `cd ${shellQuoted([sessionCwd])} && ${command}`,
  }
}
