import { isAscii } from 'node:buffer'
import type { ModelMessage } from '@halting/core'
import { replyStart, resultStart } from './journal-fold.ts'
import { valueOf } from './journal-line.ts'

/** A message, and the uuid of its line. */
interface MessageOfLine {
  readonly message: ModelMessage
  readonly uuid: string
}

/** What stands behind a message in its line, as far as it is read. */
const uuidLength = ',"uuid":"01234567-89ab-8def-8123-456789abcdef"'.length

/** The lines that a fold is of: what is read of them is found by its place. */
export class FoldedLines {
  readonly #bytes: Buffer
  readonly #encoding: 'latin1' | 'utf8'

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    // The same text, in less time.
    this.#encoding = isAscii(bytes) ? 'latin1' : 'utf8'
  }

  /** How many end in them. */
  get count(): number {
    let count = 0
    for (let at = this.#bytes.indexOf(10); at >= 0; at = this.#bytes.indexOf(10, at + 1)) count++
    return count
  }

  lineAt(at: number, length: number): { readonly [field: string]: unknown } {
    return valueOf(this.#bytes, at, at + length)
  }

  /** A reply, without the first field of its JSON, by which other readers know it. @throws for a place at which none stands. */
  replyAt(at: number, length: number): MessageOfLine {
    return this.#messageAt(at, length, replyStart, '{')
  }

  /** The result of a call. @throws for a place at which none stands. */
  resultAt(at: number, length: number): MessageOfLine {
    return this.#messageAt(at, length, resultStart, resultStart)
  }

  #messageAt(at: number, length: number, start: string, read: string): MessageOfLine {
    const text = this.#bytes.toString(this.#encoding, at, at + length + uuidLength)
    if (!text.startsWith(start)) throw new TypeError('it names another place')
    const found = JSON.parse(`{"message":${read}${text.slice(start.length)}}`) as Partial<MessageOfLine>
    if (found.uuid === undefined) throw new TypeError('it names another place')
    // The journal wrote it, as the checksum says.
    return found as MessageOfLine
  }
}
