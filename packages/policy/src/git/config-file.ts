import { join, resolve } from 'node:path'
import { homeFolder } from '../files/paths.ts'
import { RecentTexts } from '../shell/memoize.ts'

/** One setting of a configuration file, as git reads it. */
export interface GitSetting {
  /** In lower case up to the first dot, as written after it; empty for a key before the first section. */
  readonly section: string
  /** In lower case. */
  readonly key: string
  /** Undefined for a key without `=`, which git treats as true. */
  readonly value: string | undefined
}

export function isInclude(section: string, key: string): boolean {
  return /^include(?:if\.|$)/.test(section) && key === 'path'
}

/** The path in a setting. Undefined if only git can resolve it: home folders of other users, git's own folder, optional paths. */
export function pathInSetting(path: string, from: string): string | undefined {
  if (path === '~' || path.startsWith('~/')) return join(homeFolder(), path.slice(1))
  return /^(?:~|%\(|:)|[\p{Cc}\uFFFD]/u.test(path) ? undefined : resolve(from, path)
}

interface Cursor {
  readonly text: string
  at: number
}

/**
 * Parses a configuration file by git's own grammar (`config.c`). Undefined for files that git rejects, and for files with a NUL byte, which git
 * truncates in places. Bytes that are not UTF-8 become U+FFFD.
 */
export function readGitConfig(bytes: Buffer): readonly GitSetting[] | undefined {
  // Decodes one character per byte, because git compares ASCII only.
  const text = bytes.toString('latin1')
  const before = recent.get(text)
  if (before !== undefined) return before.settings
  const settings = parseSettings(text)
  recent.set(text, { settings })
  return settings
}

/** Every git command reads the same few files, so parsed files are cached. */
const recent = new RecentTexts<{ readonly settings: readonly GitSetting[] | undefined }>(32, 20_000)

function parseSettings(text: string): readonly GitSetting[] | undefined {
  const cursor: Cursor = { text: text.replaceAll('\r\n', '\n'), at: 0 }
  if (cursor.text.includes('\0')) return undefined
  if (cursor.text.startsWith('\xEF\xBB\xBF')) cursor.at = 3
  const settings: GitSetting[] = []
  let section = ''
  for (;;) {
    skipBlank(cursor)
    const next = cursor.text.charAt(cursor.at)
    if (next === '') return settings
    if (next === '[') {
      const head = readSection(cursor)
      if (head === undefined) return undefined
      section = head
    } else {
      const set = isLetter(next) ? readSetting(cursor) : undefined
      if (set === undefined) return undefined
      settings.push({ section: asText(section), key: set.key, value: set.value })
    }
  }
}

/** Skips white space, empty lines and comments. */
function skipBlank(cursor: Cursor): void {
  for (;;) {
    const next = cursor.text.charAt(cursor.at)
    if (next === '#' || next === ';') cursor.at = lineEnd(cursor)
    else if (isSpace(next) || next === '\n') cursor.at += 1
    else return
  }
}

/** Reads a section header: `[name]`, `[name.part]` or `[name "Part"]`. */
function readSection(cursor: Cursor): string | undefined {
  const { text } = cursor
  cursor.at += 1
  const name = readWhile(cursor, (next) => isNameCharacter(next) || next === '.').toLowerCase()
  if (text.charAt(cursor.at) === ']') {
    cursor.at += 1
    return name === '' ? undefined : name
  }
  if (readWhile(cursor, isSpace) === '' || text.charAt(cursor.at) !== '"') return undefined
  cursor.at += 1
  const from = cursor.at
  for (; text.charAt(cursor.at) !== '"'; cursor.at += 1) {
    if (text.charAt(cursor.at) === '\\') cursor.at += 1
    if (isLineEnd(text.charAt(cursor.at))) return undefined
  }
  const part = text.slice(from, cursor.at).replaceAll(/\\(.)/gs, '$1')
  if (text.charAt(cursor.at + 1) !== ']') return undefined
  cursor.at += 2
  return `${name}.${part}`
}

function readSetting(cursor: Cursor): { readonly key: string; readonly value: string | undefined } | undefined {
  const key = readWhile(cursor, isNameCharacter).toLowerCase()
  readWhile(cursor, (next) => next === ' ' || next === '\t')
  const next = cursor.text.charAt(cursor.at)
  if (isLineEnd(next)) return { key, value: undefined }
  if (next !== '=') return undefined
  cursor.at += 1
  const value = readValue(cursor)
  return value === undefined ? undefined : { key, value: asText(value) }
}

const escapes: { readonly [character: string]: string | undefined } = {
  t: '\t',
  b: '\b',
  n: '\n',
  '\\': '\\',
  '"': '"',
}

/** Drops surrounding white space and comments. Inner white space is kept as written, as in git since 2.45. Older versions turn each blank into a space. */
function readValue(cursor: Cursor): string | undefined {
  const pieces: string[] = []
  let isQuoted = false
  let space = ''
  for (;;) {
    const next = cursor.text.charAt(cursor.at)
    if (isLineEnd(next)) return isQuoted ? undefined : pieces.join('')
    cursor.at += 1
    if (!isQuoted && isSpace(next)) {
      if (pieces.length > 0) space += next
      continue
    }
    if (!isQuoted && (next === '#' || next === ';')) {
      cursor.at = lineEnd(cursor)
      continue
    }
    if (space !== '') pieces.push(space)
    space = ''
    if (next === '"') isQuoted = !isQuoted
    else if (next !== '\\') pieces.push(next)
    else {
      const escaped = cursor.text.charAt(cursor.at)
      cursor.at += 1
      // The value continues in the next line, or ends with the file.
      if (isLineEnd(escaped)) continue
      const character = escapes[escaped]
      if (character === undefined) return undefined
      pieces.push(character)
    }
  }
}

function readWhile(cursor: Cursor, fits: (character: string) => boolean): string {
  const from = cursor.at
  while (cursor.at < cursor.text.length && fits(cursor.text.charAt(cursor.at))) cursor.at += 1
  return cursor.text.slice(from, cursor.at)
}

function lineEnd({ text, at }: Cursor): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

/** The end of the file counts as a line end. */
function isLineEnd(character: string): boolean {
  return character === '\n' || character === ''
}

function isSpace(character: string): boolean {
  return character === ' ' || character === '\t' || character === '\r'
}

function isLetter(character: string): boolean {
  return /^[A-Za-z]$/.test(character)
}

function isNameCharacter(character: string): boolean {
  return /^[\dA-Za-z-]$/.test(character)
}

function asText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}
