import { endOfString } from '../json-fields.ts'

/**
 * True when a value that was read from this text is written as the same text again, but for white space between its
 * parts. JavaScript's own values lose the rest: `1.0`, numbers beyond 2^53, the order of keys that are numbers, a key
 * that stands there twice.
 */
export function isExact(text: string, value: unknown): boolean {
  const written = JSON.stringify(value)
  return written === text || written === compact(text)
}

/** JSON text without the white space between its parts. */
export function compact(text: string): string {
  let compacted = ''
  let from = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === quote) index = endOfString(text, index) - 1
    else if (unit === space || unit === lineFeed || unit === carriageReturn || unit === tab) {
      compacted += text.slice(from, index)
      from = index + 1
    }
  }
  return from === 0 ? text : compacted + text.slice(from)
}

const quote = 0x22
const space = 0x20
const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** The text of the value under this key of a JSON object, as it stands there; undefined when there is none. */
export function valueText(object: string, key: string): string | undefined {
  const text = compact(object)
  let depth = 0
  let start = -1
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === quote) {
      const end = endOfString(text, index)
      if (depth === 1 && start < 0 && text[end] === ':' && text.slice(index, end) === JSON.stringify(key))
        start = end + 1
      index = end - 1
    } else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === closeBrace || unit === closeBracket) {
      depth--
      if (start >= 0 && depth === 0) return text.slice(start, index)
    } else if (unit === commaSign && depth === 1 && start >= 0) return text.slice(start, index)
  }
  return undefined
}

const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const commaSign = 0x2c
