import { storedSessions } from '@halting/journal'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { foreignFolders } from './find-foreign.ts'

/**
 * Session files of halting in all folders, and of the programs that the flags name.
 * @throws UsageError if a program's folder does not exist or has no sessions
 */
export async function filesOfAllFolders(flags: Flags, program: Program): Promise<readonly string[]> {
  const own = (await storedSessions(sessionScope(program), 'all')).map(({ path }) => path)
  const folders = foreignFolders(flags, program)
  return folders.length === 0 ? own : [...own, ...(await findSessionFiles(folders, program))]
}
