import { randomUUID } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spoolCut } from './shell-texts.ts'

/** Maximum bytes of one output, and of one that is searched for secrets. */
const maxBytes = 64 * 1024 * 1024
const maxRedactedBytes = 8 * 1024 * 1024
/** Longer than any secret: this many characters are dropped at a truncation, so that no part of a secret remains. */
const longestSecret = 64 * 1024

// Spec R-SECRET-1.
/**
 * Writes an output that is too long to show to disk as a whole. The file belongs to the user (0600), and is not read
 * before the result was checked: `LargeResults.save` then moves it. A full or failing disk affects only the file.
 * Output that is searched for secrets is stored in memory until the end and written without them, so a crash leaves no
 * secret on disk.
 */
export class OutputSpool {
  readonly path: string
  readonly #folder: string
  readonly #redact: ((text: string) => string) | undefined
  readonly #held: Buffer[] = []
  #descriptor: number | undefined
  #bytes = 0
  #isOver = false

  constructor(folder: string, redact?: (text: string) => string) {
    this.#folder = folder
    this.#redact = redact
    this.path = join(folder, `${randomUUID()}.txt`)
  }

  write(text: string): void {
    if (this.#isOver) return
    const room = (this.#redact === undefined ? maxBytes : maxRedactedBytes + longestSecret) - this.#bytes
    const bytes = Buffer.from(text)
    const kept = bytes.subarray(0, room)
    this.#bytes += kept.length
    this.#isOver = bytes.length > room
    if (this.#redact !== undefined) {
      this.#held.push(kept)
      return
    }
    this.#save(kept)
    if (this.#isOver) this.#save(cutNote(maxBytes))
  }

  /** Completes the file. Returns its path; undefined if nothing was written. */
  end(): string | undefined {
    if (this.#redact !== undefined && this.#bytes > 0) {
      const text = this.#redact(Buffer.concat(this.#held).toString())
      this.#save(this.#isOver ? text.slice(0, -longestSecret) + cutNote(maxRedactedBytes) : text)
    }
    this.#isOver = true
    this.#close()
    return this.#bytes === 0 ? undefined : this.path
  }

  /** Deletes the file. */
  drop(): void {
    this.#isOver = true
    this.#bytes = 0
    this.#held.length = 0
    try {
      this.#close()
      rmSync(this.path, { force: true })
    } catch {
      // The disk refused the file before.
    }
  }

  #save(content: Buffer | string): void {
    try {
      this.#descriptor ??= this.#open()
      writeFileSync(this.#descriptor, content)
    } catch {
      this.drop()
    }
  }

  #open(): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    // A link at this path was not created by this program, and leads elsewhere.
    if (!lstatSync(this.#folder).isDirectory()) throw new Error('not a folder of our own')
    return openSync(this.path, 'wx', 0o600)
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

function cutNote(bytes: number): string {
  return `\n${spoolCut(bytes)}\n`
}
