import { columnsOf, truncateToColumns, wrapToColumns } from './columns.ts'
import { oneLine } from './figures.ts'

/** Rows of a name and a text, which is wrapped beside the names. A name that is too long for its column gets lines of its own. */
export function rowsOf(rows: readonly (readonly [string, string])[], width: number): readonly string[] {
  const names = namesOf(rows, Math.floor(width * 0.4))
  return rows.flatMap(([name, text], index) => {
    const column = names[index] ?? ''
    if (oneLine(name, Infinity) === column.trim()) return linesAfter(column, text, width)
    return [...linesAfter('  ', name, width), ...linesAfter(' '.repeat(columnsOf(column)), text, width)]
  })
}

/** Rows of a name and figures; each column of figures is right-aligned. */
export function figureRows(rows: readonly (readonly [string, ...string[]])[], width: number): readonly string[] {
  const names = namesOf(rows, Math.floor(width / 2))
  const widest = (column: number): number => Math.max(...rows.map((row) => columnsOf(row[column] ?? '')))
  return rows.map(([, ...figures], index) => {
    const line = (names[index] ?? '') + figures.map((each, at) => each.padStart(widest(at + 1))).join('  ')
    return columnsOf(line) <= width ? line : lineAfter(names[index] ?? '', figures.join('  '), width)
  })
}

/** The first column, as wide as its longest name up to a limit. */
function namesOf(rows: readonly (readonly [string, ...string[]])[], most: number): readonly string[] {
  const first = Math.min(Math.max(0, ...rows.map(([name]) => columnsOf(name))), most)
  return rows.map(([name]) => {
    const shown = oneLine(name, first)
    return `  ${shown}${' '.repeat(Math.max(0, first - columnsOf(shown)))}  `
  })
}

/** The text wrapped between words, with continuation lines indented to its start. Only a word longer than a line is cut. */
export function linesAfter(before: string, text: string, width: number): readonly string[] {
  const indent = columnsOf(before)
  const room = width - indent
  if (room < 10) return [lineAfter(before, text, width)]
  const lines = wrapToColumns(oneLine(text, Infinity), room).split('\n')
  return lines.map((line, index) => (index === 0 ? before : ' '.repeat(indent)) + truncateToColumns(line, room))
}

/** One line; the text is cut if there is no room, and `before` keeps its spaces. */
function lineAfter(before: string, text: string, width: number): string {
  const room = width - columnsOf(before)
  return room < 1 ? before.trimEnd().slice(0, width) : before + oneLine(text, room)
}
