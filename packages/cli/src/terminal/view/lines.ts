import { columnsOf, fitted, isPrintableAscii } from '../../io/columns.ts'
import { oneLine } from '../../io/figures.ts'
import { inert } from '../../io/inert.ts'
import type { Block } from '../screen/screen-port.ts'

/** Text of models, tools and files as a terminal may be shown it: nothing in it steers the terminal; a tab is four spaces (spec R-TERM-20). */
export function displayText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll(/[\u2028\u2029]/g, '\n')
  return inert(lines, { styled: false }).replaceAll('\t', '    ')
}

/** The text in lines of at most so many columns: parted between words, and within a word that is longer than a line. */
export function foldedLines(text: string, width: number): readonly string[] {
  const room = Math.max(2, width)
  return displayText(text)
    .split('\n')
    .flatMap((line) => foldedLine(line.trimEnd(), room))
}

function foldedLine(line: string, room: number): readonly string[] {
  const lines: string[] = []
  let rest = line
  // What is left is not measured whole for each line: a text of one line may have a million characters.
  for (let fits = lengthOfFitting(rest, room); fits < rest.length; fits = lengthOfFitting(rest, room)) {
    const space = rest.lastIndexOf(' ', fits)
    // A line that would be short for the sake of a long word is filled with a part of it.
    const end = space > fits / 2 ? space : fits
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).replace(/^ +/, '')
  }
  return [...lines, rest]
}

/** How much of the text fits the columns, in UTF-16 units; at least one character. */
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

/** The first of the lines, and how many more there are. */
export function headOfLines(lines: readonly string[], most: number, width: number): readonly string[] {
  if (lines.length <= most) return lines
  return [...lines.slice(0, most - 1), fitted(`… ${lines.length - most + 1} more lines`, width)]
}

/** The last of the lines, and how many there are before. */
export function tailOfLines(lines: readonly string[], most: number, width: number): readonly string[] {
  if (lines.length <= most) return lines
  return [fitted(`… ${lines.length - most + 1} lines before`, width), ...lines.slice(1 - most)]
}

/** Folded text behind a mark; what follows stands below its first line. */
export function hanging(mark: string, text: string, width: number, paint = (line: string): string => line): string[] {
  const indent = ' '.repeat(columnsOf(mark))
  const lines = foldedLines(text, width - indent.length)
  return lines.map((line, index) => fittedStyled(index === 0 ? mark : indent, line, width, paint))
}

/** For marks that are as wide as the screen, there is no room for more. */
function fittedStyled(before: string, line: string, width: number, paint: (line: string) => string): string {
  const room = width - columnsOf(before)
  return room < 2 ? fitted(before + line, width) : before + paint(line)
}

/** One line of at most so many columns. */
export function displayLine(text: string, width: number): string {
  return oneLine(displayText(text), Math.max(1, width))
}

/** A block that is made of its width alone. */
export function blockOf(render: (width: number) => readonly string[]): Block {
  return { render }
}
