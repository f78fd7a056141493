import type { ModelMessage } from '@halting/core'
import { replyStart, resultStart, type FoldItem } from './journal-fold.ts'
import { asciiOf, valueOf } from './journal-line.ts'

/** A message, and the uuid of its line. */
export interface MessageOfLine {
  readonly message: ModelMessage
  readonly uuid: string
}

/** What is read of a line behind its message. */
const uuidLength = ',"uuid":"01234567-89ab-8def-8123-456789abcdef"'.length

/**
 * The lines that a fold is of: what is read of them is found by its place. A resume reads all of a session in some milliseconds, so what runs here runs
 * before it was compiled, or has it compiled: it asks for few and large things.
 */
export class FoldedLines {
  readonly #bytes: Buffer
  readonly #ascii: string | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#ascii = asciiOf(bytes)
  }

  /** How many end in them. */
  get count(): number {
    const text = this.#ascii ?? this.#bytes.toString('latin1')
    let count = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
    return count
  }

  lineAt(at: number, length: number): { readonly [field: string]: unknown } {
    return valueOf(this.#bytes, at, at + length)
  }

  /** The messages that stand at the places of these items, in their order. @throws for a place at which there is none. */
  messagesAt(items: readonly FoldItem[]): readonly MessageOfLine[] {
    const found: string[] = []
    for (const item of items) {
      // Without its first field, by which other readers know a reply.
      if (item[0] === 'a') found.push(`{"message":{${this.#behind(replyStart, item[2], item[3])}}`)
      else if (item[0] === 'r') {
        for (let index = 2; index < item.length; index += 2)
          found.push(
            `{"message":${resultStart}${this.#behind(resultStart, Number(item[index]), Number(item[index + 1]))}}`,
          )
      }
    }
    // The journal wrote them, as the checksum says.
    const messages = JSON.parse(`[${found.join(',')}]`) as readonly Partial<MessageOfLine>[]
    if (messages.length !== found.length) throw new TypeError('it names other places')
    for (const { uuid, message } of messages)
      if (uuid === undefined || message === undefined) throw new TypeError('it names another place')
    return messages as readonly MessageOfLine[]
  }

  /** What stands behind the start of a message, with the uuid of its line. */
  #behind(start: string, at: number, length: number): string {
    const end = at + length + uuidLength
    const text = this.#ascii === undefined ? this.#bytes.toString('utf8', at, end) : this.#ascii.slice(at, end)
    if (!text.startsWith(start)) throw new TypeError('it names another place')
    return text.slice(start.length)
  }
}
