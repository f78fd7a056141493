import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { cp, mkdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { UsageError } from '../usage-error.ts'

export interface WorkspacesOptions {
  /** Where each session has its folder. Workers of one cluster share it, or a session goes on where its folder is. */
  readonly base: string
  /** What a new folder is a copy of; it is empty without one. */
  readonly template?: string | undefined
  /** Below which a session may name a folder of its own choice. */
  readonly allowed?: string | undefined
}

export interface WorkspaceRequest {
  readonly sessionId: string
  /** Nothing is on record of it yet. */
  readonly isNew: boolean
  /** The session that it is a copy of. */
  readonly forkedFrom?: string | undefined
  /** What its opening names. */
  readonly folder?: string | undefined
}

/** The folders that sessions of a cluster work in. */
export class Workspaces {
  readonly #options: WorkspacesOptions

  constructor(options: WorkspacesOptions) {
    this.#options = options
  }

  /**
   * The folder of a session; one that begins gets it now, whole or not at all. That of a copy is a copy of the other one's as it is by then.
   * @throws UsageError for a folder that it may not have. @throws Error where the folder of a session that goes on is not on this machine.
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

  /** Whether a session can continue on this machine: its folder is here, or `folderFor` makes it. */
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

  /** The folder of a session that is no more. One that its opening named is not the session's. */
  async remove(sessionId: string): Promise<void> {
    await rm(join(this.#options.base, folderName(sessionId)), { recursive: true, force: true })
  }

  async #make(folderOfSession: string, source: string | undefined): Promise<void> {
    const { base } = this.#options
    const draft = join(base, `.${randomUUID()}`)
    await mkdir(base, { recursive: true })
    try {
      if (source === undefined) await mkdir(draft)
      // Where the file system can, a copy shares what it holds with what it is of.
      else await cp(source, draft, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
      await rename(draft, folderOfSession)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      // Another attempt at the same session was first.
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

/** Ids that make no good name, or that a file system could take for another one, are hashed. No id is the name of such a hash. */
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
