import { randomUUID } from 'node:crypto'
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type LargeResult, type LargeResults, codeOf } from '@halting/core/adapters'
import { makeFolder } from '../files/make-folder.ts'
import { endsOf, type FolderBelow, safeName, sessionFolder, type SessionPlace, shortHash } from './session-folder.ts'

/** Storage limits of one session. */
export interface ResultFilesLimits {
  /** Maximum bytes of one file. */
  readonly fileBytes: number
  /** Maximum number of files. */
  readonly files: number
  /** Maximum bytes of all files. */
  readonly totalBytes: number
}

const defaultLimits: ResultFilesLimits = Object.freeze({
  fileBytes: 64 * 1024 * 1024,
  files: 2_000,
  totalBytes: 512 * 1024 * 1024,
})

/** Options of `createResultFiles`. */
export interface ResultFilesOptions extends SessionPlace {
  /** Maximum characters of a result that is shown completely (default: by the model's context window). */
  readonly limit?: number
  /** Storage limits; missing ones have defaults. */
  readonly keeps?: Partial<ResultFilesLimits>
  /** Maximum time for storing one result (default: 30,000 ms). A network disk may never respond. */
  readonly timeoutMs?: number
}

/** Stores large results as files of the session. */
export interface ResultFiles extends LargeResults {
  /**
   * Folder for output that tools write directly. It is separate, so that nothing reads the output before hooks have
   * seen the result.
   */
  readonly spoolFolder: string
  /** Folder of the files. */
  readonly directory: string
  /** For `PermissionOptions.readableFolders`: the folder as written and with links resolved. */
  readonly readableFolders: readonly string[]
}

// Spec R-KEEP-1.
/**
 * Stores large results in `tool-results` of the session's folder, one file each.
 *
 * K1: folders (0700) and files (0600) are private to the user, and a file is complete or does not exist.
 * K2: no link in the session's folders is followed, and none that replaces a file.
 * K3: a file is named after its step: the same result is written to the same file again, another one never.
 */
export function createResultFiles(options: ResultFilesOptions): ResultFiles {
  const folder = resultsFolder(options)
  const directory = join(folder.base, ...folder.parts)
  const room = new StorageQuota(directory, { ...defaultLimits, ...options.keeps })
  const inTime = timeLimit(options.timeoutMs ?? 30_000)
  return {
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    directory,
    spoolFolder: join(folder.base, ...folder.parts.slice(0, -1), 'tool-output'),
    readableFolders: endsOf(folder),
    async save(result, { signal }) {
      const name = fileName(result)
      const path = join(directory, name)
      await inTime(async () => {
        await makeFolders(folder)
        if (result.spooled !== undefined)
          return moveSpooled(result.spooled, path, (bytes, move) => room.take(name, bytes, move))
        await room.take(name, Buffer.byteLength(result.text), () => writeWhole(path, result.text, signal))
      })
      return join(directory, name)
    },
  }
}

/** Stops using a disk that does not respond until it responds again: pending operations would block all other files, too. */
function timeLimit(timeoutMs: number): (work: () => Promise<void>) => Promise<void> {
  let isHanging = false
  const late = (): Error => new Error(`its folder did not answer within ${timeoutMs / 1_000} s`)
  return async (work) => {
    if (isHanging) throw late()
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        isHanging = true
        reject(late())
      }, timeoutMs)
    })
    const working = work()
    const finish = (): void => void (isHanging = false)
    working.then(finish, finish)
    await Promise.race([working, tooLate]).finally(() => clearTimeout(timer))
  }
}

function resultsFolder(place: SessionPlace): FolderBelow {
  const { base, parts } = sessionFolder(place)
  return { base, parts: [...parts, 'tool-results'] }
}

/** Returns a unique name: services choose call ids, and subagents repeat them, so the step key is included. */
function fileName({ callId, idempotencyKey }: LargeResult): string {
  return `${safeName(callId)}-${shortHash(idempotencyKey)}.txt`
}

async function makeFolders({ base, parts }: FolderBelow): Promise<void> {
  await makeFolder(base, 0o700)
  let path = base
  for (const part of parts) {
    path = join(path, part)
    await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
      if (codeOf(thrown) !== 'EEXIST') throw thrown
    })
    if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is not a folder of our own`)
  }
}

async function writeWhole(path: string, text: string, signal: AbortSignal): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`
  // `wx` creates the file or fails; it follows no link.
  const file = await open(draft, 'wx', 0o600)
  try {
    try {
      await file.writeFile(text, { signal })
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (thrown) {
    await rm(draft, { force: true })
    throw thrown
  }
}

/** Moves output that a tool wrote to the spool folder. After a crash it may already be in place. */
async function moveSpooled(
  spooled: string,
  path: string,
  take: (bytes: number, move: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const there = await lstat(spooled).catch(() => undefined)
  if (there === undefined && (await lstat(path).catch(() => undefined))?.isFile() === true) return
  if (there?.isFile() !== true || there.nlink !== 1) throw new Error('its spooled output is missing')
  await take(there.size, () => rename(spooled, path))
}

/** The remaining storage of the folder. Counted once, including files of earlier processes. */
class StorageQuota {
  readonly #directory: string
  readonly #limits: ResultFilesLimits
  #counting: Promise<Map<string, number>> | undefined

  constructor(directory: string, limits: ResultFilesLimits) {
    this.#directory = directory
    this.#limits = limits
  }

  /** @throws Error if the limits are exceeded, and errors of `write`; then nothing is reserved. */
  async take(name: string, bytes: number, write: () => Promise<void>): Promise<void> {
    const { fileBytes, files, totalBytes } = this.#limits
    if (bytes > fileBytes) throw new Error(`it has ${bytes} bytes, and a file may have ${fileBytes}`)
    const known = await this.#known()
    const others = [...known].filter(([other]) => other !== name)
    if (others.length >= files)
      throw new Error(`this session keeps ${others.length} results already, which is all it may`)
    const total = others.reduce((sum, [, size]) => sum + size, bytes)
    if (total > totalBytes)
      throw new Error(`this session may keep ${totalBytes} bytes of results, and has no room for it`)
    const before = known.get(name)
    // The storage is reserved during the write, because other writes are concurrent.
    known.set(name, bytes)
    try {
      await write()
    } catch (thrown) {
      if (before === undefined) known.delete(name)
      else known.set(name, before)
      throw thrown
    }
  }

  async #known(): Promise<Map<string, number>> {
    const counting = (this.#counting ??= this.#count())
    try {
      return await counting
    } catch (thrown) {
      // Counting may succeed later.
      this.#counting = undefined
      throw thrown
    }
  }

  async #count(): Promise<Map<string, number>> {
    const names = await readdir(this.#directory)
    // A file that has disappeared was a draft of another process.
    const sizeOf = (name: string): Promise<number> =>
      lstat(join(this.#directory, name)).then(
        ({ size }) => size,
        () => 0,
      )
    return new Map(await Promise.all(names.map(async (name) => [name, await sizeOf(name)] as const)))
  }
}
