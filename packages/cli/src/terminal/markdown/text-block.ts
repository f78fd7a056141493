import { Markdown, type MarkdownTheme } from '@earendil-works/pi-tui/dist/components/markdown.js'
import { setCapabilities } from '@earendil-works/pi-tui/dist/terminal-image.js'
import type { Block } from '../screen/screen-port.ts'
import type { Role, Theme } from '../theme.ts'
import { foldedLines } from '../view/lines.ts'
import { indentModelText } from '../view/model-text.ts'
import { isTableRule } from './line-shapes.ts'

/** Markdown without streamed code: a paragraph, heading, items or table. */
export interface TextPiece {
  readonly source: string
  /** Columns of indentation within a list item. */
  readonly indent: number
  /** An empty line precedes it. */
  readonly hasGap: boolean
}

export function textBlock({ source, indent, hasGap }: TextPiece, theme: Theme): Block {
  return indentModelText({
    render(width) {
      const room = Math.max(8, width - indent)
      const lines = markdownLines(source, room, theme).map((line) => (line === '' ? '' : ' '.repeat(indent) + line))
      return hasGap && lines.length > 0 ? ['', ...lines] : lines
    },
  })
}

function markdownLines(source: string, width: number, theme: Theme): readonly string[] {
  if (!isReadable(source)) return foldedLines(source, width)
  try {
    return renderedLines(source, width, theme)
  } catch {
    // If the library fails, the plain text is shown.
    return foldedLines(source, width)
  }
}

/** Maximum number of marks. With more marks or deeper nesting, the library takes seconds or never finishes, so such text is shown unrendered. */
const maxMarks = 400
const deepest = 32

function isReadable(source: string): boolean {
  const lines = source.split('\n')
  // Table cells are parsed one by one.
  const texts = isTableRule(lines[1] ?? '') ? lines : [source]
  const marks = (text: string): number => text.length - text.replaceAll(/[*_~`[\]<&!]/g, '').length
  return texts.every((text) => marks(text) <= maxMarks) && lines.every((line) => depthOf(line) <= deepest)
}

/** The nesting depth of quotes and items. */
function depthOf(line: string): number {
  const before = /^(?: |>|[-*+] |\d{1,9}[.)] )*/.exec(line)?.[0] ?? ''
  return before.replaceAll(/\d/g, '').replaceAll(' ', '').length + before.length / 8
}

function renderedLines(source: string, width: number, theme: Theme): readonly string[] {
  // Links show their target; terminal hyperlinks would hide it.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false })
  const lines = new Markdown(source, 0, 0, themeOf(theme)).render(width).map((line) => line.trimEnd())
  const [first, last] = [lines.findIndex((line) => line !== ''), lines.findLastIndex((line) => line !== '')]
  return first < 0 ? [] : lines.slice(first, last + 1)
}

function themeOf(theme: Theme): MarkdownTheme {
  const painted = (role: Role) => (text: string) => theme.paint(role, text)
  return {
    heading: painted('heading'),
    link: painted('link'),
    linkUrl: painted('dim'),
    code: painted('code'),
    codeBlock: painted('code'),
    codeBlockBorder: painted('border'),
    quote: painted('dim'),
    quoteBorder: painted('border'),
    hr: painted('border'),
    listBullet: painted('border'),
    bold: painted('bold'),
    italic: painted('italic'),
    strikethrough: painted('strikethrough'),
    underline: painted('underline'),
    codeBlockIndent: '',
  }
}
