import { randomUUID } from 'node:crypto'
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type LargeResult, type LargeResults, codeOf } from '@halting/core/adapters'
import { makeFolder } from '../files/make-folder.ts'
import { endsOf, type FolderBelow, safeName, sessionFolder, type SessionPlace, shortHash } from './session-folder.ts'

/** How much one session may keep. */
export interface ResultFilesLimits {
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Number of files. */
  readonly files: number
  /** Bytes of all files together. */
  readonly totalBytes: number
}

const defaultLimits: ResultFilesLimits = Object.freeze({
  fileBytes: 64 * 1024 * 1024,
  files: 2_000,
  totalBytes: 512 * 1024 * 1024,
})

/** Options of `createResultFiles`. */
export interface ResultFilesOptions extends SessionPlace {
  /** Characters that a result may have and be shown whole; by the model's window when absent. */
  readonly limit?: number
  /** How much the session may store. What is left out has its default. */
  readonly keeps?: Partial<ResultFilesLimits>
  /** Most that keeping one result may take; 30,000 ms when absent. A disk in a network may never answer. */
  readonly timeoutMs?: number
}

/** Keeps large results as files of the session. */
export interface ResultFiles extends LargeResults {
  /** Where tools may write what is to be kept here: beside, so that nothing reads it before hooks have seen the result. */
  readonly spoolFolder: string
  /** The folder with the files. */
  readonly directory: string
  /** For `PermissionOptions.readableFolders`: the folder as written and as it is found. */
  readonly readableFolders: readonly string[]
}

// Spec R-KEEP-1.
/**
 * Large results in `tool-results` of the session's folder, a file each.
 *
 * K1: folders are the person's alone (0700), files too (0600), and a file is there whole or not at all.
 * K2: no link among the session's folders is followed, and none in the place of a file.
 * K3: a file has the name of its step: the same result is written again to the same file, another never.
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

/** Once a disk has not answered, no more is asked of it until it does: what waits for it also holds up all other files. */
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
    const over = (): void => void (isHanging = false)
    working.then(over, over)
    await Promise.race([working, tooLate]).finally(() => clearTimeout(timer))
  }
}

function resultsFolder(place: SessionPlace): FolderBelow {
  const { base, parts } = sessionFolder(place)
  return { base, parts: [...parts, 'tool-results'] }
}

/** Ids of calls come from the service, and subagents use the same again: the key of the step makes it the only one. */
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
  // `wx` makes the file or fails: it follows no link.
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

/** What a tool has written beside is moved here. Again after a crash: it may be here already. */
async function moveSpooled(
  spooled: string,
  path: string,
  take: (bytes: number, move: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const there = await lstat(spooled).catch(() => undefined)
  if (there === undefined && (await lstat(path).catch(() => undefined))?.isFile() === true) return
  if (there?.isFile() !== true || there.nlink !== 1) throw new Error('what was written of it is gone')
  await take(there.size, () => rename(spooled, path))
}

/** What the folder may still take. Counted once, with what earlier processes left there. */
class StorageQuota {
  readonly #directory: string
  readonly #limits: ResultFilesLimits
  #counting: Promise<Map<string, number>> | undefined

  constructor(directory: string, limits: ResultFilesLimits) {
    this.#directory = directory
    this.#limits = limits
  }

  /** @throws Error when there is no room, and what `write` throws: it has taken none then. */
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
    // Also while it is written: others come at the same time.
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
      // It may be counted another time.
      this.#counting = undefined
      throw thrown
    }
  }

  async #count(): Promise<Map<string, number>> {
    const names = await readdir(this.#directory)
    // One that is gone meanwhile was the draft of another process.
    const sizeOf = (name: string): Promise<number> =>
      lstat(join(this.#directory, name)).then(
        ({ size }) => size,
        () => 0,
      )
    return new Map(await Promise.all(names.map(async (name) => [name, await sizeOf(name)] as const)))
  }
}
