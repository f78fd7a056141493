import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { headOfKept, storedSessions, sessionFolder } from '@halting/journal'
import { filesOfAllFolders } from '../foreign/all-session-files.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { whose } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'
import { isBelow } from '@halting/analysis/report'

/** Which sessions a report is of. */
export interface ReportScope {
  /** In words: `of this folder`. */
  readonly of: string
  /** Somebody said which: then all that is kept of it counts, and not the last days alone. */
  readonly isNamed: boolean
  readonly files: readonly string[]
  /** Sessions that worked elsewhere are no part of it; '' for any. */
  readonly below: string
}

/**
 * Those of this folder where nothing is said; of all folders; of a folder and what is below it; or those that are named.
 * @throws UsageError where nothing is kept there.
 */
export async function reportScope(flags: Flags, words: readonly string[], program: Program): Promise<ReportScope> {
  const { all = false, claudeCode = false, codex = false } = flags
  const others = claudeCode || codex
  const [folder, ...more] = words
  if (folder === undefined) {
    if (all) {
      const files = await filesOfAllFolders(flags, program)
      if (files.length === 0)
        throw new UsageError('No session is kept. halting -p begins one; a folder with files of sessions can be named.')
      return { of: 'of all folders', isNamed: false, below: '', files }
    }
    if (!others) return { of: 'of this folder', isNamed: false, below: '', files: await findSessionFiles([], program) }
    const names = [...(claudeCode ? ['Claude Code'] : []), ...(codex ? ['Codex'] : [])].join(' and ')
    const files = await findSessionFiles(foreignFolders(flags, program), program)
    return { of: `of ${names}`, isNamed: false, below: '', files }
  }
  if (all) throw new UsageError('--all means the sessions of all folders, so it goes without a folder.')
  const path = resolve(program.cwd, folder)
  if (more.length === 0 && (await stat(path).catch(() => undefined))?.isDirectory() === true) {
    const own = await sessionsBelow(path, program)
    // Files of other programs do not tell in their names where they worked: all are read.
    const foreign = others ? await findSessionFiles(foreignFolders(flags, program), program) : []
    if (own.length > 0 || others)
      return { of: `of ${displayFolder(path, program)}`, isNamed: true, below: path, files: [...own, ...foreign] }
  }
  const names = words.length === 1 ? oneLine(folder, 60) : `${words.length} names`
  const files = await findSessionFiles([...words, ...foreignFolders(flags, program)], program)
  return { of: `in ${names}`, isNamed: true, below: '', files }
}

/** Sessions of ours that worked in a folder, or below it: their first lines say so. */
async function sessionsBelow(folder: string, program: Program): Promise<readonly string[]> {
  const all = await storedSessions(whose(program), 'all')
  const [own = ''] = sessionFolder({ ...whose(program), cwd: folder, sessionId: 'any' }).parts
  const below = own.endsWith('-') ? own : `${own}-`
  return all.flatMap(({ path, project }) => {
    try {
      return isBelow(headOfKept(path).cwd, folder) ? [path] : []
    } catch {
      // It is named as a file that cannot be read, where its place says that it may have worked there.
      return project === own || project.startsWith(below) ? [path] : []
    }
  })
}

function displayFolder(path: string, { cwd, env }: Program): string {
  if (path === cwd) return 'this folder'
  const home = env['HOME'] ?? homedir()
  return oneLine(isBelow(path, home) ? join('~', relative(home, path)) : path, 60)
}
