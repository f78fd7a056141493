import { join, resolve } from 'node:path'
import { homeFolder } from '../files/paths.ts'
import { RecentTexts } from '../shell/memoize.ts'

/** One setting of a configuration file, as git reads it. */
export interface GitSetting {
  /** In lower case up to its first dot, after it as written; empty for a key before the first section. */
  readonly section: string
  /** In lower case. */
  readonly key: string
  /** Undefined for a key without `=`, which git takes for true. */
  readonly value: string | undefined
}

export function isInclude(section: string, key: string): boolean {
  return /^include(?:if\.|$)/.test(section) && key === 'path'
}

/** A path in a setting. Undefined for what git alone can resolve: homes of other users, its own folder, optional paths. */
export function pathInSetting(path: string, from: string): string | undefined {
  if (path === '~' || path.startsWith('~/')) return join(homeFolder(), path.slice(1))
  return /^(?:~|%\(|:)|[\p{Cc}\uFFFD]/u.test(path) ? undefined : resolve(from, path)
}

interface Cursor {
  readonly text: string
  at: number
}

/**
 * The settings of a configuration file by git's own grammar (`config.c`), in their order. Undefined for what git refuses, and for a
 * file with a NUL byte, which git cuts in places. Text that is not UTF-8 is returned with U+FFFD in place of the invalid bytes.
 */
export function readGitConfig(bytes: Buffer): readonly GitSetting[] | undefined {
  // One character a byte: git knows no others, and what it compares is ASCII.
  const text = bytes.toString('latin1')
  const before = recent.get(text)
  if (before !== undefined) return before.settings
  const settings = parseSettings(text)
  recent.set(text, { settings })
  return settings
}

/** The same few files are read for each command of git. */
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

/** White space, empty lines and comments. */
function skipBlank(cursor: Cursor): void {
  for (;;) {
    const next = cursor.text.charAt(cursor.at)
    if (next === '#' || next === ';') cursor.at = lineEnd(cursor)
    else if (isSpace(next) || next === '\n') cursor.at += 1
    else return
  }
}

/** `[name]`, `[name.part]` or `[name "Part"]`. */
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

/** White space around it and comments are left out. Inside it is as written, as git has it since 2.45; a space each before. */
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
      // The line goes on in the next one; at the end of the file there is none.
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

/** The end of the file counts as one. */
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
