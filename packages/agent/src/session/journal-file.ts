import { open, type FileHandle } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'

/** A file that lines are appended to. What was flushed is on disk; neighbouring flushes share one `fdatasync`. */
export class JournalFile {
  readonly path: string
  readonly #file: FileHandle
  #lines: string[] = []
  /** What is being written, or the last that was. */
  #writing: Promise<void> = Promise.resolve()
  /** A flush that has not begun, and takes all that is appended until then. */
  #next: Promise<void> | undefined
  #failure: HaltingError | undefined
  #isScheduled = false

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  static async open(path: string): Promise<JournalFile> {
    return new JournalFile(path, await open(path, 'a', 0o600))
  }

  /** Takes a line, which is written soon. @throws HaltingError once writing has failed. */
  append(line: string): void {
    if (this.#failure !== undefined) throw this.#failure
    this.#lines.push(line)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#writing = this.#writing.then(() => this.#write())
    })
  }

  /** Settles when all that was appended before is on disk. Rejects with the HaltingError of what failed, from then on. */
  flush(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      const synced = this.#write().then(() => this.#sync())
      this.#writing = synced.catch(() => {})
      return synced
    })
    return this.#next
  }

  async close(): Promise<void> {
    await this.flush().catch(() => {})
    await this.#file.close()
  }

  async #write(): Promise<void> {
    if (this.#lines.length === 0 || this.#failure !== undefined) return
    const text = this.#lines.join('')
    this.#lines = []
    try {
      await this.#file.appendFile(text)
    } catch (error) {
      this.#failure = failureOf(this.path, error)
    }
  }

  async #sync(): Promise<void> {
    if (this.#failure === undefined) {
      try {
        await this.#file.datasync()
      } catch (error) {
        this.#failure = failureOf(this.path, error)
      }
    }
    if (this.#failure !== undefined) throw this.#failure
  }
}

function failureOf(path: string, error: unknown): HaltingError {
  return new HaltingError(
    'driver',
    `The journal ${path} cannot be written: ${messageOf(error)}. What it holds up to here is intact.`,
    {
      cause: error,
    },
  )
}
