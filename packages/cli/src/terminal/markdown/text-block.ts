import { Markdown, type MarkdownTheme } from '@earendil-works/pi-tui/dist/components/markdown.js'
import { setCapabilities } from '@earendil-works/pi-tui/dist/terminal-image.js'
import type { Block } from '../screen/screen-port.ts'
import type { Role, Theme } from '../theme.ts'
import { foldedLines } from '../view/lines.ts'
import { indentModelText } from '../view/model-text.ts'
import { isTableRule } from './line-shapes.ts'

/** A piece of Markdown that holds no streamed code: a paragraph, a heading, items, a table. */
export interface TextPiece {
  readonly source: string
  /** Columns it stands to the right: it belongs to an item. */
  readonly indent: number
  /** An empty line stands before it. */
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
    // Whatever the library trips over, what the model wrote is seen.
    return foldedLines(source, width)
  }
}

/** More marks in one text, or deeper quotes, are no Markdown that somebody wrote to be read: the library would need seconds for them, or not end. */
const mostMarks = 400
const deepest = 32

function isReadable(source: string): boolean {
  const lines = source.split('\n')
  // Cells of a table are read one by one.
  const texts = isTableRule(lines[1] ?? '') ? lines : [source]
  const marks = (text: string): number => text.length - text.replaceAll(/[*_~`[\]<&!]/g, '').length
  return texts.every((text) => marks(text) <= mostMarks) && lines.every((line) => depthOf(line) <= deepest)
}

/** Quotes and items within one another. */
function depthOf(line: string): number {
  const before = /^(?: |>|[-*+] |\d{1,9}[.)] )*/.exec(line)?.[0] ?? ''
  return before.replaceAll(/\d/g, '').replaceAll(' ', '').length + before.length / 8
}

function renderedLines(source: string, width: number, theme: Theme): readonly string[] {
  // A link shows where it goes: a terminal that is told the address by a sequence would hide it.
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
