import type { Block } from './screen-port.ts'

const notShown = '(cannot be displayed)'

/**
 * The lines of a block or component, at a width of at least one column. A rendering failure is shown in its place, because it must not end the program
 * and its run (spec R-TERM-20a).
 */
export function linesAt(block: Block, width: number): readonly string[] {
  try {
    return block.render(Math.max(1, width))
  } catch {
    return [notShown]
  }
}
