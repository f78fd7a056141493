import { eastAsianWidth } from 'get-east-asian-width'

/** Columns that a text takes in a terminal: two for a wide character, none for a combining one. Never less than the real width. */
export function columnsOf(text: string): number {
  if (isPrintableAscii(text)) return text.length
  let columns = 0
  for (const character of text) columns += characterWidth(character)
  return columns
}

/** Truncates the text with an ellipsis if it is wider than `columns`. */
export function truncateToColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  let [kept, room] = ['', columns - 1]
  for (const character of text) {
    room -= characterWidth(character)
    if (room < 0) break
    kept += character
  }
  return columns > 0 ? `${kept.trimEnd()}…` : ''
}

/** The text wrapped between words to lines of at most `columns` columns. A word that is longer than a line stays whole. */
export function wrapToColumns(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => linesOf(line.split(' '), columns))
    .join('\n')
}

function linesOf(words: readonly string[], columns: number): readonly string[] {
  const lines: string[] = []
  // The line is not measured for each word, because one line may have a million characters.
  let taken = 0
  for (const word of words) {
    const own = columnsOf(word)
    if (lines.length === 0 || taken + 1 + own > columns) {
      lines.push(word)
      taken = own
    } else {
      lines[lines.length - 1] += ` ${word}`
      taken += 1 + own
    }
  }
  return lines
}

/** The text of one line, folded to lines of at most `columns` columns: between words, and within words longer than a line. Nothing is truncated. */
export function foldToColumns(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let rest = text
  // Measures only the beginning of the rest for each line, because one line may have a million characters.
  for (let fits = lengthOfFitting(rest, columns); fits < rest.length; fits = lengthOfFitting(rest, columns)) {
    const space = rest.lastIndexOf(' ', fits)
    // A long word is split rather than leaving most of a line empty.
    const end = space > fits / 2 ? space : fits
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).replace(/^ +/, '')
  }
  return [...lines, rest]
}

/** The length of the beginning that fits, in UTF-16 units; at least one character. */
function lengthOfFitting(text: string, columns: number): number {
  if (isPrintableAscii(text.slice(0, columns + 1))) return Math.min(columns, text.length)
  let [length, left] = [0, columns]
  for (const character of text) {
    left -= columnsOf(character)
    if (left < 0 && length > 0) break
    length += character.length
  }
  return length
}

/** Whether every character takes one column: printable ASCII. */
function isPrintableAscii(text: string): boolean {
  return /^[\u0020-\u007E]*$/.test(text)
}

/** Created for the first text that is not ASCII, because the engine then loads Unicode property tables. */
let joining: RegExp | undefined

function characterWidth(character: string): number {
  // The pattern does not contain all invisible characters: a soft hyphen or an Arabic number sign occupies a column.
  joining ??= /[\p{Mn}\p{Me}\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/u
  if (character === '\uFE0F') return 1 // Variation selector 16: turns a narrow sign into an emoji.
  return joining.test(character) ? 0 : eastAsianWidth(character.codePointAt(0) ?? 0)
}
