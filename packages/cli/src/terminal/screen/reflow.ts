import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { Region } from './live-region.ts'
import type { ReflowKind, Size } from './terminal-port.ts'

/** The rows of a region after the terminal rewrapped them: each line with its width and number of rows. */
export interface ReflowedRegion extends Size {
  /** Minimum number of rows below the region. */
  readonly emptyRows: number
  readonly lines: readonly { readonly width: number; readonly rows: number }[]
  /** The row of the cursor, counted from the first row of the region. */
  readonly cursor: number
  readonly cursorLine: number
  /** Columns before the cursor in its line. */
  readonly beforeCursor: number
}

/** The region as it was drawn. `top`: the screen row where it starts, if known. */
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

/** The region after a resize. */
export function reflowRegion(size: Size, before: ReflowedRegion, kind: ReflowKind): ReflowedRegion {
  return kind === 'usual'
    ? reflowUsual(size.columns, before)
    : reflowXtermJs(size.columns, withoutDroppedRows(size.rows, before))
}

/** When xterm.js becomes lower, it drops rows below the cursor, empty or not, before it scrolls. */
function withoutDroppedRows(rows: number, before: ReflowedRegion): ReflowedRegion {
  const { lines, emptyRows } = before
  const below = rowsOfAll(lines) - 1 - before.cursor + emptyRows
  const lost = Math.max(0, Math.min(before.rows - rows, below))
  const left = Math.max(0, lost - emptyRows)
  const remaining = left === 0 ? lines : lines.slice(0, lines.length - left)
  return {
    ...before,
    rows,
    lines: remaining,
    emptyRows: Math.max(0, emptyRows - lost) + Math.max(0, rows - before.rows),
  }
}

/** Each line is rewrapped, and the cursor stays with its character. */
function reflowUsual(columns: number, before: ReflowedRegion): ReflowedRegion {
  const lines = before.lines.map(({ width }) => ({ width, rows: rowsFor(width, columns) }))
  const above = rowsOfAll(lines.slice(0, before.cursorLine))
  return { ...before, columns, lines, cursor: above + Math.floor(before.beforeCursor / columns) }
}

/**
 * xterm.js truncates the line with the cursor, and growth of other lines moves the cursor down, even if they are below
 * it. When xterm.js becomes narrower, it processes the lines from last to first, and uses the cursor position at that
 * time.
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
