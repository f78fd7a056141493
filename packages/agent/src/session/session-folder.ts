import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { configFolder, realPath } from '../paths.ts'

/** Whose session it is. */
export interface SessionPlace {
  /** Where the agent works. */
  readonly cwd: string
  readonly sessionId: string
  /** The person's own folder. */
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A folder, and the parts of its path below the one that the person may have put elsewhere by a link. */
export interface FolderBelow {
  readonly base: string
  readonly parts: readonly string[]
}

/** What one session keeps beside its transcript: `~/.halting/projects/<cwd>/<session id>`, or under `HALTING_CONFIG_DIR`. */
export function sessionFolder(place: SessionPlace): FolderBelow {
  const { cwd, sessionId } = place
  const base = join(configFolder('halting', place), 'projects')
  return { base, parts: [projectName(resolve(cwd)), safeName(sessionId)] }
}

/** The file of its records, beside that folder. */
export function sessionFile(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return `${join(base, ...parts)}.jsonl`
}

/** Where the sessions of all folders are, and the part of it that has those of this one. */
export function sessionsOf(place: Omit<SessionPlace, 'sessionId'>): { readonly base: string; readonly own: string } {
  const { base, parts } = sessionFolder({ ...place, sessionId: 'any' })
  return { base, own: parts[0] ?? '' }
}

/** Its path as written, and with the links above it followed. A link among the parts is not followed: nobody but a stranger makes one there. */
export function endsOf({ base, parts }: FolderBelow): readonly string[] {
  return [...new Set([join(base, ...parts), join(realPath(base), ...parts)])]
}

const longestProjectName = 200

function projectName(cwd: string): string {
  const name = cwd.replaceAll(/[^a-zA-Z0-9]/g, '-')
  return name.length <= longestProjectName ? name : `${name.slice(0, longestProjectName)}-${shortHash(cwd)}`
}

const longestName = 60

/** A name of a file for an id of somebody else's making: itself where it is harmless, and else with a hash that tells it from others. */
export function safeName(id: string): string {
  // The notes of a project stand beside its sessions.
  const isSafe = /^[a-zA-Z0-9][\w-]*$/.test(id) && id.length <= longestName && !/^memory(?:-|$)/i.test(id)
  return isSafe ? id : `${id.replaceAll(/[^a-zA-Z0-9]/g, '-').slice(0, longestName)}-${shortHash(id)}`
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
