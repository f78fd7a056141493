import { headOf } from '@halting/core/adapters'
import { redactedMark } from '@halting/core/redact'
import {
  copyFromFile,
  differences,
  firstOfSeveral,
  foldedMatch,
  lineDifference,
  lineNumbersIncluded,
  lineRange,
  matchExactly,
  moreMatchLines,
  nothingSimilar,
  oldStringRedacted,
  readToCopy,
  similarLine,
  similarLines,
} from './edit-texts.ts'
import type { HasTool } from './available-tools.ts'
import { numberedLines } from './numbered-lines.ts'
import { closestLines } from './similar-lines.ts'

/** Longer texts are not searched, because the search would take seconds. */
const longestText = 1_000_000
const longestOld = 100_000
// Enough lines to copy `old_string` from, without another Read.
const maxLines = 40
const lineCharacters = 500
const snippetCharacters = 6000

/** A file that an edit does not match, and the caller's tools. */
interface EditedFile {
  readonly path: string
  readonly text: string
  readonly has: HasTool
}

/** Explains why a text is not in a file: shows the most similar passage and how it differs. The length is bounded. */
export function whyNotFound({ path, text: fileText, has }: EditedFile, oldString: string): string {
  // Line ends of either kind match each other.
  const [text, oldText] = [fileText.replaceAll('\r\n', '\n'), oldString.replaceAll('\r\n', '\n')]
  if (oldText.includes(redactedMark) && !text.includes(redactedMark)) return oldStringRedacted(redactedMark)
  if (text.length > longestText || oldText.length > longestOld) return matchExactly
  const near = foldedPlace(text, oldText) ?? similarPlace(text, oldText)
  if (near === undefined) return nothingSimilar(has)
  const lines = text.split(near.ends)
  const shown = shownLines(lines, near)
  const next = shown.isWhole ? copyFromFile : readToCopy(path, near.line + 1, near.count)
  return [near.why, shown.text, ...difference(lines, oldText, near), next].join('\n')
}

interface Near {
  /** First line of the passage, counted from 0. */
  readonly line: number
  readonly count: number
  readonly why: string
  /** The line separators. */
  readonly ends: '\n' | RegExp
}

interface Fold {
  readonly what: string
  /** Conversion that is applied to both texts; preserves the lines. */
  readonly both?: (text: string) => string
  /** Conversion that is applied only to the text to replace. */
  readonly old?: (text: string) => string
}

