import { headOf } from '@halting/core/adapters'
import { lineCut } from './path-texts.ts'

/**
 * Returns a line as `cat -n` shows it: a right-aligned number, a tab, the text. Long lines are truncated, with a note.
 */
function numberedLine(number: number, line: string, lineCharacters: number): string {
  const shown =
    line.length <= lineCharacters ? line : headOf(line, lineCharacters) + lineCut(line.length - lineCharacters)
  return `${String(number).padStart(6)}\t${shown}`
}

export function numberedLines(lines: readonly string[], firstNumber: number, lineCharacters: number): string {
  return lines.map((line, index) => numberedLine(firstNumber + index, line, lineCharacters)).join('\n')
}
