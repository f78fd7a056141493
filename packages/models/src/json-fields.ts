import type { Json } from '@halting/core'

/** A text that a service or a script was to give; empty when it gave something else. */
export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function listOf(value: Json | undefined): readonly Json[] {
  // `Array.isArray` does not narrow a readonly list.
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/**
 * Most levels that are read. `JSON.stringify`, and most of what looks through a value, fails some thousand levels down;
 * core keeps 200, and what is read stands a few levels down in a message.
 */
const deepestLevel = 190

/** What a text says as JSON; undefined when it is none, or nests deeper than anybody means to. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTooDeep(text: string): boolean {
  // Each level is opened and closed.
  if (text.length <= 2 * deepestLevel || hasFewLevels(text)) return false
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === quote) index = endOfString(text, index) - 1
    else if (unit === openBrace || unit === openBracket) {
      if (++depth > deepestLevel) return true
    } else if (unit === closeBrace || unit === closeBracket) depth--
  }
  return false
}

/** Whether it has fewer opening signs than would be too many levels, in texts or not: almost all have, and this is soon seen. */
function hasFewLevels(text: string): boolean {
  let left = deepestLevel
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (--left < 0) return false
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (--left < 0) return false
  return true
}

/** The place after the closing quote of the string that begins here. */
export function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === backslash) index++
    else if (unit === quote) return index + 1
  }
  return text.length
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
