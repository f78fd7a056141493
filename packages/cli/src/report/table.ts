import { columnsOf, fitted } from '../io/columns.ts'
import { oneLine } from '../io/figures.ts'
import type { Style } from '../io/style.ts'

const gap = 2
const indent = 2
/** A name is told with so many columns at least, or its table has fewer figures. */
const leastName = 10

/**
 * A name and its figures in columns. The name takes what the figures leave; where that is too little, figures at the end are left out. A last cell that
 * is text stands to the left.
 */
export function tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  style: Style,
): readonly string[] {
  const all = [head, ...rows].map((row) => row.map((cell) => oneLine(cell, Infinity)))
  const widths = head.map((_, column) => Math.max(...all.map((row) => columnsOf(row[column] ?? ''))))
  let count = head.length
  const figures = (): number => widths.slice(1, count).reduce((sum, each) => sum + each + gap, 0)
  while (count > 2 && width - indent - figures() < Math.min(leastName, widths[0] ?? 0)) count--
  const name = Math.max(1, Math.min(widths[0] ?? 0, width - indent - figures()))
  const line = (cells: readonly string[]): string => {
    const first = fitted(cells[0] ?? '', name)
    const padded = ' '.repeat(indent) + first + ' '.repeat(name - columnsOf(first))
    const others = widths.slice(1, count).map((columns, at) => (cells[at + 1] ?? '').padStart(columns + gap))
    return fitted(`${padded}${others.join('')}`.trimEnd(), width)
  }
  return all.map((row, index) => (index === 0 ? style.dim(line(row)) : line(row)))
}
