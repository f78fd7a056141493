import { counted, visible } from '@halting/analysis/words'
import type { ColorName } from '../common/colors.ts'
import type { SvgWriter } from './svg.ts'
import { linesOf, type TextLook } from './text-width.ts'

// Blocks of a picture, from top to bottom. A view defines their content; the layout follows from the width.

/** Resolves colour names: those of the page, or of a test. */
export type ColorOf = (name: ColorName) => string

export interface Pen {
  readonly svg: SvgWriter
  readonly color: ColorOf
}

/** Draws with the upper left corner at this position. */
type Draw = (pen: Pen, left: number, top: number) => void

interface LaidOut {
  readonly height: number
  readonly draw: Draw
}

/** A part of a picture; lays itself out for a width. */
export type Block = (width: number) => LaidOut

export const lineHeight = 1.45

export interface ParagraphStyle extends Partial<TextLook> {
  readonly color?: ColorName
  /** Maximum number of lines; the last one then ends with `…`. */
  readonly maxLines?: number
}

/** Longer texts are cut before layout. */
const maxCharacters = 8_000

/** Text, on as many lines as it needs. */
export function paragraph(text: string, style: ParagraphStyle = {}): Block {
  const { size = 14, color = 'ink', maxLines = 40, isBold = false, isCode = false } = style
  const look = { size, isBold, isCode }
  return (width) => {
    const visibleText = visible(text.slice(0, maxCharacters))
    const lines = linesOf(text.length > maxCharacters ? `${visibleText}…` : visibleText, width, look, maxLines)
    return {
      height: lines.length * size * lineHeight,
      draw: ({ svg, color: colorOf }, left, top) => {
        for (const [index, line] of lines.entries())
          svg.text(left, top + (index + 0.75) * size * lineHeight, line, { ...look, color: colorOf(color) })
      },
    }
  }
}

export function heading(text: string): Block {
  return paragraph(text, { size: 16, isBold: true, maxLines: 6 })
}

/** The maximum number of lines; more are only counted. */
const maxCodeLines = 300

/** Monospaced text, line by line. */
export function code(text: string): Block {
  const size = 12
  return (width) => {
    const pad = 10
    const look = { size, isCode: true }
    const visibleText = visible(text.slice(0, 100_000)).replaceAll('\t', '    ').trimEnd()
    const all = linesOf(visibleText, width - 2 * pad, look)
    const lines = all.slice(0, maxCodeLines)
    const left = all.length - lines.length
    const rest = left === 0 ? [] : [`… ${counted(left)} more lines are not in this picture`]
    const height = (lines.length + rest.length) * size * lineHeight + 2 * pad
    return {
      height,
      draw: ({ svg, color }, x, top) => {
        svg.rect(x, top, width, height, color('box'))
        for (const [index, line] of [...lines, ...rest].entries())
          svg.text(x + pad, top + pad + (index + 0.75) * size * lineHeight, line, { ...look, color: color('ink') })
      },
    }
  }
}

/** A custom drawing with this height. */
export function blockOfHeight(height: number, draw: (pen: Pen, place: Place) => void): Block {
  return (width) => ({ height, draw: (pen, left, top) => draw(pen, { left, top, width, height }) })
}

export interface Place {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** Vertical space between blocks, and between related lines. */
export const [gap, tight] = [12, 2] as const

/** Blocks from top to bottom. */
export function stacked(blocks: readonly Block[], between: typeof gap | typeof tight = gap): Block {
  return (width) => {
    const laid = blocks.map((block) => block(width)).filter(({ height }) => height > 0)
    const height = laid.reduce((sum, each) => sum + each.height, 0) + between * Math.max(0, laid.length - 1)
    return {
      height,
      draw: (pen, left, top) => {
        let y = top
        for (const each of laid) {
          each.draw(pen, left, y)
          y += each.height + between
        }
      },
    }
  }
}

const column = 32

/** Blocks in columns of equal width. */
export function sideBySide(blocks: readonly Block[]): Block {
  return (width) => {
    const each = (width - column * (blocks.length - 1)) / blocks.length
    const laid = blocks.map((block) => block(each))
    return {
      height: Math.max(0, ...laid.map(({ height }) => height)),
      draw: (pen, left, top) => {
        for (const [index, { draw }] of laid.entries()) draw(pen, left + index * (each + column), top)
      },
    }
  }
}
