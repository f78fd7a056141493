import { storedSessions } from '@halting/journal'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { whose } from '@halting/agent/session-settings'
import { foreignFolders } from './find-foreign.ts'

/**
 * Files of the sessions of halting of all folders, and of the programs that flags name.
 * @throws UsageError for the folder of a program that does not exist, or has no session.
 */
export async function filesOfAllFolders(flags: Flags, program: Program): Promise<readonly string[]> {
  const own = (await storedSessions(whose(program), 'all')).map(({ path }) => path)
  const folders = foreignFolders(flags, program)
  return folders.length === 0 ? own : [...own, ...(await findSessionFiles(folders, program))]
}
