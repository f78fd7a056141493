import { fdatasync, statfsSync, writeSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

/** File operations of a journal. */
export type JournalHandle = Pick<FileHandle, 'appendFile' | 'datasync' | 'close'> & {
  /**
   * Appends a text synchronously, if that takes no longer than a copy in memory. Returns false if it may take longer:
   * then nothing was written, and `appendFile` is called. Undefined if it may always take longer. @throws the errors of
   * `appendFile`.
   */
  appendNow?(text: string): boolean
}

/** The thread pool writes texts with more characters. */
const longestNow = 262_144

/** A write that took this many milliseconds was blocked. */
const slowMs = 10

/**
 * After a slow write the thread pool is used for this many times as long, so that the event loop is blocked for at most
 * a hundredth of the time.
 */
const restFactor = 100

/**
 * Linux file systems that write to this machine's memory (`f_type` of statfs): ext, xfs, btrfs, f2fs, zfs, bcachefs,
 * tmpfs, ramfs, overlay. A write to any other, such as a network mount, may hang.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
])

/** Opens the file for appending, private to the user. */
export async function appendingTo(path: string): Promise<JournalHandle> {
  const file = await open(path, 'a', 0o600)
  return new LocalFile(file, isLocal(path))
}

function isLocal(path: string): boolean {
  try {
    return process.platform === 'linux' && localTypes.has(statfsSync(path).type)
  } catch {
    return false
  }
}

class LocalFile implements JournalHandle {
  readonly #file: FileHandle
  readonly #isLocal: boolean
  /** Use the thread pool until then, in milliseconds of `performance.now()`. */
  #poolUntil = 0

  constructor(file: FileHandle, isLocal: boolean) {
    this.#file = file
    this.#isLocal = isLocal
  }

  appendNow(text: string): boolean {
    if (!this.#isLocal || text.length > longestNow) return false
    const began = performance.now()
    if (began < this.#poolUntil) return false
    // Writing a text costs two thirds of writing a buffer.
    const written = writeSync(this.#file.fd, text)
    if (written < Buffer.byteLength(text)) {
      const bytes = Buffer.from(text)
      for (let at = written; at < bytes.length;) at += writeSync(this.#file.fd, bytes, at)
    }
    const now = performance.now()
    if (now - began > slowMs) this.#poolUntil = now + (now - began) * restFactor
    return true
  }

  appendFile(...parameters: Parameters<FileHandle['appendFile']>): Promise<void> {
    return this.#file.appendFile(...parameters)
  }

  /** Like that of the handle, for half of its CPU. */
  datasync(): Promise<void> {
    return new Promise((resolve, reject) =>
      fdatasync(this.#file.fd, (error) => (error === null ? resolve() : reject(error))),
    )
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
