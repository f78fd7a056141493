import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'

/** One line of a host: an object, or why it is not one. */
export type Line =
  | { readonly kind: 'object'; readonly value: JsonObject }
  | { readonly kind: 'broken'; readonly because: string; readonly text: string }
  /** It was not read but for its beginning. */
  | { readonly kind: 'too long'; readonly head: string }

/** As much as a service takes, and as the protocol of editors allows. */
export const longestLineMiB = 32
const longestBytes = longestLineMiB * 1024 * 1024
const headCharacters = 1000
const lineFeed = 0x0a

/**
 * Lines out of the chunks of a stream (spec R-HOST-2).
 *
 * L1: only a line feed ends a line: U+2028 and U+2029 stand within JSON. A carriage return before it, and a mark of byte order before the first line, are no part of it.
 * L2: a line that is not an object, or is too long, is reported, and the next is read all the same.
 * L3: a chunk costs what it adds, however long the line is that it belongs to.
 */
export class LineReader {
  #parts: Buffer[] = []
  #bytes = 0
  /** The beginning of a line that is too long. */
  #head: Buffer | undefined
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
    if (this.#bytes <= longestBytes) {
      if (part.length > 0) this.#parts.push(part)
      return
    }
    this.#head ??= Buffer.concat([...this.#parts, part], 4 * headCharacters)
    this.#parts = []
  }

  #take(): readonly Line[] {
    const [bytes, head] = [Buffer.concat(this.#parts), this.#head]
    const isFirst = this.#isFirst
    this.#parts = []
    this.#bytes = 0
    this.#head = undefined
    this.#isFirst = false
    if (head !== undefined) return [{ kind: 'too long', head: head.toString('utf8').slice(0, headCharacters) }]
    // What is no UTF-8 becomes U+FFFD: within a text it is read, elsewhere it is no JSON.
    const text = bytes.toString('utf8')
    const line = (isFirst ? text.replace(/^\uFEFF/, '') : text).trim()
    return line === '' ? [] : [parseLine(line)]
  }
}

function parseLine(text: string): Line {
  try {
    // True: JSON gives nothing else.
    const value = JSON.parse(text) as Json
    if (isJsonObject(value)) return { kind: 'object', value }
    return { kind: 'broken', because: 'is not a JSON object', text }
  } catch {
    return { kind: 'broken', because: 'is not valid JSON', text }
  }
}

/** Who waits for an answer to a line of which only the beginning is known. Quotes within a text are escaped, so that a key is one. */
export function waitingSender(head: string): 'message' | { readonly requestId: string } | undefined {
  const type = /"type"\s*:\s*"(user|control_request)"/.exec(head)?.[1]
  if (type === 'user') return 'message'
  const id = /"request_id"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1]
  if (type === undefined || id === undefined) return undefined
  const value = parseLine(`{"id":${id}}`)
  const requestId = value.kind === 'object' ? value.value['id'] : undefined
  return typeof requestId === 'string' ? { requestId } : undefined
}

/** The type of a line, for a warning. What has another type than a text may be too deep to be written. */
export function typeText({ type }: JsonObject): string {
  return typeof type === 'string' ? oneLine(JSON.stringify(type), 100) : 'that is not a string'
}

/** A message as a line: JSON escapes line feeds, and these two end a line for some readers. */
export function lineOf(message: object): string {
  const json = JSON.stringify(message)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
  return `${json}\n`
}
