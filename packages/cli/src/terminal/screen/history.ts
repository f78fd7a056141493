import { linesAt } from './lines-at.ts'
import type { Block } from './screen-port.ts'
import { rowText } from './row.ts'

/** The blocks that were printed last, for a resize that prints a screenful anew; and how many rows above the region are ours. */
export interface PrintedBlocks {
  /** Lines of the block, ready to be written. */
  print(block: Block, width: number): readonly string[]
  /** At least so many rows above the region are ours. */
  readonly rows: number
  /**
   * The last lines in another width: as many as fill `rows`, and all that stood in the last `visible` rows of a terminal that has so many columns now. Nothing
   * of what such a terminal showed is left out; what scrolled out of it may be there twice.
   */
  again(width: number, columns: number, rows: number, visible: number): readonly string[]
  /** What is above was erased, but for what scrolled out: at least `scrolledOut` rows; and these lines were printed. */
  replaced(erasedRows: number, lines: number): void
  forget(): void
}

interface Printed {
  readonly block: Block
  /** As they stand on the terminal. */
  lines: readonly string[]
}

const fewestBlocks = 100
const fewestLines = 500

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
        if (blocks.length - unneeded <= fewestBlocks || lineCount - oldest.length < fewestLines) break
        lineCount -= oldest.length
        unneeded++
      }
      if (unneeded > 0) blocks = blocks.slice(unneeded)
      return lines
    },
    get rows() {
      return rows
    },
    again(width, columns, wanted, visible) {
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

/** Lines that wrap another way take at most so many times the rows. */
const mostPerRow = 3

/** The last lines of a block: those that stood in so many rows, and a few more where it wraps another way now. */
function lastLines(lines: readonly string[], before: readonly string[], rows: number): readonly string[] {
  const count = lines.length === before.length ? rows : rows * mostPerRow
  return count >= lines.length ? lines : lines.slice(lines.length - count)
}

function linesOf(block: Block, width: number): readonly string[] {
  return linesAt(block, width).map((line) => rowText(line, width))
}
