import type { Block } from '../screen/screen-port.ts'

// What stands at the left edge behind one of these signs is the program's, or the person's: `✓ done`, `■` and why, `! …`, `? Bash: …`, `⏺ Bash`, `> …`.
// Signs that look like them count too; what draws tables does not.

const colours = String.raw`^(?:\u001B\[[\d;:]*m)*`
const resemblesProgramLine = new RegExp(
  String.raw`${colours}(?![\u2500-\u257F])(?:[\p{So}>?!\u00B7\u203A\u00BB\u276F]\uFE0F?)+(?:\s|\u001B|$)`,
  'u',
)
/** Code may begin with what means something there. */
const resemblesProgramLineInCode = new RegExp(
  String.raw`${colours}(?![\u2500-\u257F])(?:[\p{So}!]\uFE0F?)+(?:\s|\u001B|$)`,
  'u',
)

/** Text of the model: where a line of it begins as lines of the program do, all of it stands two columns in (spec R-TERM-11b). */
export function indentModelText(block: Block): Block {
  return indentedBlock(block, resemblesProgramLine, () => true)
}

/** The same for code, which is printed line by line, and whose other lines stay where they are. */
export function indentModelCode(block: Block): Block {
  return indentedBlock(block, resemblesProgramLineInCode, (line) => resemblesProgramLineInCode.test(line))
}

function indentedBlock(block: Block, like: RegExp, isMoved: (line: string) => boolean): Block {
  return {
    render(width) {
      const lines = block.render(width)
      if (!lines.some((line) => like.test(line))) return lines
      return block.render(width - 2).map((line) => (line !== '' && isMoved(line) ? `  ${line}` : line))
    },
  }
}
