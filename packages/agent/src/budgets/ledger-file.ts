import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
  statfsSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf, messageOf } from '@halting/core/adapters'
import { makeDurableFolder, ownershipProblem, readSized, tryBriefLock, type BriefLock } from '@halting/journal/files'
import { ledgerText, readLedger } from './ledger-json.ts'
import { emptyLedger, type LedgerState } from './ledger-state.ts'
import { mountTypeOf } from '@halting/policy/files'

/** The ledger cannot be used: the amount spent is unknown, or the file cannot be written. */
export class LedgerProblem extends Error {
  override readonly name = 'LedgerProblem'
}

/** The next state of the ledger, and the result for the caller. An unchanged state is not written. */
export interface LedgerChange<T> {
  readonly state: LedgerState
  readonly result: T
}

/** Computes the next state synchronously. */
export type ChangeLedger<T> = (state: LedgerState) => LedgerChange<T>

/** System calls that a test may replace. */
export interface LedgerSystem {
  write(file: number, bytes: Buffer): number
  statfs(path: string): { type: number }
}

/** The folder of the ledger, inside the user's settings folder. */
export function ledgerFolder(configFolder: string): string {
  return join(configFolder, 'budgets')
}

/** Larger files cannot have been written by halting. */
const largestBytes = 16 * 1024 * 1024
/**
 * A lock is normally held for microseconds. After this time, its holder is assumed to run on another machine or to be
 * unobservable.
 */
const abandonedMs = 10_000

/** The result of an attempt that does not wait for the lock. */
export type Attempt<T> =
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'held'; readonly token: string }

/**
 * The ledger file: read and written as a whole under a lock, by one process at a time. It is not synced: a power
 * failure may lose the last seconds or damage the file.
 */
export class LedgerFile {
  readonly folder: string
  readonly path: string
  readonly #lockPath: string
  readonly #system: Partial<LedgerSystem>
  #lastBytes: Buffer | undefined
  #lastState: LedgerState = emptyLedger

  constructor(folder: string, system: Partial<LedgerSystem> = {}) {
    this.folder = folder
    this.path = join(folder, 'ledger.json')
    this.#lockPath = join(folder, 'ledger.lock')
    this.#system = system
  }

  /**
   * Creates the folder and checks that it may hold a ledger.
   * @throws LedgerProblem
   */
  async open(): Promise<void> {
    try {
      await makeDurableFolder(this.folder)
    } catch (error) {
      throw this.#problem(error)
    }
    this.checkFolder()
  }

  /** @throws LedgerProblem for a folder that other users may write, or that is on a network mount. */
  checkFolder(): void {
    let stats: Stats
    try {
      stats = statSync(this.folder)
    } catch (error) {
      throw this.#problem(error)
    }
    if (!stats.isDirectory()) throw new LedgerProblem(`${this.folder} is not a folder. Remove it.`)
    checkOwner(this.folder, stats)
    const mount = networkMountOf(this.folder, this.#system.statfs)
    if (mount !== undefined)
      throw new LedgerProblem(
        `${this.folder} is on a network mount (${mount}), where locks of several machines do not exclude each other. ` +
          'Set HALTING_CONFIG_DIR to a folder on a disk of this machine.',
      )
  }

  /**
   * Reads the current ledger; empty if no file exists. Acquires no lock.
   * @throws LedgerProblem
   */
  read(): LedgerState {
    const bytes = this.#bytes()
    if (bytes === undefined) return emptyLedger
    if (this.#lastBytes !== undefined && bytes.equals(this.#lastBytes)) return this.#lastState
    const read = readLedger(bytes.toString('utf8'))
    switch (read.kind) {
      case 'ledger':
        this.#lastBytes = bytes
        this.#lastState = read.state
        return read.state
      case 'newer':
        throw new LedgerProblem(`${this.path} was written by a newer version of halting. Update this one.`)
      case 'damaged':
        throw new LedgerProblem(
          `${this.path} is damaged: ${read.why}. Fix it, or remove it: then what was spent until now is not counted.`,
        )
    }
  }

  /** Returns a value that identifies this version of the file. */
  stamp(): string {
    const stats = statSync(this.path, { throwIfNoEntry: false, bigint: true })
    return stats === undefined ? '' : `${stats.ino} ${stats.mtimeNs} ${stats.size}`
  }

  /**
   * Changes the ledger, unless another process holds the lock.
   * @throws LedgerProblem
   */
  attempt<T>(change: ChangeLedger<T>, abandoned?: string): Attempt<T> {
    let lock: BriefLock
    try {
      const locked = tryBriefLock(this.#lockPath, abandoned)
      if (locked.kind === 'held') return locked
      lock = locked.lock
    } catch (error) {
      throw this.#problem(error)
    }
    try {
      const state = this.read()
      const changed = change(state)
      if (changed.state !== state) this.#write(changed.state, lock)
      return { kind: 'done', result: changed.result }
    } finally {
      this.#release(lock)
    }
  }

  /**
   * Changes the ledger as soon as the lock is free.
   * @throws LedgerProblem, or the abort reason of `signal`.
   */
  async change<T>(change: ChangeLedger<T>, signal?: AbortSignal): Promise<T> {
    let lastHolder = { token: '', since: performance.now() }
    let abandoned: string | undefined
    for (;;) {
      signal?.throwIfAborted()
      const attempt = this.attempt(change, abandoned)
      if (attempt.kind === 'done') return attempt.result
      const { token } = attempt
      if (token !== lastHolder.token) lastHolder = { token, since: performance.now() }
      abandoned = performance.now() - lastHolder.since > abandonedMs ? token : undefined
      // A random delay, so that waiting processes do not collide again.
      await wait(1 + Math.random() * 3)
    }
  }

  #bytes(): Buffer | undefined {
    let file: number
    try {
      file = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT') return undefined
      if (code === 'ELOOP') throw new LedgerProblem(`${this.path} is a link. Remove it, or put the file in its place.`)
      throw this.#problem(error)
    }
    try {
      const stats = fstatSync(file)
      if (!stats.isFile()) throw new LedgerProblem(`${this.path} is not a regular file. Remove it.`)
      checkOwner(this.path, stats)
      if (stats.size > largestBytes)
        throw new LedgerProblem(`${this.path} is damaged: it is larger than 16 MB. Remove it.`)
      return readSized(file, stats.size)
    } catch (error) {
      throw this.#problem(error)
    } finally {
      closeSync(file)
    }
  }

  #write(state: LedgerState, lock: BriefLock): void {
    const bytes = Buffer.from(ledgerText(state))
    const part = `${this.path}.part`
    try {
      const file = created(part)
      try {
        const write = this.#system.write ?? writeSync
        let size = 0
        while (size < bytes.length) size += write(file, size === 0 ? bytes : bytes.subarray(size))
      } finally {
        closeSync(file)
      }
      // Another process assumed that this process was dead, and has read the ledger since then.
      if (!lock.isHeld()) throw new LedgerProblem(`${this.#lockPath} was taken over by another process. Try again.`)
      renameSync(part, this.path)
    } catch (error) {
      removeIfThere(part)
      throw this.#problem(error)
    }
    this.#lastBytes = bytes
    this.#lastState = state
  }

  #release(lock: BriefLock): void {
    try {
      lock.release()
    } catch {
      // The lock names this process: after this process ends, the next process acquires the lock.
    }
  }

