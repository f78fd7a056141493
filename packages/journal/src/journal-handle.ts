import { fdatasync, statfsSync, writeSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

/** What a journal does with its file. */
export type JournalHandle = Pick<FileHandle, 'appendFile' | 'datasync' | 'close'> & {
  /**
   * Appends a text before it returns, where that takes no longer than a copy in memory. False where it may take longer: nothing of it was written then, and
   * `appendFile` is called. Absent where it always may. @throws what `appendFile` rejects with.
   */
  appendNow?(text: string): boolean
}

/** Longer texts are written by the thread pool, in characters. */
const longestNow = 262_144

/** A write that took so many milliseconds waited for something. */
const slowMs = 10

/** After a slow write the thread pool writes for so many times as long: the event loop stands still for at most a hundredth of the time. */
const restFactor = 100

/**
 * File systems of Linux whose writes end in memory of this machine (`f_type` of statfs): ext, xfs, btrfs, f2fs, zfs, bcachefs, tmpfs, ramfs, overlay. A write
 * to any other, such as a network mount, may hang.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
])

/** The file of the file system, for the person alone. */
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
  /** Until then the thread pool writes, in milliseconds of `performance.now()`. */
  #poolUntil = 0

  constructor(file: FileHandle, isLocal: boolean) {
    this.#file = file
    this.#isLocal = isLocal
  }

  appendNow(text: string): boolean {
    if (!this.#isLocal || text.length > longestNow) return false
    const began = performance.now()
    if (began < this.#poolUntil) return false
    // A text is written for two thirds of what its bytes take in a buffer.
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

  /** As that of the handle, for half of its CPU. */
  datasync(): Promise<void> {
    return new Promise((resolve, reject) =>
      fdatasync(this.#file.fd, (error) => (error === null ? resolve() : reject(error))),
    )
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
