import { readdir } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { configFolder } from '@halting/journal/files'
import { idIn } from './read-foreign.ts'
import type { ForeignProgram } from './session.ts'

/** Whose sessions are looked for. */
export interface ForeignPlace {
  /** Only sessions of this working directory. */
  readonly cwd: string
  /** The person's own folder. */
  readonly home: string
  /** The environment, for variables that move the files. */
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

/** Where a program keeps its sessions: `~/.claude/projects` or what `CLAUDE_CONFIG_DIR` says; `~/.codex/sessions` or what `CODEX_HOME` says. */
export function foreignFolder(program: ForeignProgram, place: ForeignPlace): string {
  if (program === 'claude-code') return join(configFolder('claude', place), 'projects')
  return join(resolve(place.cwd, place.env['CODEX_HOME'] || join(place.home, '.codex')), 'sessions')
}

/** The files of all sessions that a program keeps, by the ids in their names. Reads names alone. */
async function foreignFiles(program: ForeignProgram, place: ForeignPlace): Promise<readonly ForeignFile[]> {
  const folder = foreignFolder(program, place)
  // With their types links to folders are not followed: they may lead back here.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const names = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  return names.toSorted().flatMap((name) => {
    const sessionId = idIn(name)
    const isOwn = program === 'codex' ? basename(name).startsWith('rollout-') : !/(?:^|[/\\])agent-[^/\\]*$/.test(name)
    return sessionId === undefined || !isOwn ? [] : [{ program, sessionId, path: join(folder, name) }]
  })
}

/** Letters that are enough of an id, where they are the beginning of one alone. */
const leastLetters = 4

/** Sessions of other programs with this id, or whose id begins so. */
export async function findForeign(id: string, place: ForeignPlace): Promise<readonly ForeignFile[]> {
  const given = id.toLowerCase()
  const all = [...(await foreignFiles('claude-code', place)), ...(await foreignFiles('codex', place))]
  const exact = all.filter(({ sessionId }) => sessionId.toLowerCase() === given)
  if (exact.length > 0) return exact.slice(-1)
  return given.length < leastLetters ? [] : all.filter(({ sessionId }) => sessionId.toLowerCase().startsWith(given))
}
