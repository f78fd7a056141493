import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/** One line of a host: an object, or why it is none. */
export type Line =
  | { readonly kind: 'object'; readonly value: JsonObject }
  | { readonly kind: 'broken'; readonly because: string; readonly text: string }

/** More than any message has: a service takes 32 MB. What is longer is passed over, so that memory is not filled. */
const longestBytes = 128 * 1024 * 1024
const lineFeed = 0x0a

/**
 * Lines out of the chunks of a stream (spec R-HOST-2).
 *
 * L1: only a line feed ends a line: U+2028 and U+2029 stand within JSON. A carriage return before it, and a mark of byte order before the first line, are no part of it.
 * L2: a line that is no object is told, and the next is read all the same.
 * L3: a chunk costs what it adds, however long the line is that it belongs to.
 */
export class LineReader {
  #parts: Buffer[] = []
  #bytes = 0
  #isFirst = true

  /** The lines that this chunk completes. Empty ones are none. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = []
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      this.#add(chunk.subarray(from, end))
      lines.push(...this.#take())
      from = end + 1
    }
    this.#add(chunk.subarray(from))
    return lines
  }

  /** The last line, where nothing ended it. */
  end(): readonly Line[] {
    return this.#take()
  }

  #add(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > longestBytes) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #take(): readonly Line[] {
    const isTooLong = this.#bytes > longestBytes
    const bytes = Buffer.concat(this.#parts)
    const isFirst = this.#isFirst
    this.#parts = []
    this.#bytes = 0
    this.#isFirst = false
    if (isTooLong) return [{ kind: 'broken', because: `it has more than ${longestBytes / 1024 / 1024} MB`, text: '' }]
    // What is no UTF-8 becomes U+FFFD: within a text it is read, elsewhere it is no JSON.
    const text = bytes.toString('utf8')
    const line = (isFirst ? text.replace(/^\uFEFF/, '') : text).trim()
    return line === '' ? [] : [parsed(line)]
  }
}

function parsed(text: string): Line {
  try {
    // True: JSON gives nothing else.
    const value = JSON.parse(text) as Json
    if (isJsonObject(value)) return { kind: 'object', value }
    return { kind: 'broken', because: 'it is JSON, but no object', text }
  } catch {
    return { kind: 'broken', because: 'it is no JSON', text }
  }
}

/** A message as a line: JSON escapes line feeds, and these two end a line for some readers. */
export function lineOf(message: object): string {
  const json = JSON.stringify(message)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
  return `${json}\n`
}
