import { columnsOf, foldToColumns, truncateToColumns } from '../../io/columns.ts'
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
    .flatMap((line) => foldToColumns(line.trimEnd(), room))
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

/** If the mark occupies the whole width, the line is truncated. */
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
