import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { makeDurableFolder, writeWhole } from './files/durable.ts'
import { payloadsFolder, type Payload } from './format/payloads.ts'
import type { JournalHandle } from './journal-handle.ts'

interface Flush {
  readonly promise: Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/**
 * A file to which lines are appended. Flushed lines are on disk; concurrent flushes share one `fdatasync`.
 *
 * F1: one write or sync at a time, so lines are in the order in which they were appended. F2: after a failure nothing
 *     more is written, because it is unknown what a failed write or sync left on disk.
 */
export class JournalFile {
  readonly path: string
  readonly #file: JournalHandle
  #lines: string[] = []
  /** Payloads that these lines refer to. */
  #payloads: Payload[] = []
  /** A flush that has not started, and covers everything appended until then. */
  #next: Flush | undefined
  #failure: HaltingError | undefined
  #isScheduled = false
  #isWorking = false
  #whenIdle: (() => void) | undefined
  /** Initially true: data that an earlier process wrote may not be on disk yet either. */
  #isSynced = false

  constructor(path: string, file: JournalHandle) {
    this.path = path
    this.#file = file
  }

  /** Appends a line, which is written soon. @throws HaltingError once writing has failed. */
  append(line: string, payloads: readonly Payload[] = []): void {
    if (this.#failure !== undefined) throw this.#failure
    this.#lines.push(line)
    if (payloads.length > 0) this.#payloads.push(...payloads)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#onImmediate)
  }

  readonly #onImmediate = (): void => {
    this.#isScheduled = false
    if (this.#next === undefined) this.writeNow()
    if (!this.#isWorking && this.#hasWork) void this.#work()
  }

  get #hasWork(): boolean {
    return this.#lines.length > 0 || this.#next !== undefined
  }

  /**
   * Writes pending lines synchronously, if the file supports it and no other write is in progress: the thread pool
   * costs several times the CPU of the write. Other lines are written soon. The next `append` or `flush` throws a
   * failure.
   */
  writeNow(): void {
    if (this.#isWorking || this.#payloads.length > 0 || this.#lines.length === 0) return
    if (this.#failure !== undefined || this.#file.appendNow === undefined) return
    try {
      if (!this.#file.appendNow(this.#text)) return
      this.#isSynced = false
    } catch (error) {
      this.#failure = failureOf(this.path, error)
    }
    this.#lines = []
  }

  get #text(): string {
    return this.#lines.length === 1 ? (this.#lines[0] ?? '') : this.#lines.join('')
  }

  /** Resolves when everything appended before is on disk. After a failure it always rejects with that HaltingError. */
  flush(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = newFlush()
      // Deferred, so that concurrent calls share it. A settled promise costs a fifth of `queueMicrotask`.
      void settled.then(this.#onMicrotask)
    }
    return this.#next.promise
  }

  readonly #onMicrotask = (): void => {
    if (!this.#isWorking) void this.#work()
  }

  async close(): Promise<void> {
    await this.flush().catch(() => {})
    if (this.#isWorking) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#file.close()
  }

  /** Writes and syncs until nothing is left. */
  async #work(): Promise<void> {
    this.#isWorking = true
    while (this.#hasWork) {
      const flush = this.#next
      this.#next = undefined
      // Sequential by design (F1).
      try {
        const writing = this.#write()
        if (writing !== undefined) await writing
        if (flush !== undefined && !this.#isSynced && this.#failure === undefined) {
          await this.#file.datasync()
          this.#isSynced = true
        }
      } catch (error) {
        this.#failure = failureOf(this.path, error)
      }
      if (this.#failure === undefined) flush?.resolve()
      else flush?.reject(this.#failure)
    }
    this.#isWorking = false
    this.#whenIdle?.()
  }

  /** Returns undefined if everything was written synchronously. */
  #write(): Promise<void> | undefined {
    const text = this.#text
    const payloads = this.#payloads
    this.#lines = []
    if (payloads.length > 0) this.#payloads = []
    if (this.#failure !== undefined) return undefined
    if (payloads.length > 0) return this.#writePayloads(payloads).then(() => this.#append(text))
    return this.#append(text)
  }

  #append(text: string): Promise<void> | undefined {
    if (text === '') return undefined
    this.#isSynced = false
    return this.#file.appendNow?.(text) === true ? undefined : this.#file.appendFile(text)
  }

  /** F3: a payload is on disk before the line that refers to it. */
  async #writePayloads(payloads: readonly Payload[]): Promise<void> {
    const folder = payloadsFolder(this.path)
    await makeDurableFolder(folder)
    for (const { sha256, text } of payloads) await writeWhole(join(folder, sha256), text)
  }
}

const settled = Promise.resolve()

function newFlush(): Flush {
  let resolve: Flush['resolve'] = () => {}
  let reject: Flush['reject'] = () => {}
  const promise = new Promise<void>((...settlers) => ([resolve, reject] = settlers))
  return { promise, resolve, reject }
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
