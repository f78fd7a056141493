import { columnsOf } from './columns.ts'
import { oneLine } from './figures.ts'

/** Rows of words, the first column as wide as it needs to be. */
export function rowsOf(rows: readonly (readonly [string, string])[], width: number): readonly string[] {
  const names = namesOf(rows, width)
  return rows.map(([, text], index) => lineAfter(names[index] ?? '', text, width))
}

/** Rows of a name and figures, each column of figures with its ends below one another. */
export function figureRows(rows: readonly (readonly [string, ...string[]])[], width: number): readonly string[] {
  const names = namesOf(rows, width)
  const widest = (column: number): number => Math.max(...rows.map((row) => columnsOf(row[column] ?? '')))
  return rows.map(([, ...figures], index) => {
    const line = (names[index] ?? '') + figures.map((each, at) => each.padStart(widest(at + 1))).join('  ')
    return columnsOf(line) <= width ? line : lineAfter(names[index] ?? '', figures.join('  '), width)
  })
}

/** The first column, as wide as it needs to be. */
function namesOf(rows: readonly (readonly [string, ...string[]])[], width: number): readonly string[] {
  const first = Math.min(Math.max(0, ...rows.map(([name]) => columnsOf(name))), Math.floor(width / 2))
  return rows.map(([name]) => {
    const shown = oneLine(name, first)
    return `  ${shown}${' '.repeat(Math.max(0, first - columnsOf(shown)))}  `
  })
}

/** One line: the text is cut where there is no room, and blanks before it stay. */
export function lineAfter(before: string, text: string, width: number): string {
  const room = width - columnsOf(before)
  return room < 1 ? before.trimEnd().slice(0, width) : before + oneLine(text, room)
}
