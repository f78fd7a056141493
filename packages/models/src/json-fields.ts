import type { Json } from '@halting/core'

/** Returns a text; empty if the value is something else. */
export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function listOf(value: Json | undefined): readonly Json[] {
  // `Array.isArray` does not narrow a readonly list.
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/**
 * Maximum nesting depth. `JSON.stringify` and most code that walks a value fail at some thousand levels; core allows
 * 200, and parsed values are nested a few levels inside a message.
 */
const deepestLevel = 190

/** Parses JSON; undefined if it is invalid, or nested too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTooDeep(text: string): boolean {
  // Each level has an opening and a closing character.
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

/**
 * Quick check: whether the text has too few opening characters to be nested too deeply, inside strings or not. This
 * holds for almost all texts.
 */
function hasFewLevels(text: string): boolean {
  let remaining = deepestLevel
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (--remaining < 0) return false
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (--remaining < 0) return false
  return true
}

/** Returns the index after the closing quote of the string that starts here. */
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
