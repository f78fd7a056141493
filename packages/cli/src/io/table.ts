import { columnsOf, foldToColumns, truncateToColumns, wrapToColumns } from './columns.ts'
import { oneLine, withoutLineBreaks } from './figures.ts'

/** Text without styles, or with a style that is applied after the text is measured. Control characters are removed. */
export type TableCell = string | { readonly text: string; readonly style: (text: string) => string }

/** How a column of a table is laid out. */
export interface TableColumn {
  /** Default: left. */
  readonly align?: 'left' | 'right'
  /** The minimum width. */
  readonly min?: number
  /** The maximum width; longer cells are truncated, unless `wide` is set. */
  readonly max?: number
  /** Cells wider than `max` get lines of their own, and the cells to the right of them follow below. */
  readonly wide?: 'ownLines'
  /**
   * The column uses the room that the other columns leave. `cut`: longer text is truncated. `wrap`: text is wrapped
   * between words, and a word longer than a line is truncated. The other value folds such a word over several lines. At
   * most one column.
   */
  readonly rest?: 'cut' | 'wrap' | 'fold'
}

/** The layout of a table. */
export interface TableLayout {
  readonly columns: readonly TableColumn[]
  /** Maximum width of a line (default: unlimited). */
  readonly width?: number
  /** Blanks before each line (default: 2). */
  readonly indent?: number
  /** The number of columns that are never dropped (default: all). Others are dropped from the right where there is no room. */
  readonly keep?: number
  readonly head?: readonly string[]
  readonly headStyle?: (line: string) => string
}

const gap = 2
/** Minimum width of the rest column; with less room, the table drops other columns. */
const minRestColumns = 10
/** Minimum width for wrapping; text is truncated rather than wrapped to fewer columns. */
const minWrapColumns = 10

interface StyledText {
  readonly text: string
  readonly style?: (text: string) => string
}

/** A column with its place on the line. */
interface PlacedColumn extends TableColumn {
  readonly start: number
  readonly columns: number
}

/** The lines of a table: the head if there is one, then the rows. A row takes one line, unless a column wraps its text or gives long cells lines of their own. */
export function tableLines(rows: readonly (readonly TableCell[])[], layout: TableLayout): readonly string[] {
  const { head, headStyle = (line) => line, width = Infinity } = layout
  const cells = (head === undefined ? rows : [head, ...rows]).map((row) => row.map(cleanCell))
  const columns = placedColumns(cells, layout)
  return cells.flatMap((row, index) => {
    const lines = rowLines(row, columns, width)
    return index === 0 && head !== undefined ? lines.map(headStyle) : lines
  })
}

/** Rows of a name and a text that is wrapped in its column. A name that is too long for its column gets lines of its own. */
export function namedTextLines(rows: readonly (readonly [string, string])[], width: number): readonly string[] {
  const cells = rows.map((row) => row.map((text) => oneLine(text, Infinity)))
  return tableLines(cells, { columns: [{ max: Math.floor(width * 0.4), wide: 'ownLines' }, { rest: 'wrap' }], width })
}

/** A text wrapped between words, indented by two columns. */
export function indentedLines(text: string, width: number): readonly string[] {
  return tableLines([[oneLine(text, Infinity)]], { columns: [{ rest: 'wrap' }], width })
}

function cleanCell(cell: TableCell): StyledText {
  return typeof cell === 'string'
    ? { text: withoutLineBreaks(cell) }
    : { text: withoutLineBreaks(cell.text), style: cell.style }
}

/** The columns that have room, with their widths. */
function placedColumns(
  rows: readonly (readonly StyledText[])[],
  { columns, width = Infinity, indent = 2, keep = columns.length }: TableLayout,
): readonly PlacedColumn[] {
  const widths = columns.map(({ min = 0, max = Infinity }, at) => {
    const widest = rows.reduce((most, row) => Math.max(most, columnsOf(row[at]?.text ?? '')), 0)
    return Math.max(min, Math.min(max, widest))
  })
  const rest = columns.findIndex((column) => column.rest !== undefined)
  const needed = widths[rest] ?? 0
  // The room for the rest column, or without one the room that is left over.
  const roomWith = (count: number): number =>
    width - indent - widths.slice(0, count).reduce((sum, each, at) => sum + (at === 0 ? 0 : gap) + each, -needed)
  let count = columns.length
  while (count > Math.max(keep, rest + 1) && roomWith(count) < Math.min(minRestColumns, needed)) count--
  let start = indent
  return columns.slice(0, count).map((column, at) => {
    const own = at === rest ? Math.max(1, Math.min(needed, roomWith(count))) : (widths[at] ?? 0)
    const placed = { ...column, start, columns: own }
    start += own + gap
    return placed
  })
}

function rowLines(row: readonly StyledText[], columns: readonly PlacedColumn[], width: number): readonly string[] {
  const long = columns.findIndex(
    ({ wide, columns: room }, at) => wide === 'ownLines' && columnsOf(row[at]?.text ?? '') > room,
  )
  if (long === -1) return linesOfCells(row, columns, width)
  const rest = columns.find((column) => column.rest !== undefined)?.rest ?? 'wrap'
  const widened = columns
    .slice(0, long + 1)
    .map((column, at) => (at === long ? { ...column, rest, columns: Math.max(1, width - column.start) } : column))
  const others = row.map((cell, at) => (at > long ? cell : { text: '' }))
  return [
    ...linesOfCells(row, widened, width),
    ...(others.every(({ text }) => text === '') ? [] : rowLines(others, columns, width)),
  ]
}

/** The lines of one row: as many as its tallest cell has. */
function linesOfCells(row: readonly StyledText[], columns: readonly PlacedColumn[], width: number): readonly string[] {
  const cells = columns.map((column, at) => linesOfText(row[at]?.text ?? '', column))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, index) =>
    lineOfTexts(
      columns.map((_column, at) => ({ ...row[at], text: cells[at]?.[index] ?? '' })),
      columns,
      width,
    ),
  )
}

function linesOfText(text: string, { rest = 'cut', columns }: PlacedColumn): readonly string[] {
  if (rest === 'cut' || (rest === 'wrap' && columns < minWrapColumns)) return [truncateToColumns(text, columns)]
  const lines = wrapToColumns(text, columns).split('\n')
  if (rest === 'fold') return lines.flatMap((line) => foldToColumns(line, columns))
  return lines.map((line) => truncateToColumns(line, columns))
}

/** Puts texts at the positions of their columns, without trailing blanks. */
function lineOfTexts(texts: readonly StyledText[], columns: readonly PlacedColumn[], width: number): string {
  const parts: StyledText[] = []
  let end = 0
  for (const [at, { start, columns: own, align }] of columns.entries()) {
    const cell = texts[at]
    if (cell === undefined || cell.text === '') continue
    const taken = columnsOf(cell.text)
    const place = align === 'right' ? start + own - taken : start
    parts.push({ text: ' '.repeat(Math.max(0, place - end)) }, cell)
    end = place + taken
  }
  return paintedLine(parts, width)
}

/** Truncates the line to the width as plain text, since styles take no room, and then applies the styles. */
function paintedLine(parts: readonly StyledText[], width: number): string {
  const line = truncateToColumns(parts.map(({ text }) => text).join(''), width)
  let end = 0
  return parts
    .map(({ text, style }) => {
      const shown = line.slice(end, end + text.length)
      end += text.length
      return shown === '' || style === undefined ? shown : style(shown)
    })
    .join('')
}
