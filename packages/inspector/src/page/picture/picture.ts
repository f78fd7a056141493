import { visible } from '@halting/analysis/words'
import { stacked, paragraph, tight, type Block, type ColorOf } from './block.ts'
import { SvgWriter } from './svg.ts'

/** A view as a picture that is understood without the page. */
export interface Picture {
  readonly title: string
  /** Lines about the content: session, filters, order. */
  readonly about: readonly string[]
  readonly width: number
  readonly blocks: readonly Block[]
}

export interface PictureSource {
  readonly color: ColorOf
  /** What the page is about: a folder or an address. */
  readonly pageTitle: string
  /** When the picture was made, in words. */
  readonly madeAt: string
}

const margin = 24

/** The SVG file. All text is escaped: it contains no scripts, and loads nothing. */
export function svgOfPicture(
  { title, about, width, blocks }: Picture,
  { color, pageTitle, madeAt }: PictureSource,
): string {
  const { height, draw } = stacked([
    paragraph(title, { size: 20, isBold: true, maxLines: 12 }),
    stacked(
      [`${visible(pageTitle)} · ${madeAt}`, ...about].map((line) =>
        paragraph(line, { size: 13, color: 'soft', maxLines: 12 }),
      ),
      tight,
    ),
    ...blocks,
  ])(width - 2 * margin)
  const svg = new SvgWriter(width, Math.ceil(height) + 2 * margin, color('paper'), title)
  draw({ svg, color }, margin, margin)
  return svg.end()
}
