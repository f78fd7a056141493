import { isAscii } from 'node:buffer'
import type { ModelMessage } from '@halting/core'
import { replyStart, type FoldItem } from './fold.ts'
import { valueOf } from './line.ts'

/** A message, and the uuid of its line in the first format. */
export interface MessageOfLine {
  readonly message: ModelMessage
  readonly uuid?: string
}

/** Number of bytes to copy before a message, apart from two that are inserted, and after it. */
const messagePrefixLength = ',{"message":'.length
const uuidFieldLength = ',"uuid":"01234567-89ab-8def-8123-456789abcdef"'.length

const [comma = 0, opening = 0, closing = 0, listOpening = 0, listClosing = 0, space = 0] = Buffer.from(',{}[] ')

/**
 * The lines that a fold covers, read by offset. Resuming reads a whole session in some milliseconds, before this code
 * is compiled. So it uses few, large operations, converts only parsed parts to text, and reuses memory, because
 * touching new memory takes longer than copying.
 */
export class FoldedLines {
  #bytes: Uint8Array = new Uint8Array(0)
  /** JSON of a fold's messages, reused for each fold. */
  #json: Uint8Array = new Uint8Array(0)

  /** Uses these lines from now on. */
  of({ buffer, byteOffset, length }: Buffer): this {
    // Buffer's own methods take three times as long.
    this.#bytes = new Uint8Array(buffer, byteOffset, length)
    return this
  }

  /** Number of line ends. */
  get count(): number {
    const bytes = this.#bytes
    let count = 0
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
    return count
  }

  lineAt(at: number, length: number): { readonly [field: string]: unknown } {
    const { buffer, byteOffset, byteLength } = this.#bytes
    return valueOf(Buffer.from(buffer, byteOffset, byteLength), at, at + length)
  }

  /** Returns the messages of these items, in order. @throws an error for an offset without a message. */
  messagesAt(items: readonly FoldItem[]): readonly MessageOfLine[] {
    const { buffer, byteOffset, length: size } = this.#bytes
    if (this.#json.length <= size) this.#json = new Uint8Array(size + 1)
    const json = this.#json
    let end = 0
    let count = 0
    for (let index = 0; index < items.length; index++) {
      const item = items[index] as FoldItem
      const kind = item[0]
      if (kind === 'e' || kind === 'l') continue
      const isReply = kind === 'a'
      // Items of the first format have no line numbers: the uuid follows the message.
      const isNamed = kind === 'A' || kind === 'R'
      const step = isNamed ? 3 : 2
      // Invalid items fail the following checks, or yield invalid JSON.
      const places = item as readonly unknown[] as readonly number[]
      for (let place = step + 1; place < places.length; place += step) {
        const at = (places[place - 1] ?? 0) - messagePrefixLength
        const copied = (places[place] ?? 0) + messagePrefixLength + (isNamed ? 0 : uuidFieldLength)
        if (!(at >= 0 && copied > 0 && at + copied <= size)) throw new TypeError('it refers to a missing place')
        json.set(new Uint8Array(buffer, byteOffset + at, copied), end)
        json[end] = comma
        json[end + 1] = opening
        // The first field of a reply is for other readers.
        if (isReply) json.fill(space, end + messagePrefixLength + 1, end + messagePrefixLength + replyStart.length)
        end += copied
        json[end++] = closing
        count++
      }
    }
    if (count === 0) return []
    json[0] = listOpening
    json[end++] = listClosing
    const list = Buffer.from(json.buffer, 0, end)
    const text = list.toString(isAscii(list) ? 'latin1' : 'utf8')
    // The checksum proves that the journal wrote these offsets. The caller checks that each belongs to its item.
    const messages = JSON.parse(text) as readonly MessageOfLine[]
    if (messages.length !== count) throw new TypeError('it refers to other places')
    return messages
  }
}
