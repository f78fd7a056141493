import { basename } from 'node:path'
import { displayPath } from '@halting/policy/files'

/** Line breaks, invisible characters and bidirectional controls. */
const unseen = /[\p{Cc}\u2028\u2029\u061C\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu

/** Returns the name of a path with every non-ASCII character escaped, for names that look the same. */
export function exactName(path: string): string {
  return exactPath(basename(path))
}

/** A path with every non-ASCII character escaped. */
export function exactPath(path: string): string {
  return JSON.stringify(path).replace(
    /[\u007F-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Returns a path for a list with one path per line: as JSON if it would otherwise be ambiguous. */
export function displayName(path: string, from: string): string {
  return inOneLine(displayPath(path, from))
}

/** Returns a name unchanged, or as JSON if it would otherwise be ambiguous. */
export function inOneLine(name: string): string {
  if (name.search(unseen) === -1) return name
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(name).replace(unseen, escaped)
}
