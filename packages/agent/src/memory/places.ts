import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { absolutePath } from '@halting/policy/files'
import { type FolderBelow, projectsOf, type SessionPlace, shortHash } from '@halting/journal'
import type { Settings } from '@halting/policy/settings'

/** Whose memory it is. */
export type MemoryOwner = Omit<SessionPlace, 'sessionId'>

/** The folder of the memory, with the name of its index. */
export interface MemoryPlace {
  /** The folder, and what of its path may be links. */
  readonly folder: FolderBelow
  /** Path of the folder. */
  readonly path: string
  /** Path of the index. */
  readonly indexPath: string
}

export const indexName = 'MEMORY.md'
const memoryName = /^memory(?:-[0-9a-f]{12})?$/
/** The end of a name that `projectsOf` makes. */
const hashedProject = /-[0-9a-f]{12}$/

/** `~/.halting/projects/<cwd>-<hash>/memory`, or where the person's own settings say. It need not be there. */
export function memoryPlace(owner: MemoryOwner, { autoMemoryDirectory }: Settings = {}): MemoryPlace {
  if (autoMemoryDirectory !== undefined)
    return placeAt({ base: absolutePath(autoMemoryDirectory, owner.home), parts: [] })
  const { base, own, unhashed } = projectsOf(owner)
  const place = placeAt({ base, parts: [own, 'memory'] })
  const name = nameBefore(resolve(owner.cwd))
  // `/a/<hash of /a>` comes to the name that `/a` has now: what is there may be that folder's.
  if (unhashed === undefined || (name === 'memory' && hashedProject.test(unhashed))) return place
  const before = placeAt({ base, parts: [unhashed, name] })
  return existsSync(before.path) && !existsSync(place.path) ? before : place
}

/** As earlier versions called it, where folders shared that of their sessions: where the path is not plainly told by its name, a hash tells it. */
function nameBefore(cwd: string): string {
  return /^[a-zA-Z0-9/]*$/.test(cwd) ? 'memory' : `memory-${shortHash(cwd)}`
}

function placeAt(folder: FolderBelow): MemoryPlace {
  const path = join(folder.base, ...folder.parts)
  return { folder, path, indexPath: join(path, indexName) }
}

/** The memories beside the sessions of a project: one for each folder that has this name. */
export async function memoriesOfProject(owner: MemoryOwner, project: string): Promise<readonly MemoryPlace[]> {
  const { base } = projectsOf(owner)
  const names = await readdir(join(base, project)).catch(() => [])
  return names.filter((name) => memoryName.test(name)).map((name) => placeAt({ base, parts: [project, name] }))
}

type Environment = Readonly<Record<string, string | undefined>>

// Spec R-MEM-1.
/** Whether sessions read and keep notes: a person's settings say so, and no variable says otherwise. */
export function keepsMemory({ autoMemoryEnabled }: Settings, env: Environment): boolean {
  return autoMemoryEnabled === true && !/^(?:1|true|yes|on)$/i.test(env['CLAUDE_CODE_DISABLE_AUTO_MEMORY'] ?? '')
}

/** Where the memory of a session is; undefined where it has none. */
export function memoryOf(owner: MemoryOwner, settings: Settings): MemoryPlace | undefined {
  return keepsMemory(settings, owner.env) ? memoryPlace(owner, settings) : undefined
}
