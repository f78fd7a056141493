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

/** An open file: what is used of a `FileHandle` of Node, which is one. */
export interface OpenFile {
  /** Its descriptor. */
  readonly fd: number
  /** Reads into a buffer, from where the last read ended without a position. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position?: number | null,
  ): Promise<{ /** How many bytes were read: 0 at the end. */ readonly bytesRead: number }>
  /** Reads from where the last read ended to the end. */
  readFile(): Promise<Buffer>
  /** Writes all of the bytes where the last write ended. */
  writeFile(bytes: Uint8Array): Promise<void>
  /** What `fstat` says. */
  stat(): Promise<Stats>
  /** Changes its mode. */
  chmod(mode: number): Promise<void>
  /** Changes its owner and group. */
  chown(uid: number, gid: number): Promise<void>
  /** Has what was written on the disk. */
  sync(): Promise<void>
  /** Closes it. */
  close(): Promise<void>
}

/** How files are reached: what is done is the same, on every disk. */
export interface Disk {
  /** Opens a file, by the flags of `open(2)`. */
  open(path: string, flags: number, mode?: number): Promise<OpenFile>
  /** What stands at a path; of a link the link. */
  lstat(path: string): Promise<Stats>
  /** Makes a folder. */
  mkdir(path: string): Promise<unknown>
  /** Moves a file, over one that is there. */
  rename(from: string, to: string): Promise<void>
  /** Removes a file; `force` where there may be none. */
  rm(path: string, options?: { /** None is no error. */ readonly force?: boolean }): Promise<void>
}

/** By the threads of the pool: a call that waits takes one of them, and the program goes on. */
export const threadPoolDisk: Disk = { open, lstat, mkdir, rename, rm }

/**
 * At once: a call of the system takes some millionths of a second where its way through the pool takes twenty times that. Much at a time goes through the
 * pool all the same, and so does what may wait for the disk itself (`fsync`, `rename`).
 */
export const localDisk: Disk = {
  open: async (path, flags, mode) => new LocalFile(openSync(path, flags, mode)),
  lstat: async (path) => lstatSync(path),
  mkdir: async (path) => mkdirSync(path),
  rename,
  rm: async (path, options) => rmSync(path, options),
}

/** How a real path is reached, by what is mounted there. */
export function diskOf(path: string): Disk {
  return isOnLocalDisk(path) ? localDisk : threadPoolDisk
}

/** Bytes of one file that are read or written at once. */
const chunkBytes = 256 * 1024

const readByPool = promisify(read)
const writeByPool = promisify(write)
const syncByPool = promisify(fsync)

class LocalFile implements OpenFile {
  readonly #fd: number
  #isClosed = false
  /** What the pool still does with it. */
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
    // One more, so that the end shows. A file of the system says that it has none.
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
    // Its number must not become that of another file while the pool uses it.
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
