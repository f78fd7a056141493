import { basename } from 'node:path'
import { shownPath } from '@halting/policy/files'

/** Characters that end a line, cannot be seen, or turn what stands behind them. */
const unseen = /[\p{Cc}\u2028\u2029\u061C\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu

/** The name of a path with every character beyond ASCII as its number, for names that look the same. */
export function exactName(path: string): string {
  return exactPath(basename(path))
}

/** A path with every character beyond ASCII as its number. */
export function exactPath(path: string): string {
  return JSON.stringify(path).replace(
    /[\u007F-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A path in a list with one on each line: as JSON where it would not be read as it is. */
export function shownName(path: string, from: string): string {
  return inOneLine(shownPath(path, from))
}

/** A name as it is given, or as JSON where it would not be read as it is. */
export function inOneLine(name: string): string {
  if (name.search(unseen) === -1) return name
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(name).replace(unseen, escaped)
}