  #problem(error: unknown): LedgerProblem {
    if (error instanceof LedgerProblem) return error
    const code = codeOf(error)
    const what = `The ledger of the budgets in ${this.folder}`
    switch (code) {
      case 'ENOSPC':
      case 'EDQUOT':
        return new LedgerProblem(`${what} cannot be written: the disk is full (${code}). Free some space.`)
      case 'EROFS':
      case 'EACCES':
      case 'EPERM':
        return new LedgerProblem(
          `${what} cannot be read and written (${code}). Make the folder and its files writable for you, or set HALTING_CONFIG_DIR.`,
        )
      default:
        return new LedgerProblem(`${what} cannot be used: ${messageOf(error)}`)
    }
  }
}

/**
 * Creates a new file each time: removes the temporary file of a killed process, and never follows a link at this path.
 */
function created(path: string): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  try {
    return openSync(path, flags, 0o600)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    unlinkSync(path)
    return openSync(path, flags, 0o600)
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // The temporary file is missing or cannot be removed; the next writer reports the latter.
  }
}

/** @throws LedgerProblem for files that other users own or may write: those users could hide spending. */
function checkOwner(path: string, stats: Stats): void {
  const problem = ownershipProblem(path, stats)
  if (problem !== undefined) throw new LedgerProblem(problem)
  // The system has no such owners and modes.
  if (process.getuid === undefined) return
  if ((stats.mode & 0o200) === 0)
    throw new LedgerProblem(`${path} is read-only. Run: chmod u+w ${JSON.stringify(path)}`)
}

// A network mount may be written by several machines whose locks do not exclude each other.

/** Network file systems by their statfs(2) type on Linux. */
const networkKinds: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
  [0x564c, 'NCP'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
  [0xaad7aaea, 'PanFS'],
  [0x786f4256, 'VirtualBox shared folder'],
  [0xbacbacbc, 'VMware shared folder'],
])

const fuse = 0x65735546

/** FUSE file systems that store their files on a local disk. */
const localFuse = /^(?:fuseblk|fuse\.(?:fuse-overlayfs|bindfs|gocryptfs|encfs|cryfs|mergerfs|ntfs-3g|ntfs|exfat))$/

/** The network file system of a folder; undefined for a local disk, and where the system does not report it. */
function networkMountOf(folder: string, statfs: (path: string) => { type: number } = statfsSync): string | undefined {
  // The type numbers are specific to Linux.
  if (process.platform !== 'linux') return undefined
  let type: number
  try {
    // On 32-bit machines the kernel's number is negative.
    type = statfs(folder).type >>> 0
  } catch {
    return undefined
  }
  if (type !== fuse) return networkKinds.get(type)
  const kind = mountTypeOf(folder)
  return kind !== undefined && localFuse.test(kind) ? undefined : (kind ?? 'FUSE')
}
