import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { cp, mkdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { UsageError } from '../usage-error.ts'

export interface WorkspacesOptions {
  /** The folder that contains one folder per session. Workers share it; otherwise a session can continue only on the machine with its folder. */
  readonly base: string
  /** New folders are copies of this one (default: empty). */
  readonly template?: string | undefined
  /** Sessions may name a folder below this one. */
  readonly allowed?: string | undefined
}

export interface WorkspaceRequest {
  readonly sessionId: string
  /** Whether the session has no records yet. */
  readonly isNew: boolean
  /** The session of which it is a copy. */
  readonly forkedFrom?: string | undefined
  /** The folder that its opening names. */
  readonly folder?: string | undefined
}

/** The folders in which sessions of a cluster work. */
export class Workspaces {
  readonly #options: WorkspacesOptions

  constructor(options: WorkspacesOptions) {
    this.#options = options
  }

  /**
   * Returns the folder of a session. For a new session, creates it atomically; for a copy, copies the folder of the
   * original as it is now.
   * @throws UsageError for a folder that is not allowed.
   * @throws Error if the folder of an existing session is not on this machine
   */
  async folderFor({ sessionId, isNew, forkedFrom, folder }: WorkspaceRequest): Promise<string> {
    if (folder !== undefined) return this.#named(folder)
    const folderOfSession = join(this.#options.base, folderName(sessionId))
    if (await isFolder(folderOfSession)) return folderOfSession
    const other = forkedFrom === undefined ? undefined : join(this.#options.base, folderName(forkedFrom))
    const source = isNew ? this.#options.template : other
    if (!isNew && (source === undefined || !(await isFolder(source))))
      throw new Error(
        `The folder of session ${sessionId} is not on this machine: ${folderOfSession}. Workers on several machines need a shared folder for --workspaces.`,
      )
    await this.#make(folderOfSession, source)
    return folderOfSession
  }

  /** Whether a session can run on this machine: its folder exists here, or `folderFor` can create it. */
  async has({ sessionId, isNew, forkedFrom, folder }: WorkspaceRequest): Promise<boolean> {
    if (folder !== undefined)
      return this.#named(folder).then(
        () => true,
        () => false,
      )
    if (isNew) return true
    const { base } = this.#options
    const sources = [sessionId, ...(forkedFrom === undefined ? [] : [forkedFrom])]
    return (await Promise.all(sources.map((id) => isFolder(join(base, folderName(id)))))).includes(true)
  }

  /** Removes the folder of a deleted session. A folder that its opening named stays. */
  async remove(sessionId: string): Promise<void> {
    await rm(join(this.#options.base, folderName(sessionId)), { recursive: true, force: true })
  }

  async #make(folderOfSession: string, source: string | undefined): Promise<void> {
    const { base } = this.#options
    const draft = join(base, `.${randomUUID()}`)
    await mkdir(base, { recursive: true })
    try {
      if (source === undefined) await mkdir(draft)
      // Copy-on-write if the file system supports it.
      else await cp(source, draft, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
      await rename(draft, folderOfSession)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      // Another attempt for the same session has already created the folder.
      if (!(await isFolder(folderOfSession))) throw error
    }
  }

  async #named(folder: string): Promise<string> {
    const { allowed } = this.#options
    if (allowed === undefined)
      throw new UsageError('Sessions of this worker cannot name a folder: it was started without --folders.')
    const root = await realpath(allowed)
    const path = await realpath(resolve(root, folder)).catch(() => undefined)
    if (path === undefined || !isBelow(root, path) || !(await isFolder(path)))
      throw new UsageError('The folder of the session is not below the one that this worker allows (--folders).')
    return path
  }
}

/** Hashes IDs that are not valid folder names, or that a case-insensitive file system could confuse. Hashed names cannot collide with IDs. */
function folderName(sessionId: string): string {
  if (/^[\da-z][\da-z_-]{0,99}$/.test(sessionId)) return sessionId
  return `named.${createHash('sha256').update(sessionId).digest('hex').slice(0, 32)}`
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === path)
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}
