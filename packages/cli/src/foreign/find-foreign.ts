import { existsSync } from 'node:fs'
import { storedSessions } from '@halting/journal'
import {
  findForeign,
  foreignFolder,
  programNames,
  readForeignSession,
  type ForeignFile,
  type ForeignSession,
} from '@halting/analysis/foreign'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'

/** Finds a session of another program by its ID or the unique beginning of one; `only` limits the program. @throws UsageError if several match */
export async function findForeignSession(
  id: string,
  program: Program,
  only?: ForeignFile['program'],
): Promise<ForeignFile | undefined> {
  const all = await findForeign(id, sessionScope(program))
  const found = all.filter((file) => only === undefined || file.program === only)
  const [first] = found
  if (found.length < 2) return first
  const ids = found.slice(0, 5).map(({ sessionId }) => sessionId)
  throw new UsageError(
    `${found.length} sessions of Claude Code and Codex begin with ${id}: ${ids.join(', ')}. Name one.`,
  )
}

/** The session folders of the programs that the flags name. @throws UsageError for a folder that does not exist */
export function foreignFolders({ claudeCode, codex }: Flags, program: Program): readonly string[] {
  return (['claude-code', 'codex'] as const)
    .filter((name) => (name === 'codex' ? codex : claudeCode) === true)
    .map((name) => {
      const folder = foreignFolder(name, sessionScope(program))
      if (existsSync(folder)) return folder
      throw new UsageError(`No sessions of ${programNames[name]} found in ${folder}.`)
    })
}

/**
 * Finds the session of another program that `--resume ID` refers to, if no session of halting matches.
 * @throws UsageError if it belongs to another folder, or cannot be read
 */
export async function foreignToResume(id: string, program: Program): Promise<ForeignSession | undefined> {
  const lowerCaseId = id.toLowerCase()
  const own = await storedSessions(sessionScope(program), 'all', 'to choose from')
  if (own.some(({ sessionId }) => sessionId.toLowerCase().startsWith(lowerCaseId))) return undefined
  const file = await findForeignSession(id, program)
  if (file === undefined) return undefined
  const session = await readForeignSession(file.path, 'newest_branch').catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  const { cwd = program.cwd } = session
  if (cwd === program.cwd) return session
  throw new UsageError(
    `The session ${file.sessionId} belongs to the folder ${cwd}. Resume it there: cd ${shellQuoted([cwd])} && halting --resume ${file.sessionId}`,
  )
}
