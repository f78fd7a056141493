import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import { printedBlocks } from './history.ts'
import { linesAt } from './lines-at.ts'
import { type Drawing, drawRegion, emptyRegion, type Region } from './live-region.ts'
import { regionAsDrawn, type ReflowedRegion, reflowRegion } from './reflow.ts'
import { type Row, rowOf } from './row.ts'
import type { Block, Component } from './screen-port.ts'
import type { ReflowKind, Size } from './terminal-port.ts'

/**
 * The main screen of the terminal: printed blocks and the region below them. It returns bytes, and tracks what they put on the screen.
 *
 * S1: a block is written once, where the region starts, and then belongs to the terminal. A redraw prints the last ones again.
 * S2: the region has at most one row less than the terminal, so that its first row stays reachable.
 * S3: one column stays free, because a resized terminal joins a full line with the next one.
 */
export interface MainScreen {
  draw(blocks: readonly Block[], components: readonly Component[], size: Size): string
  /** Redraws after a resize, when the terminal has rewrapped its lines, or on request (spec R-TERM-4). */
  redraw(components: readonly Component[], size: Size): string
  /** Called when the terminal has rewrapped its lines to this size; another resize may follow before the next redraw. */
  resized(size: Size): void
  isDrawnFor(size: Size): boolean
  /** Called when other programs have written: the region starts at the cursor. */
  forget(size: Size): string
  /** Called with the report that `forget` and `redraw` request. */
  cursorIsIn(row: number): void
  readonly showsCursor: boolean
}

const askRow = '\u001B[6n'

/** Erases the cursor row, then from its second column on: tmux saves a screen erased from the first column of the first row in its history. */
const eraseBelow = '\r\u001B[2K\u001B[C\u001B[J\r'

export function mainScreen(first: Size, { reflow }: { readonly reflow: ReflowKind }): MainScreen {
  const blocks = printedBlocks(visibleWidth)
  let region: Region = emptyRegion
  let drawnFor = first
  const place = trackRegionPosition()
  /** The region as the terminal has rewrapped it since it was drawn. */
  let reflowed: ReflowedRegion | undefined
  const reflowedFor = (size: Size): ReflowedRegion =>
    reflowRegion(size, reflowed ?? regionAsDrawn(region, drawnFor, place.top), reflow)
  const commit = ({ bytes, region: next }: Drawing, printed: number, { rows }: Size): string => {
    region = next
    place.onDrawn(printed, next.rows.length, rows)
    return bytes
  }
  /** Requests the cursor row, on which the rewrapping of such a terminal depends; other terminals do not need it. */
  const requestPosition = (): string => {
    if (reflow === 'usual') return ''
    place.onRequested(region.cursorRow)
    return askRow
  }
  return {
    draw(printed, components, size) {
      const lines = printed.flatMap((block) => blocks.print(block, widthOf(size)))
      return commit(drawRegion(region, lines, rowsOf(components, size)), lines.length, size)
    },
    redraw(components, size) {
      const { cursor } = reflowedFor(size)
      ;[drawnFor, reflowed] = [size, undefined]
      const live = rowsOf(components, size)
      const hidden = region.beforeCursor === undefined ? '' : '\u001B[?25l'
      if (blocks.rows + cursor >= size.rows - 1) {
        // All visible rows are ours, even if the cursor is in the last row.
        const above = blocks.reprint(widthOf(size), size.columns, size.rows - live.length, size.rows - 1 - cursor)
        blocks.replaced(size.rows, above.length)
        place.set(0)
        return commit(drawRegion(emptyRegion, above, live, `\u001B[H${eraseBelow}${hidden}`), above.length, size)
      }
      const up = cursor === 0 ? '' : `\u001B[${cursor}A`
      return commit(drawRegion(emptyRegion, [], live, `${up}${eraseBelow}${hidden}`), 0, size) + requestPosition()
    },
    resized(size) {
      reflowed = reflowedFor(size)
    },
    cursorIsIn: (row) => place.onReport(row),
    isDrawnFor: ({ columns, rows }) => columns === drawnFor.columns && rows === drawnFor.rows,
    forget(size) {
      region = emptyRegion
      ;[drawnFor, reflowed] = [size, undefined]
      blocks.forget()
      return requestPosition()
    },
    get showsCursor() {
      return region.beforeCursor !== undefined
    },
  }
}

function rowsOf(components: readonly Component[], size: Size): readonly Row[] {
  const lines = components.flatMap((component) => linesAt(component, widthOf(size)))
  return lines.slice(-Math.max(1, size.rows - 1)).map((line) => rowOf(line, widthOf(size)))
}

function widthOf({ columns }: Size): number {
  return Math.max(1, columns - 1)
}

/**
 * The screen row where the region starts, counted from 0. Requested from the terminal where necessary; drawing before the report arrives is taken into
 * account.
 */
interface RegionPosition {
  readonly top: number | undefined
  /** Called when the cursor row was requested from the terminal; the cursor is in this row of the region. */
  onRequested(cursorRow: number): void
  onReport(row: number): void
  /** Called when this many lines were printed and the region has this many rows, in a terminal of that many rows. */
  onDrawn(printed: number, regionRows: number, rows: number): void
  set(top: number | undefined): void
}

type Move = (top: number) => number

function trackRegionPosition(): RegionPosition {
  let top: number | undefined
  let waiting: { readonly cursorRow: number; readonly moves: Move[] }[] = []
  return {
    get top() {
      return top
    },
    onRequested(cursorRow) {
      top = undefined
      waiting = [...waiting, { cursorRow, moves: [] }]
    },
    onReport(row) {
      const [first, ...others] = waiting
      waiting = others
      // An outdated report: the position was requested again, or is already known.
      if (first === undefined || others.length > 0 || top !== undefined) return
      top = first.moves.reduce((at, move) => move(at), Math.max(0, row - first.cursorRow))
    },
    onDrawn(printed, regionRows, rows) {
      const move: Move = (at) => Math.max(0, Math.min(at + printed, rows - Math.max(1, regionRows)))
      if (top !== undefined) top = move(top)
      else waiting.at(-1)?.moves.push(move)
    },
    set(at) {
      top = at
    },
  }
}
