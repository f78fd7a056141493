import { visible } from '@halting/analysis/words'
import type { TextLook } from './text-width.ts'

// A small SVG writer, for drawings that the page makes on canvases. Pure.

/** A position, in pixels of the picture. */
export interface SvgPoint {
  readonly x: number
  readonly y: number
}

export interface SvgStroke {
  readonly color: string
  readonly width?: number
  readonly isDashed?: boolean
}

export interface SvgText extends Partial<TextLook> {
  readonly color: string
  readonly anchor?: 'start' | 'middle' | 'end'
  /** Rotated upwards, for the label of an axis. */
  readonly isUpward?: boolean
  /** Colour of an outline around the letters, for text on top of something. */
  readonly halo?: string
}

/** A picture that is drawn piece by piece. Colours are those of CSS. Names and texts may be untrusted: they become visible, inert text. */
export class SvgWriter {
  readonly width: number
  readonly height: number
  private readonly pieces: string[] = []

  /** `title` describes the picture for screen readers. */
  constructor(width: number, height: number, background: string, title: string) {
    this.width = width
    this.height = height
    this.pieces.push(titleOf(title))
    this.rect(0, 0, width, height, background)
  }

  /** `name` is shown as a tooltip. */
  rect(x: number, y: number, width: number, height: number, fill: string, name?: string): this {
    const size = `width="${rounded(Math.max(0, width))}" height="${rounded(Math.max(0, height))}"`
    return this.named(`<rect x="${rounded(x)}" y="${rounded(y)}" ${size} fill="${escapeXml(fill)}"`, 'rect', name)
  }

  line(points: readonly SvgPoint[], stroke: SvgStroke, name?: string): this {
    if (points.length === 0) return this
    return this.named(`<polyline points="${placed(points)}" fill="none"${strokeOf(stroke)}`, 'polyline', name)
  }

  area(points: readonly SvgPoint[], fill: string, name?: string): this {
    if (points.length === 0) return this
    return this.named(`<polygon points="${placed(points)}" fill="${escapeXml(fill)}"`, 'polygon', name)
  }

  circle(x: number, y: number, radius: number, fill: string, name?: string): this {
    const place = `cx="${rounded(x)}" cy="${rounded(y)}" r="${rounded(radius)}"`
    return this.named(`<circle ${place} fill="${escapeXml(fill)}"`, 'circle', name)
  }

  text(x: number, y: number, text: string, style: SvgText): this {
    const { color, size = 12, anchor = 'start', isBold = false, isCode = false, isUpward = false, halo } = style
    const attributes = [
      `x="${rounded(x)}" y="${rounded(y)}" font-size="${rounded(size)}" text-anchor="${anchor}"`,
      ...(isBold ? ['font-weight="600"'] : []),
      ...(isCode ? ['font-family="ui-monospace, monospace" xml:space="preserve"'] : []),
      `fill="${escapeXml(color)}"`,
      ...(halo === undefined ? [] : [`stroke="${escapeXml(halo)}" stroke-width="3" paint-order="stroke"`]),
      ...(isUpward ? [`transform="rotate(-90 ${rounded(x)} ${rounded(y)})"`] : []),
    ]
    this.pieces.push(`<text ${attributes.join(' ')}>${escapedText(text)}</text>`)
    return this
  }

  /** Clips what `draw` draws to this rectangle. */
  clipped(x: number, y: number, width: number, height: number, draw: () => void): this {
    const id = `clip-${this.pieces.length}`
    this.pieces.push(
      `<clipPath id="${id}"><rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"/></clipPath>`,
      `<g clip-path="url(#${id})">`,
    )
    draw()
    this.pieces.push('</g>')
    return this
  }

  /** The SVG file. */
  end(): string {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="system-ui, sans-serif">\n${this.pieces.join('\n')}\n</svg>\n`
  }

  private named(open: string, element: string, name: string | undefined): this {
    this.pieces.push(name === undefined ? `${open}/>` : `${open}>${titleOf(name)}</${element}>`)
    return this
  }
}

function strokeOf({ color, width = 1.5, isDashed = false }: SvgStroke): string {
  return ` stroke="${escapeXml(color)}" stroke-width="${rounded(width)}"${isDashed ? ' stroke-dasharray="6 4"' : ''}`
}

function placed(points: readonly SvgPoint[]): string {
  return points.map(({ x, y }) => `${rounded(x)},${rounded(y)}`).join(' ')
}

/** An invalid number would make the whole picture unreadable. */
function rounded(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value * 100) / 100) : '0'
}

/** Names are shown as tooltips, which nobody reads when they are longer. */
const maxNameLength = 600

function titleOf(name: string): string {
  return `<title>${escapedText(name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name)}</title>`
}

/** Untrusted text. */
function escapedText(text: string): string {
  return escapeXml(visible(text))
}

const references: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes text for XML. Characters that XML does not permit, such as control characters and lone surrogates, become replacement characters. */
export function escapeXml(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex -- They are what is looked for.
      .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu, '\uFFFD')
      .replaceAll(/[&<>"]/g, (character) => references[character] ?? character)
  )
}
