import { linesAt } from './lines-at.ts'
import type { Block } from './screen-port.ts'
import { rowText } from './row.ts'

/** The blocks printed last, for reprinting them after a resize, and the number of rows above the region that are ours. */
export interface PrintedBlocks {
  /** Returns the lines of a block, ready to write. */
  print(block: Block, width: number): readonly string[]
  /** The minimum number of rows above the region that are ours. */
  readonly rows: number
  /**
   * The last lines for another width: enough to fill `rows`, and all lines that were in the last `visible` rows of the
   * terminal, which now has `columns` columns. No visible line is lost; lines that scrolled out may appear twice.
   */
  reprint(width: number, columns: number, rows: number, visible: number): readonly string[]
  /** Called when the rows above were erased and these lines were printed in their place. */
  replaced(erasedRows: number, lines: number): void
  forget(): void
}

interface Printed {
  readonly block: Block
  /** The lines as they are on the terminal. */
  lines: readonly string[]
}

const minBlocks = 100
const minLines = 500

export function printedBlocks(widthOf: (line: string) => number): PrintedBlocks {
  let blocks: Printed[] = []
  let lineCount = 0
  let rows = 0
  return {
    print(block, width) {
      const lines = linesOf(block, width)
      blocks.push({ block, lines })
      lineCount += lines.length
      rows += lines.length
      let unneeded = 0
      for (const { lines: oldest } of blocks) {
        if (blocks.length - unneeded <= minBlocks || lineCount - oldest.length < minLines) break
        lineCount -= oldest.length
        unneeded++
      }
      if (unneeded > 0) blocks = blocks.slice(unneeded)
      return lines
    },
    get rows() {
      return rows
    },
    reprint(width, columns, wanted, visible) {
      let found: readonly string[] = []
      let seen = 0
      for (const each of blocks.toReversed()) {
        if (found.length >= wanted && seen >= visible) break
        const before = each.lines
        each.lines = linesOf(each.block, width)
        found = [...lastLines(each.lines, before, Math.max(wanted - found.length, visible - seen)), ...found]
        for (const line of before) seen += Math.max(1, Math.ceil(widthOf(line) / columns))
      }
      lineCount = blocks.reduce((sum, { lines }) => sum + lines.length, 0)
      return found
    },
    replaced(erasedRows, lines) {
      rows = Math.max(0, rows - erasedRows) + lines
    },
    forget() {
      ;[blocks, lineCount, rows] = [[], 0, 0]
    },
  }
}

/** How many rows a line may take after rewrapping, for each row before. */
const maxRowsPerRow = 3

/** The last lines of a block: those that occupied so many rows, and more if they wrap differently now. */
function lastLines(lines: readonly string[], before: readonly string[], rows: number): readonly string[] {
  const count = lines.length === before.length ? rows : rows * maxRowsPerRow
  return count >= lines.length ? lines : lines.slice(lines.length - count)
}

function linesOf(block: Block, width: number): readonly string[] {
  return linesAt(block, width).map((line) => rowText(line, width))
}
