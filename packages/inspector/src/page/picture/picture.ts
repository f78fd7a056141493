import { visible } from '@halting/analysis/words'
import { below, paragraph, tight, type Block, type ColorOf } from './block.ts'
import { SvgWriter } from './svg.ts'

/** A view as a picture that is read without the page: what it is of, and what is seen of it. */
export interface Picture {
  readonly title: string
  /** What is seen: which session, which filters, which order. A line each. */
  readonly about: readonly string[]
  readonly width: number
  readonly blocks: readonly Block[]
}

export interface MadeFrom {
  readonly color: ColorOf
  /** What the page is over: a folder, an address. */
  readonly of: string
  /** When, in words. */
  readonly at: string
}

const margin = 24

/** The file. All of its text is text: nothing in it runs, and nothing is loaded from anywhere. */
export function svgOfPicture({ title, about, width, blocks }: Picture, { color, of, at }: MadeFrom): string {
  const { height, draw } = below([
    paragraph(title, { size: 20, isBold: true, mostLines: 12 }),
    below(
      [`${visible(of)} · ${at}`, ...about].map((line) => paragraph(line, { size: 13, color: 'soft', mostLines: 12 })),
      tight,
    ),
    ...blocks,
  ])(width - 2 * margin)
  const svg = new SvgWriter(width, Math.ceil(height) + 2 * margin, color('paper'), title)
  draw({ svg, color }, margin, margin)
  return svg.end()
}
