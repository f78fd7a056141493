import { isAscii } from 'node:buffer'
import type { ModelMessage } from '@halting/core'
import { replyStart, type FoldItem } from './fold.ts'
import { valueOf } from './line.ts'

/** A message and the uuid of its line, where the file is of the first format. */
export interface MessageOfLine {
  readonly message: ModelMessage
  readonly uuid?: string
}

/** What is read of a line in front of its message, but for two bytes that are put before that, and behind it. */
const inFront = ',{"message":'.length
const behind = ',"uuid":"01234567-89ab-8def-8123-456789abcdef"'.length

const [comma = 0, opening = 0, closing = 0, listOpening = 0, listClosing = 0, space = 0] = Buffer.from(',{}[] ')

/**
 * The lines that a fold is of: what is read of them is found by its place. A resume reads all of a session in some milliseconds, so what runs here runs
 * before it was compiled, or has it compiled, which takes longer: it asks for few and large things. Only what is parsed becomes a text, and memory is
 * used again: to touch new memory takes longer than to copy into it.
 */
export class FoldedLines {
  #bytes: Uint8Array = new Uint8Array(0)
  /** The JSON of a fold's messages, one fold after the other. */
  #json: Uint8Array = new Uint8Array(0)

  /** From here on it is of these lines. */
  of({ buffer, byteOffset, length }: Buffer): this {
    // What a buffer has in place of its own methods takes three times as long for little.
    this.#bytes = new Uint8Array(buffer, byteOffset, length)
    return this
  }

  /** How many end in them. */
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

  /** The messages that stand at the places of these items, in their order. @throws for a place at which there is none. */
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
      // Items of the first format name no lines: the uuid stands behind the message.
      const isNamed = kind === 'A' || kind === 'R'
      const step = isNamed ? 3 : 2
      // Where something else stands in them it is no place, or this is no JSON of messages.
      const places = item as readonly unknown[] as readonly number[]
      for (let place = step + 1; place < places.length; place += step) {
        const at = (places[place - 1] ?? 0) - inFront
        const copied = (places[place] ?? 0) + inFront + (isNamed ? 0 : behind)
        if (!(at >= 0 && copied > 0 && at + copied <= size)) throw new TypeError('it names a place that is not there')
        json.set(new Uint8Array(buffer, byteOffset + at, copied), end)
        json[end] = comma
        json[end + 1] = opening
        // The first field of a reply is for other readers of its line.
        if (isReply) json.fill(space, end + inFront + 1, end + inFront + replyStart.length)
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
    // The journal wrote them, as the checksum says. Whoever takes one looks whether it is that of its item.
    const messages = JSON.parse(text) as readonly MessageOfLine[]
    if (messages.length !== count) throw new TypeError('it names other places')
    return messages
  }
}
