import { readdir } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { configFolder } from '@halting/journal/files'
import { idIn } from './read-foreign.ts'
import type { ForeignProgram } from './session.ts'

/** Where to look for sessions of other programs. */
export interface ForeignPlace {
  /** Only sessions of this working directory. */
  readonly cwd: string
  /** The user's home folder. */
  readonly home: string
  /** The environment: some variables move the files. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The file of a session of another program. */
export interface ForeignFile {
  /** Which program recorded it. */
  readonly program: ForeignProgram
  /** Id of the session. */
  readonly sessionId: string
  /** Path of the file. */
  readonly path: string
}

/** The folder of a program's sessions: `~/.claude/projects` or below `CLAUDE_CONFIG_DIR`; `~/.codex/sessions` or below `CODEX_HOME`. */
export function foreignFolder(program: ForeignProgram, place: ForeignPlace): string {
  if (program === 'claude-code') return join(configFolder('claude', place), 'projects')
  return join(resolve(place.cwd, place.env['CODEX_HOME'] || join(place.home, '.codex')), 'sessions')
}

/** The files of all sessions of a program, by the ids in their names. Does not read the files. */
async function foreignFiles(program: ForeignProgram, place: ForeignPlace): Promise<readonly ForeignFile[]> {
  const folder = foreignFolder(program, place)
  // With `withFileTypes`, links to folders are not followed: they could form a cycle.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  return names.toSorted().flatMap((name) => {
    const sessionId = idIn(name)
    const isOwn = program === 'codex' ? basename(name).startsWith('rollout-') : !/(?:^|[/\\])agent-[^/\\]*$/.test(name)
    return sessionId === undefined || !isOwn ? [] : [{ program, sessionId, path: join(folder, name) }]
  })
}

/** The minimum length of an abbreviated id. */
const minLetters = 4

/** Sessions of other programs with this id, or with an id that starts with it. */
export async function findForeign(id: string, place: ForeignPlace): Promise<readonly ForeignFile[]> {
  const prefix = id.toLowerCase()
  const all = [...(await foreignFiles('claude-code', place)), ...(await foreignFiles('codex', place))]
  const exact = all.filter(({ sessionId }) => sessionId.toLowerCase() === prefix)
  if (exact.length > 0) return exact.slice(-1)
  return prefix.length < minLetters ? [] : all.filter(({ sessionId }) => sessionId.toLowerCase().startsWith(prefix))
}
