import type { Block } from './screen-port.ts'

const notShown = '(cannot be displayed)'

/**
 * The lines of a block or component, at a width of at least one column. What cannot be drawn is said in its place: it must never end the program, and with it
 * a run or a command (spec R-TERM-20a).
 */
export function linesAt(block: Block, width: number): readonly string[] {
  try {
    return block.render(Math.max(1, width))
  } catch {
    return [notShown]
  }
}
