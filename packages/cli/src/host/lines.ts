import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'

/** A line of a host: an object, or why it is not one. */
export type Line =
  | { readonly kind: 'object'; readonly value: JsonObject }
  | { readonly kind: 'broken'; readonly because: string; readonly text: string }
  /** The line is too long, so only its beginning was read. */
  | { readonly kind: 'too long'; readonly head: string }

/** Maximum length of a line: as much as a model service accepts, and as the editor protocol allows. */
export const longestLineMiB = 32
const longestBytes = longestLineMiB * 1024 * 1024
const headCharacters = 1000
const lineFeed = 0x0a

/**
 * Splits the chunks of a stream into lines (spec R-HOST-2).
 *
 * L1: only a line feed ends a line, since JSON may contain U+2028 and U+2029. A preceding carriage return, and a byte order mark at the start, are
 * removed.
 * L2: a line that is too long or not an object is reported, and the next one is read.
 * L3: the cost of a chunk does not depend on the length of the line so far.
 */
export class LineReader {
  #parts: Buffer[] = []
  #bytes = 0
  /** The beginning of a line that is too long; undefined for other lines. */
  #head: Buffer | undefined
  #isFirst = true

  /** The lines that this chunk completes, without empty ones. */
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

  /** The last line, if no line feed ended it. */
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
    // Invalid UTF-8 becomes U+FFFD, which is valid within a string and makes the JSON invalid elsewhere.
    const text = bytes.toString('utf8')
    const line = (isFirst ? text.replace(/^\uFEFF/, '') : text).trim()
    return line === '' ? [] : [parseLine(line)]
  }
}

function parseLine(text: string): Line {
  try {
    // This cast is safe: `JSON.parse` returns only JSON values.
    const value = JSON.parse(text) as Json
    if (isJsonObject(value)) return { kind: 'object', value }
    return { kind: 'broken', because: 'is not a JSON object', text }
  } catch {
    return { kind: 'broken', because: 'is not valid JSON', text }
  }
}

/** The sender that waits for an answer to a line of which only the beginning was read. Quotes within strings are escaped, so a matched key is a key. */
export function waitingSender(head: string): 'message' | { readonly requestId: string } | undefined {
  const type = /"type"\s*:\s*"(user|control_request)"/.exec(head)?.[1]
  if (type === 'user') return 'message'
  const id = /"request_id"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(head)?.[1]
  if (type === undefined || id === undefined) return undefined
  const value = parseLine(`{"id":${id}}`)
  const requestId = value.kind === 'object' ? value.value['id'] : undefined
  return typeof requestId === 'string' ? { requestId } : undefined
}

/** The type of a line for a warning. A type that is not a string may be nested too deeply to print. */
export function typeText({ type }: JsonObject): string {
  return typeof type === 'string' ? oneLine(JSON.stringify(type), 100) : 'that is not a string'
}

/** A message as one line. JSON escapes line feeds; some readers also end a line at U+2028 and U+2029. */
export function lineOf(message: object): string {
  const json = JSON.stringify(message)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
  return `${json}\n`
}
