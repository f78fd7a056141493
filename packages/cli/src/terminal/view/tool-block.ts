import { columnsOf } from '../../io/columns.ts'
import { elapsed } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Block } from '../screen/screen-port.ts'
import { blockOf, foldedLines, headOfLines, displayLine } from './lines.ts'
import { toolOutcome, type ToolResultShown } from './tool-outcome.ts'
import type { ToolTitle } from './tool-title.ts'

/** A call with its result, for printing. */
export interface ToolCallShown extends ToolResultShown {
  readonly title: ToolTitle
  readonly durationMs: number | undefined
}

/** Minimum duration that is shown, in milliseconds. */
const shownDurationMs = 3_000
const maxCommandLines = 3

/** `⏺ Read src/main.ts (142 lines)`, and the relevant part of the result below it (spec R-TERM-21). */
export function toolBlock(call: ToolCallShown, style: Style): Block {
  const outcome = toolOutcome(call)
  const mark = call.status === 'done' ? style.green('⏺') : call.status === 'failed' ? style.red('⏺') : style.yellow('⏺')
  const took =
    call.durationMs !== undefined && call.durationMs >= shownDurationMs ? ` · ${elapsed(call.durationMs)}` : ''
  const figure = [outcome.figure, took.trimStart()].filter((part) => part !== '').join(' ')
  return blockOf((width) => [...headLines(call.title, figure, mark, width, style), ...outcome.body(width, style)])
}

/** The name, the subject wrapped to a few lines, and the figure after it. */
export function headLines(
  { name, about }: ToolTitle,
  figure: string,
  mark: string,
  width: number,
  style: Style,
): readonly string[] {
  const shownName = displayLine(name, Math.max(4, Math.min(40, width - 2)))
  const first = `⏺ ${shownName} `
  const room = width - columnsOf(first)
  const shownFigure = displayLine(figure, Math.max(1, width - 2))
  if (room < 8) return [`${mark} ${style.bold(displayLine(name, width - 2))}`]
  const lines = about === '' ? [] : headOfLines(foldedLines(about, room), maxCommandLines, room)
  const last = lines.at(-1) ?? ''
  const hasRoom = columnsOf(last) + 1 + columnsOf(shownFigure) <= room
  const withFigure =
    shownFigure === ''
      ? lines
      : hasRoom
        ? [...lines.slice(0, -1), `${last} ${style.dim(shownFigure)}`.trimStart()]
        : [...lines, style.dim(displayLine(shownFigure, room))]
  const [head = '', ...others] = withFigure
  return [
    `${mark} ${style.bold(shownName)} ${head}`.trimEnd(),
    ...others.map((line) => ' '.repeat(columnsOf(first)) + line),
  ]
}
