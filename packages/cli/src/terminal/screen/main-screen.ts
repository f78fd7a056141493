import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import { printedBlocks } from './history.ts'
import { type Drawing, drawn, nothing, type Region } from './live-region.ts'
import { type Row, rowOf } from './row.ts'
import type { Block, Component } from './screen-port.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/**
 * The terminal's own screen: printed blocks, and the region below them. It gives the bytes, and knows what stands there once they are written.
 *
 * S1: a block is written once, where the region begins, and is the terminal's from there on. A redraw prints the last ones anew.
 * S2: the region never has more rows than the terminal less one, so that its first row can be reached.
 * S3: one column is left free: a line that fills the last one is joined with the next by a terminal that is resized.
 */
export interface MainScreen {
  draw(blocks: readonly Block[], components: readonly Component[], size: Size): string
  /** The terminal has another size, and has wrapped its lines anew; or somebody wants all of it anew (spec R-TERM-4). */
  redraw(components: readonly Component[], size: Size): string
  isDrawnFor(size: Size): boolean
  /** Others have written: the region begins where the cursor is. */
  forget(size: Size): void
  readonly showsCursor: boolean
}

/** What is erased line by line after the first one: tmux keeps in its history what is erased as a whole screen. */
const eraseScreen = '\u001B[2;1H\u001B[J\u001B[H\u001B[2K'

export function mainScreen(first: Size, { wrapsCursorLine }: { readonly wrapsCursorLine: boolean }): MainScreen {
  const blocks = printedBlocks(visibleWidth)
  let region: Region = nothing
  let drawnFor = first
  const shown = ({ bytes, region: next }: Drawing): string => {
    region = next
    return bytes
  }
  return {
    draw(printed, components, size) {
      const lines = printed.flatMap((block) => blocks.print(block, widthOf(size)))
      return shown(drawn(region, lines, rowsOf(components, size)))
    },
    redraw(components, size) {
      drawnFor = size
      const live = rowsOf(components, size)
      const heightOf = (text: string): number => Math.max(1, Math.ceil(visibleWidth(text) / size.columns))
      const hidden = region.beforeCursor === undefined ? '' : '\u001B[?25l'
      if (blocks.rows + region.rows.length >= size.rows) {
        // All that is seen is ours.
        const visible = size.rows - sum(region.rows, heightOf)
        const above = blocks.again(widthOf(size), size.columns, size.rows - live.length, visible)
        blocks.replaced(size.rows, above.length)
        return shown(drawn(nothing, above, live, eraseScreen + hidden))
      }
      const within = wrapsCursorLine ? Math.floor(visibleWidth(region.beforeCursor ?? '') / size.columns) : 0
      const up = sum(region.rows.slice(0, region.cursorRow), heightOf) + within
      return shown(drawn(nothing, [], live, `${up === 0 ? '' : `\u001B[${up}A`}\r\u001B[J${hidden}`))
    },
    isDrawnFor: ({ columns, rows }) => columns === drawnFor.columns && rows === drawnFor.rows,
    forget(size) {
      region = nothing
      drawnFor = size
      blocks.forget()
    },
    get showsCursor() {
      return region.beforeCursor !== undefined
    },
  }
}

function rowsOf(components: readonly Component[], size: Size): readonly Row[] {
  const lines = components.flatMap((component) => component.render(widthOf(size)))
  return lines.slice(-Math.max(1, size.rows - 1)).map((line) => rowOf(line, widthOf(size)))
}

function widthOf({ columns }: Size): number {
  return Math.max(1, columns - 1)
}

function sum(texts: readonly string[], of: (text: string) => number): number {
  return texts.reduce((total, text) => total + of(text), 0)
}