const spaces: Fold = {
  what: differences.spaces,
  both: (text) => text.replace(/[^\S\n]+/g, ' ').replace(/^ | $/gm, ''),
}
const lookAlikes: Fold = {
  what: differences.lookAlikes,
  both: (text) =>
    text
      .normalize('NFKC')
      .replace(/[\u2018\u2019\u201A\u201B\u2032\u02BC\u0060\u00B4]/g, "'")
      .replace(/[\u201C\u201D\u201E\u201F\u2033\u00AB\u00BB]/g, '"')
      .replace(/[\u2010-\u2015\u2212\u00AD\uFE58\uFE63]/g, '-')
      .replace(/[\u200B-\u200F\u2060\uFEFF]/g, '')
      .replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, ' '),
}
const letterCase: Fold = { what: differences.letterCase, both: (text) => text.toLowerCase() }
const escapes: Fold = {
  what: differences.escapes,
  both: (text) =>
    text
      .replaceAll('\\\\', '\\')
      .replace(/\\(["'`$])/g, '$1')
      .replaceAll('\\t', '\t'),
  old: (text) => text.replaceAll('\\n', '\n'),
}
const lineNumbers: Fold = {
  what: differences.lineNumbers,
  old: (text) => text.replace(/^ {0,6}\d+(?:\t|\u2192)/gm, ''),
}
const lineEnds: Fold = {
  what: differences.lineEnds,
  both: (text) => text.replaceAll('\r', '\n'),
}
const outerSpace: Fold = { what: differences.outerSpace, old: (text) => text.trim() }

/** Conversions in this order: the first one that makes the texts equal identifies the difference. */
const folds: readonly (readonly Fold[])[] = [
  [lineNumbers],
  [spaces],
  [outerSpace],
  [lookAlikes],
  [letterCase],
  [escapes],
  [lineEnds],
  [lineNumbers, spaces],
  [spaces, outerSpace],
  [spaces, lookAlikes],
  [spaces, escapes],
  [lineNumbers, spaces, lookAlikes, outerSpace],
  [spaces, lookAlikes, letterCase, outerSpace],
]

/** Returns the passage at which the texts are equal once a kind of difference is ignored. */
function foldedPlace(text: string, oldText: string): Near | undefined {
  for (const fold of folds) {
    const old = fold.reduce((folded, { both = same, old: ofOld = same }) => both(ofOld(folded)), oldText)
    if (old.trim() === '') continue
    const whole = fold.reduce((folded, { both = same }) => both(folded), text)
    const at = whole.indexOf(old)
    if (at === -1) continue
    const line = lineAt(whole, at)
    const more = whole.indexOf(old, at + old.length) === -1 ? '' : firstOfSeveral
    const what = fold.map((each) => each.what).join(' and ')
    const count = old.split('\n').length
    const isPrefix = fold.length === 1 && fold[0] === lineNumbers
    const lines = lineRange(line + 1, line + count)
    const why = (isPrefix ? lineNumbersIncluded(lines) : foldedMatch(lines, what)) + more
    return { line, count, why, ends: fold.includes(lineEnds) ? /[\r\n]/ : '\n' }
  }
  return undefined
}

const same = (text: string): string => text

function similarPlace(text: string, oldText: string): Near | undefined {
  const old = oldText.replace(/\n$/, '').split('\n')
  const found = closestLines(text.split('\n'), old)
  if (found === undefined) return undefined
  const { line, sameLines } = found
  const lines = lineRange(line + 1, line + old.length)
  const why = old.length === 1 ? similarLine(lines) : similarLines(lines, sameLines, old.length)
  return { line, count: old.length, why, ends: '\n' }
}

function lineAt(text: string, place: number): number {
  let line = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < place; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

/** Returns as many whole lines as fit. */
function shownLines(lines: readonly string[], { line, count }: Near): { text: string; isWhole: boolean } {
  const place = lines.slice(line, line + count)
  const shown: string[] = []
  let left = snippetCharacters
  for (const [index, each] of place.slice(0, maxLines).entries()) {
    const numbered = numberedLines([each], line + index + 1, lineCharacters)
    left -= numbered.length + 1
    if (left < 0) break
    shown.push(numbered)
  }
  const rest = place.length - shown.length
  if (rest > 0) shown.push(moreMatchLines(rest))
  return { text: shown.join('\n'), isWhole: rest === 0 && place.every((each) => each.length <= lineCharacters) }
}

/** Describes the first line that differs, with invisible characters made visible. */
function difference(lines: readonly string[], oldText: string, { line, count }: Near): readonly string[] {
  const old = oldText.split('\n')
  for (let index = 0; index < Math.min(count, old.length); index += 1) {
    const [has, oldLine] = [lines[line + index] ?? '', old[index] ?? '']
    if (isThere(has, oldLine, index === 0, index === old.length - 1)) continue
    const [file, oldPart] = around(has, oldLine)
    return [lineDifference(line + index + 1, file, oldPart)]
  }
  return []
}

/**
 * Whether a line matches: the first line to replace may be the end of a line in the file, and the last one the
 * beginning of a line.
 */
function isThere(has: string, oldLine: string, isFirst: boolean, isLast: boolean): boolean {
  if (isFirst && isLast) return has.includes(oldLine)
  return isFirst ? has.endsWith(oldLine) : isLast ? has.startsWith(oldLine) : has === oldLine
}

const shownAround = 60

/** Returns parts of both lines, from shortly before the first difference. */
function around(has: string, oldLine: string): readonly [string, string] {
  let at = 0
  while (at < has.length && at < oldLine.length && has[at] === oldLine[at]) at += 1
  const start = Math.max(0, at - 20)
  const show = (line: string): string => {
    const part = headOf(line.slice(start), shownAround)
    const cut = start + part.length < line.length ? '...' : ''
    return `${start > 0 ? '...' : ''}${visible(part)}${cut}`
  }
  return [show(has), show(oldLine)]
}

/** Quotes a text, with characters other than plain ASCII as escapes. */
function visible(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007F-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
