import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { Region } from './live-region.ts'
import type { ReflowKind, Size } from './terminal-port.ts'

/** The rows of a region as a terminal has them after it was resized: each a line of so many columns, in so many rows. */
export interface ReflowedRegion extends Size {
  /** Rows of the terminal below the region; as few as there may be. */
  readonly emptyRows: number
  readonly lines: readonly { readonly width: number; readonly rows: number }[]
  /** Rows from the region's first to the one that the cursor is in. */
  readonly cursor: number
  readonly cursorLine: number
  /** Columns before it there. */
  readonly beforeCursor: number
}

/** `top`: the row of the screen in which it begins, where that is known. */
export function regionAsDrawn(
  { rows, cursorRow, beforeCursor }: Region,
  size: Size,
  top: number | undefined,
): ReflowedRegion {
  const emptyRows = top === undefined ? 0 : Math.max(0, size.rows - top - Math.max(1, rows.length))
  const lines = rows.map((text) => ({ width: visibleWidth(text), rows: 1 }))
  return {
    ...size,
    emptyRows,
    lines,
    cursor: cursorRow,
    cursorLine: cursorRow,
    beforeCursor: visibleWidth(beforeCursor ?? ''),
  }
}

function rowsOfAll(lines: ReflowedRegion['lines']): number {
  return lines.reduce((sum, { rows }) => sum + rows, 0)
}

/** The same after the terminal was resized. */
export function reflowRegion(size: Size, before: ReflowedRegion, kind: ReflowKind): ReflowedRegion {
  return kind === 'usual'
    ? reflowUsual(size.columns, before)
    : reflowXtermJs(size.columns, withoutDroppedRows(size.rows, before))
}

/** Made lower, xterm.js drops what stands below the cursor, empty or not, before it scrolls. */
function withoutDroppedRows(rows: number, before: ReflowedRegion): ReflowedRegion {
  const { lines, emptyRows } = before
  const below = rowsOfAll(lines) - 1 - before.cursor + emptyRows
  const lost = Math.max(0, Math.min(before.rows - rows, below))
  const left = Math.max(0, lost - emptyRows)
  const kept = left === 0 ? lines : lines.slice(0, lines.length - left)
  return { ...before, rows, lines: kept, emptyRows: Math.max(0, emptyRows - lost) + Math.max(0, rows - before.rows) }
}

/** Each line is wrapped, and the cursor stays with its character. */
function reflowUsual(columns: number, before: ReflowedRegion): ReflowedRegion {
  const lines = before.lines.map(({ width }) => ({ width, rows: rowsFor(width, columns) }))
  const above = rowsOfAll(lines.slice(0, before.cursorLine))
  return { ...before, columns, lines, cursor: above + Math.floor(before.beforeCursor / columns) }
}

/**
 * The line with the cursor is cut, and what other lines grow by moves the cursor down, also where they stand below it: made narrower it goes from the last
 * line to the first, and asks of each where the cursor is by then.
 */
function reflowXtermJs(columns: number, before: ReflowedRegion): ReflowedRegion {
  if (columns === before.columns) return before
  const isNarrower = columns < before.columns
  let { cursor } = before
  let start = rowsOfAll(before.lines)
  const lines = before.lines.toReversed().map((line) => {
    start -= line.rows
    const at = isNarrower ? cursor : before.cursor
    if (at >= start && at < start + line.rows) return { ...line, width: Math.min(line.width, line.rows * columns) }
    const rows = rowsFor(line.width, columns)
    cursor += rows - line.rows
    return { ...line, rows }
  })
  return { ...before, columns, lines: lines.toReversed(), cursor: Math.max(0, cursor) }
}

function rowsFor(width: number, columns: number): number {
  return Math.max(1, Math.ceil(width / columns))
}
