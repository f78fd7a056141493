import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readSync,
  rmSync,
  type Stats,
  write,
  writeSync,
} from 'node:fs'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { isOnLocalDisk } from './mounts.ts'

/** An open file: the methods of Node's `FileHandle` that are used here. */
export interface OpenFile {
  /** File descriptor. */
  readonly fd: number
  /** Reads into a buffer; without a position, from the end of the last read. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position?: number | null,
  ): Promise<{ /** Number of bytes that were read; 0 at the end of the file. */ readonly bytesRead: number }>
  /** Reads from the end of the last read to the end of the file. */
  readFile(): Promise<Buffer>
  /** Writes all of the bytes, at the end of the last write. */
  writeFile(bytes: Uint8Array): Promise<void>
  /** The result of `fstat`. */
  stat(): Promise<Stats>
  /** Changes the file mode. */
  chmod(mode: number): Promise<void>
  /** Changes the owner and the group. */
  chown(uid: number, gid: number): Promise<void>
  /** Flushes written data to the disk. */
  sync(): Promise<void>
  /** Closes the file. */
  close(): Promise<void>
}

/** File system operations. Implementations differ only in whether they use the thread pool. */
export interface Disk {
  /** Opens a file with the flags of `open(2)`. */
  open(path: string, flags: number, mode?: number): Promise<OpenFile>
  /** The file at a path; for a link, the link itself. */
  lstat(path: string): Promise<Stats>
  /** Creates a folder. */
  mkdir(path: string): Promise<unknown>
  /** Moves a file and replaces an existing one. */
  rename(from: string, to: string): Promise<void>
  /** Removes a file. */
  rm(path: string, options?: { /** Ignore a missing file. Default: false. */ readonly force?: boolean }): Promise<void>
}

/** Uses Node's thread pool: a call that blocks occupies a thread, and the program continues. */
export const threadPoolDisk: Disk = { open, lstat, mkdir, rename, rm }

/**
 * Uses synchronous calls: a system call takes microseconds, a call through the thread pool takes twenty times as long.
 * Large reads and writes, and calls that may wait for the disk (`fsync`, `rename`), still use the pool.
 */
export const localDisk: Disk = {
  open: async (path, flags, mode) => new LocalFile(openSync(path, flags, mode)),
  lstat: async (path) => lstatSync(path),
  mkdir: async (path) => mkdirSync(path),
  rename,
  rm: async (path, options) => rmSync(path, options),
}

/** Selects how to access a real path, by the file system that is mounted there. */
export function diskOf(path: string): Disk {
  return isOnLocalDisk(path) ? localDisk : threadPoolDisk
}

/** Maximum number of bytes that are read or written in one synchronous call. */
const chunkBytes = 256 * 1024

const readByPool = promisify(read)
const writeByPool = promisify(write)
const syncByPool = promisify(fsync)

class LocalFile implements OpenFile {
  readonly #fd: number
  #isClosed = false
  /** The operation that the thread pool is running. */
  #pending: Promise<unknown> | undefined
  #left = chunkBytes

  constructor(fd: number) {
    this.#fd = fd
  }

  get fd(): number {
    return this.#isClosed ? -1 : this.#fd
  }

  async read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number | null = null,
  ): Promise<{ bytesRead: number }> {
    this.#check()
    if (this.#left < length) return this.#byPool(readByPool(this.#fd, buffer, offset, length, position))
    const bytesRead = readSync(this.#fd, buffer, offset, length, position)
    this.#left -= bytesRead
    return { bytesRead }
  }

  async readFile(): Promise<Buffer> {
    this.#check()
    const { size } = fstatSync(this.#fd)
    // The buffer has one extra byte to detect the end of the file. Files such as those in `/proc` report a size of 0.
    let buffer = Buffer.allocUnsafeSlow(size === 0 ? 64 * 1024 : size + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await this.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (bytesRead === 0) return buffer.subarray(0, length)
      if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    }
  }

  async writeFile(bytes: Uint8Array): Promise<void> {
    this.#check()
    for (let at = 0; at < bytes.length;) {
      const length = bytes.length - at
      if (this.#left >= length) at += writeSync(this.#fd, bytes, at, length)
      else at += (await this.#byPool(writeByPool(this.#fd, bytes, at, length))).bytesWritten
    }
    this.#left -= bytes.length
  }

  async stat(): Promise<Stats> {
    this.#check()
    return fstatSync(this.#fd)
  }

  async chmod(mode: number): Promise<void> {
    this.#check()
    fchmodSync(this.#fd, mode)
  }

  async chown(uid: number, gid: number): Promise<void> {
    this.#check()
    fchownSync(this.#fd, uid, gid)
  }

  async sync(): Promise<void> {
    this.#check()
    await this.#byPool(syncByPool(this.#fd))
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // The descriptor must not be reused for another file while the pool uses it.
    await this.#pending
    closeSync(this.#fd)
  }

  #check(): void {
    if (this.#isClosed) throw Object.assign(new Error('file closed'), { code: 'EBADF' })
  }

  #byPool<T>(work: Promise<T>): Promise<T> {
    this.#pending = Promise.allSettled([this.#pending, work]).then(() => undefined)
    return work
  }
}
