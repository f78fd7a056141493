import type { Block } from '../screen/screen-port.ts'

// Lines that start with one of these signs come from the program or the person: `✓ done`, `■` and a reason, `! …`, `? Bash: …`, `⏺ Bash`, `> …`. Similar
// signs count, too; box drawing characters do not.

const colours = String.raw`^(?:\u001B\[[\d;:]*m)*`
const resemblesProgramLine = new RegExp(
  String.raw`${colours}(?![\u2500-\u257F])(?:[\p{So}>?!\u00B7\u203A\u00BB\u276F]\uFE0F?)+(?:\s|\u001B|$)`,
  'u',
)
/** Fewer signs for code, where some of them are syntax. */
const resemblesProgramLineInCode = new RegExp(
  String.raw`${colours}(?![\u2500-\u257F])(?:[\p{So}!]\uFE0F?)+(?:\s|\u001B|$)`,
  'u',
)

/** Text of the model. If a line looks like one of the program, the whole text is indented by two columns (spec R-TERM-11b). */
export function indentModelText(block: Block): Block {
  return indentedBlock(block, resemblesProgramLine, () => true)
}

/** Like `indentModelText`, for code, which is printed line by line; only lines that look like program output are indented. */
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
