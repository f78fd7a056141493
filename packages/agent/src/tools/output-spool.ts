import { randomUUID } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** The most that is written of one output, and what is looked through for secrets. */
const mostBytes = 64 * 1024 * 1024
const mostRedactedBytes = 8 * 1024 * 1024

/**
 * All of an output that is too long to be shown, on its way to disk. It is the person's own file (0600), which nothing reads before the result was
 * looked at: `LargeResults.save` takes it over. A disk that refuses it costs the file and nothing else.
 */
export class OutputSpool {
  readonly path: string
  readonly #folder: string
  readonly #redact: ((text: string) => string) | undefined
  #descriptor: number | undefined
  #bytes = 0
  #isCut = false

  constructor(folder: string, redact?: (text: string) => string) {
    this.#folder = folder
    this.#redact = redact
    this.path = join(folder, `${randomUUID()}.txt`)
  }

  write(text: string): void {
    if (this.#isCut) return
    try {
      this.#descriptor ??= this.#open()
      const most = this.#redact === undefined ? mostBytes : mostRedactedBytes
      const bytes = Buffer.from(text)
      const room = most - this.#bytes
      writeSync(this.#descriptor, bytes.subarray(0, room))
      this.#bytes += Math.min(bytes.length, room)
      if (bytes.length <= room) return
      writeSync(this.#descriptor, `\n[Only the first ${most} bytes were kept.]\n`)
      this.#close()
      this.#isCut = true
    } catch {
      this.drop()
    }
  }

  /** The path of what was written, complete; undefined where nothing was. */
  end(): string | undefined {
    if (this.#bytes === 0) return undefined
    try {
      this.#close()
      this.#isCut = true
      if (this.#redact !== undefined) writeFileSync(this.path, this.#redact(readFileSync(this.path, 'utf8')))
      return this.path
    } catch {
      this.drop()
      return undefined
    }
  }

  /** Nothing of it is kept. */
  drop(): void {
    this.#isCut = true
    this.#bytes = 0
    this.#close()
    rmSync(this.path, { force: true })
  }

  #open(): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    // A link there is none of ours, and leads elsewhere.
    if (!lstatSync(this.#folder).isDirectory()) throw new Error('not a folder of our own')
    return openSync(this.path, 'wx', 0o600)
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}
