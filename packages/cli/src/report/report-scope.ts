import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { readSessionHead, storedSessions, sessionFolder } from '@halting/journal'
import { filesOfAllFolders } from '../foreign/all-session-files.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'
import { isBelow } from '@halting/analysis/report'

/** The sessions that a report covers. */
export interface ReportScope {
  /** A description: `of this folder`. */
  readonly of: string
  /** Whether the user named them: then the report covers all of their runs, not only the last days. */
  readonly isNamed: boolean
  readonly files: readonly string[]
  /** Only sessions that worked below this folder; '' for all. */
  readonly below: string
}

/** Finds the sessions of a report: of this folder by default, of all folders, below one folder, or named ones. @throws UsageError if there are none */
export async function reportScope(flags: Flags, words: readonly string[], program: Program): Promise<ReportScope> {
  const { all = false, claudeCode = false, codex = false } = flags
  const others = claudeCode || codex
  const [folder, ...more] = words
  if (folder === undefined) {
    if (all) {
      const files = await filesOfAllFolders(flags, program)
      if (files.length === 0)
        throw new UsageError('No sessions found. halting -p starts one; you can also name a folder with session files.')
      return { of: 'of all folders', isNamed: false, below: '', files }
    }
    if (!others) return { of: 'of this folder', isNamed: false, below: '', files: await findSessionFiles([], program) }
    const names = [...(claudeCode ? ['Claude Code'] : []), ...(codex ? ['Codex'] : [])].join(' and ')
    const files = await findSessionFiles(foreignFolders(flags, program), program)
    return { of: `of ${names}`, isNamed: false, below: '', files }
  }
  if (all) throw new UsageError('--all means the sessions of all folders. Remove it, or the folder.')
  const path = resolve(program.cwd, folder)
  if (more.length === 0 && (await stat(path).catch(() => undefined))?.isDirectory() === true) {
    const own = await sessionsBelow(path, program)
    // File names of other programs do not contain the folder, so all of their files are read.
    const foreign = others ? await findSessionFiles(foreignFolders(flags, program), program) : []
    if (own.length > 0 || others)
      return { of: `of ${displayFolder(path, program)}`, isNamed: true, below: path, files: [...own, ...foreign] }
  }
  const names = words.length === 1 ? oneLine(folder, 60) : `${words.length} names`
  const files = await findSessionFiles([...words, ...foreignFolders(flags, program)], program)
  return { of: `in ${names}`, isNamed: true, below: '', files }
}

/** Sessions of halting that worked in a folder or below it, according to their first lines. */
async function sessionsBelow(folder: string, program: Program): Promise<readonly string[]> {
  const all = await storedSessions(sessionScope(program), 'all')
  const [own = ''] = sessionFolder({ ...sessionScope(program), cwd: folder, sessionId: 'any' }).parts
  const below = own.endsWith('-') ? own : `${own}-`
  return all.flatMap(({ path, project }) => {
    try {
      return isBelow(readSessionHead(path).cwd, folder) ? [path] : []
    } catch {
      // If the location suggests that the session may have worked there, the file is listed as unreadable.
      return project === own || project.startsWith(below) ? [path] : []
    }
  })
}

function displayFolder(path: string, { cwd, env }: Program): string {
  if (path === cwd) return 'this folder'
  const home = env['HOME'] ?? homedir()
  return oneLine(isBelow(path, home) ? join('~', relative(home, path)) : path, 60)
}
