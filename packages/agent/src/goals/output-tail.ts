import { stripVTControlCharacters } from 'node:util'
import { tailOf } from '@halting/core/adapters'

const mostLines = 200
const mostCharacters = 16_000
/** Escape sequences and secrets are removed from this much before it is cut. */
const storedBytes = 256 * 1024

// oxlint-disable-next-line no-control-regex -- these are what is removed
const controls = /[\u0000-\u0008\u000B-\u001F\u007F]/g

// Spec R-GOAL-32.
/** The end of what a check wrote, in bounded memory: at most 200 lines and 16,000 characters, without escape sequences. */
export class OutputTail {
  #chunks: Buffer[] = []
  #stored = 0
  #isCut = false

  append(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#stored += chunk.length
    // Cut rarely: each cut copies what is stored.
    if (this.#stored > 4 * storedBytes) this.#cut()
  }

  #cut(): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks)
    const end = all.length > storedBytes ? Buffer.from(all.subarray(-storedBytes)) : all
    this.#isCut ||= end.length < all.length
    this.#chunks = [end]
    this.#stored = end.length
    return end
  }

  /** The last lines. `redact` sees more than them, so that no secret is left in half. */
  text(redact: (text: string) => string = (text) => text): string {
    const decoded = this.#cut().toString('utf8')
    // Where the beginning is missing, the first word may be the rest of a secret or of a character.
    const whole = this.#isCut ? decoded.replace(/^\S+/, '') : decoded
    const plain = redact(stripVTControlCharacters(whole).replaceAll('\r\n', '\n'))
    const lines = plain.trimEnd().split('\n').map(lastState)
    return tailOf(lines.slice(-mostLines).join('\n').replaceAll(controls, ''), mostCharacters)
  }
}

/** A carriage return begins the line again, as progress bars do: what was written last is what a person would see. */
function lastState(line: string): string {
  const end = line.endsWith('\r') ? line.slice(0, -1) : line
  return end.slice(end.lastIndexOf('\r') + 1)
}
