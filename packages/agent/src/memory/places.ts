import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { absolutePath } from '@halting/policy/files'
import { type FolderBelow, projectsOf, type SessionPlace, shortHash } from '@halting/journal'
import type { Settings } from '@halting/policy/settings'

/** The user and project of a memory. */
export type MemoryOwner = Omit<SessionPlace, 'sessionId'>

/** The folder of a memory, and its index. */
export interface MemoryPlace {
  /** The folder; its base may contain links. */
  readonly folder: FolderBelow
  /** Path of the folder. */
  readonly path: string
  /** Path of the index. */
  readonly indexPath: string
}

export const indexName = 'MEMORY.md'
const memoryName = /^memory(?:-[0-9a-f]{12})?$/
/** The suffix that `projectsOf` adds to names. */
const hashedProject = /-[0-9a-f]{12}$/

/** `~/.halting/projects/<cwd>-<hash>/memory`, or the folder in the user's settings. The folder may not exist. */
export function memoryPlace(owner: MemoryOwner, { autoMemoryDirectory }: Settings = {}): MemoryPlace {
  if (autoMemoryDirectory !== undefined)
    return placeAt({ base: absolutePath(autoMemoryDirectory, owner.home), parts: [] })
  const { base, own, unhashed } = projectsOf(owner)
  const place = placeAt({ base, parts: [own, 'memory'] })
  const name = formerName(resolve(owner.cwd))
  // `/a/<hash of /a>` maps to the current name of `/a`, so the memory may belong to that folder.
  if (unhashed === undefined || (name === 'memory' && hashedProject.test(unhashed))) return place
  const before = placeAt({ base, parts: [unhashed, name] })
  return existsSync(before.path) && !existsSync(place.path) ? before : place
}

/**
 * Returns the name in earlier versions, in which several folders could share one memory. If the name does not
 * determine the path, a hash is added.
 */
function formerName(cwd: string): string {
  return /^[a-zA-Z0-9/]*$/.test(cwd) ? 'memory' : `memory-${shortHash(cwd)}`
}

function placeAt(folder: FolderBelow): MemoryPlace {
  const path = join(folder.base, ...folder.parts)
  return { folder, path, indexPath: join(path, indexName) }
}

/** The memories next to the sessions of a project: one for each folder with this name. */
export async function memoriesOfProject(owner: MemoryOwner, project: string): Promise<readonly MemoryPlace[]> {
  const { base } = projectsOf(owner)
  const names = await readdir(join(base, project)).catch(() => [])
  return names.filter((name) => memoryName.test(name)).map((name) => placeAt({ base, parts: [project, name] }))
}

type Environment = Readonly<Record<string, string | undefined>>

// Spec R-MEM-1.
/** Whether sessions read and write notes: the user's settings enable it, and no variable disables it. */
export function isMemoryEnabled({ autoMemoryEnabled }: Settings, env: Environment): boolean {
  return autoMemoryEnabled === true && !/^(?:1|true|yes|on)$/i.test(env['CLAUDE_CODE_DISABLE_AUTO_MEMORY'] ?? '')
}

/** Returns the memory of a session; undefined if memory is disabled. */
export function memoryOf(owner: MemoryOwner, settings: Settings): MemoryPlace | undefined {
  return isMemoryEnabled(settings, owner.env) ? memoryPlace(owner, settings) : undefined
}
