import { columnsOf, truncateToColumns, isPrintableAscii } from '../../io/columns.ts'
import { oneLine } from '../../io/figures.ts'
import { sanitizeTerminalText } from '../../io/sanitize-terminal-text.ts'
import type { Block } from '../screen/screen-port.ts'

/** Text of models, tools and files, safe for the terminal, with tabs as four spaces (spec R-TERM-20). */
export function displayText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll(/[\u2028\u2029]/g, '\n')
  return sanitizeTerminalText(lines, { styled: false }).replaceAll('\t', '    ')
}

/** The text wrapped to at most `width` columns: between words, and within words longer than a line. */
export function foldedLines(text: string, width: number): readonly string[] {
  const room = Math.max(2, width)
  return displayText(text)
    .split('\n')
    .flatMap((line) => foldedLine(line.trimEnd(), room))
}

function foldedLine(line: string, room: number): readonly string[] {
  const lines: string[] = []
  let rest = line
  // The rest is not measured for each line, because one line may have a million characters.
  for (let fits = lengthOfFitting(rest, room); fits < rest.length; fits = lengthOfFitting(rest, room)) {
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

/** The first lines, and how many more there are. */
export function headOfLines(lines: readonly string[], most: number, width: number): readonly string[] {
  if (lines.length <= most) return lines
  return [...lines.slice(0, most - 1), truncateToColumns(`… ${lines.length - most + 1} more lines`, width)]
}

/** The last lines, and how many precede them. */
export function tailOfLines(lines: readonly string[], most: number, width: number): readonly string[] {
  if (lines.length <= most) return lines
  return [truncateToColumns(`… ${lines.length - most + 1} lines before`, width), ...lines.slice(1 - most)]
}

/** Wrapped text after a mark; further lines are indented to the first. */
export function hanging(mark: string, text: string, width: number, paint = (line: string): string => line): string[] {
  const indent = ' '.repeat(columnsOf(mark))
  const lines = foldedLines(text, width - indent.length)
  return lines.map((line, index) => fittedStyled(index === 0 ? mark : indent, line, width, paint))
}

/** If the mark takes the whole width, the line is cut. */
function fittedStyled(before: string, line: string, width: number, paint: (line: string) => string): string {
  const room = width - columnsOf(before)
  return room < 2 ? truncateToColumns(before + line, width) : before + paint(line)
}

/** The text on one line of at most `width` columns. */
export function displayLine(text: string, width: number): string {
  return oneLine(displayText(text), Math.max(1, width))
}

/** A block with this render function. */
export function blockOf(render: (width: number) => readonly string[]): Block {
  return { render }
}
