import { counted, visible } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'
import { stacked, lineHeight, paragraph, type Block, type Pen } from './block.ts'
import { linesOf, textWidth } from './text-width.ts'

interface PictureColumn {
  readonly title: string
  readonly isNumber?: boolean
}

export interface PictureCell {
  /** May have several lines. */
  readonly text: string
  /** A coloured mark before the text. */
  readonly mark?: ColorName | undefined
  readonly color?: ColorName
}

export interface PictureTable {
  readonly columns: readonly PictureColumn[]
  readonly rows: readonly (readonly PictureCell[])[]
  /** Maximum number of lines of a cell. Default: 4. */
  readonly maxLines?: number
  /** Total number and name of the rows, for a note on omitted rows. */
  readonly total: { readonly count: number; readonly name: string }
}

/** The maximum number of rows of a picture; further rows are only counted. */
export const maxPictureRows = 200

const [size, maxCharacters, pad] = [12, 600, 8] as const
const look = { size }
const line = size * lineHeight
const markWidth = 14

/** A table. Numbers stay on one line; other texts wrap if the columns are too narrow, and are cut with `…` if they are far too long. */
export function table({ columns, rows, total, maxLines = 4 }: PictureTable): Block {
  const shownRows = rows.slice(0, maxPictureRows)
  const left = total.count - shownRows.length
  const rest = left <= 0 ? [] : [paragraph(`${counted(left)} more ${total.name} are not in this picture.`)]
  return stacked([grid(columns, shownRows, maxLines), ...rest])
}

function grid(columns: readonly PictureColumn[], rows: readonly (readonly PictureCell[])[], maxLines: number): Block {
  return (width) => {
    const cells = rows.map((row) => row.map((cell) => ({ ...cell, text: cellText(cell.text) })))
    const widths = columnWidths(columns, cells, width)
    const laid = cells.map((row) =>
      row.map((cell, index) => ({ ...cell, lines: linesIn(cell, widths[index] ?? 0, maxLines) })),
    )
    const heights = laid.map((row) => Math.max(1, ...row.map(({ lines }) => lines.length)) * line + pad)
    const head = columns.map(({ title }, index) =>
      linesOf(visible(title), widths[index] ?? 0, { size, isBold: true }, maxLines),
    )
    const headHeight = Math.max(1, ...head.map((lines) => lines.length)) * line + pad
    const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, each) => sum + each + 2 * pad, 0))
    const end = widths.reduce((sum, each) => sum + each + 2 * pad, 0)
    return {
      height: headHeight + heights.reduce((sum, each) => sum + each, 0),
      draw: (pen, x, top) => {
        const { svg, color } = pen
        svg.rect(x, top, end, headHeight, color('box'))
        for (const [index, { isNumber = false }] of columns.entries()) {
          const place = { left: x + (starts[index] ?? 0) + pad, width: widths[index] ?? 0, top: top + pad / 2 }
          drawLines(pen, head[index] ?? [], place, { isNumber, isBold: true, color: 'ink' })
        }
        let y = top + headHeight
        for (const [number, row] of laid.entries()) {
          for (const [index, { lines, mark, color: name = 'ink', text }] of row.entries()) {
            const isNumber = columns[index]?.isNumber ?? false
            const left = x + (starts[index] ?? 0) + pad
            if (mark !== undefined) svg.rect(left, y + pad / 2 + 4, 9, 9, color(mark), text)
            const shift = mark === undefined ? 0 : markWidth
            const place = { left: left + shift, width: (widths[index] ?? 0) - shift, top: y + pad / 2 }
            drawLines(pen, lines, place, { isNumber, isBold: false, color: name })
          }
          y += heights[number] ?? 0
          svg.line(
            [
              { x, y },
              { x: x + end, y },
            ],
            { color: color('line'), width: 1 },
          )
        }
      },
    }
  }
}

interface LineStyle {
  readonly isNumber: boolean
  readonly isBold: boolean
  readonly color: ColorName
}

function drawLines(
  { svg, color }: Pen,
  lines: readonly string[],
  { left, top, width }: { readonly left: number; readonly top: number; readonly width: number },
  { isNumber, isBold, color: name }: LineStyle,
): void {
  const anchor = isNumber ? 'end' : 'start'
  for (const [index, text] of lines.entries())
    svg.text(isNumber ? left + width : left, top + (index + 0.75) * line, text, {
      size,
      isBold,
      anchor,
      color: color(name),
    })
}

function linesIn({ text, mark }: PictureCell, width: number, maxLines: number): readonly string[] {
  return linesOf(text, mark === undefined ? width : width - markWidth, look, maxLines)
}

function cellText(text: string): string {
  const visibleText = visible(text.slice(0, maxCharacters)).replaceAll(/[^\S\n]+/g, ' ')
  return text.length > maxCharacters ? `${visibleText}…` : visibleText
}

/** As wide as the content; if that is too wide, the widest text columns shrink. */
function columnWidths(
  columns: readonly PictureColumn[],
  cells: readonly (readonly PictureCell[])[],
  width: number,
): readonly number[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(
      textWidth(title, { size, isBold: true }),
      ...cells.map((row) => {
        const cell = row[index]
        if (cell === undefined) return 0
        const widest = Math.max(...cell.text.split('\n').map((each) => textWidth(each, look)))
        return widest + (cell.mark === undefined ? 0 : markWidth)
      }),
    ),
  )
  const room = width - columns.length * 2 * pad
  const fixed = widths.reduce((sum, each, index) => sum + (columns[index]?.isNumber === true ? each : 0), 0)
  const maxWidth = sharedMaxWidth(
    widths.filter((_, index) => columns[index]?.isNumber !== true),
    Math.max(0, room - fixed),
  )
  return widths.map((each, index) => Math.max(1, columns[index]?.isNumber === true ? each : Math.min(each, maxWidth)))
}

/** The maximum width that lets all columns fit together. */
function sharedMaxWidth(widths: readonly number[], room: number): number {
  let left = room
  const rising = widths.toSorted((a, b) => a - b)
  for (const [index, each] of rising.entries()) {
    const share = left / (rising.length - index)
    if (each > share) return share
    left -= each
  }
  return Infinity
}
