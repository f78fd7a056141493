import { plainText } from '../screen/strip.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import type { Theme } from '../theme.ts'
import type { MarkdownStream } from '../view/stream-view.ts'
import { codeBlock, fenceBlock, type CodeLine, codeLines, type CodeLines } from './code-blocks.ts'
import { isLoaded, languageOf, loadLanguage } from './languages.ts'
import { closesFence, type FenceMark, fenceMark, indentOf, isHeading, isTableRule, itemIndent } from './line-shapes.ts'
import { textBlock } from './text-block.ts'

/** Maximum length of a block; a longer one is split, so that redrawing the tail is cheap. */
const maxBlockLength = 8_000
const maxTableLength = 64_000
/** Maximum number of lines of the tail: more rows than a screen has. */
const maxTailLines = 100

interface OpenFence extends FenceMark {
  /** The language; undefined if the code is not highlighted. */
  language: string | undefined
  lines: CodeLines | undefined
  /** Lines that wait until their language is loaded. */
  pendingLines: string[]
}

/**
 * Renders Markdown as it arrives: each block is printed as soon as it is complete (spec R-TERM-3, R-TERM-11). A block ends at an empty line, a heading, a
 * fence
 * or the next item; a table after its last row. Each line of code is a block.
 */
export function streamingMarkdown(theme: Theme): MarkdownStream {
  return new Stream(theme)
}

class Stream implements MarkdownStream {
  readonly tail: Component
  readonly #theme: Theme
  /** The incomplete last line. */
  #line = ''
  /** The lines of the incomplete block. */
  #lines: string[] = []
  #size = 0
  #fence: OpenFence | undefined
  /** Where the text of the current list item starts; 0 outside a list. */
  #itemIndent = 0
  #hasGap = false
  #hasPrinted = false
  readonly #blocks: Block[] = []

  constructor(theme: Theme) {
    this.#theme = theme
    this.tail = { render: (width) => this.#tailLines(width) }
  }

  append(text: string): readonly Block[] {
    const lines = (this.#line + text).split('\n')
    const last = lines.pop() ?? ''
    for (const line of lines) this.#takeLine(plainText(this.#splitLong(line)))
    this.#line = this.#splitLong(last)
    this.#release()
    return this.#blocks.splice(0)
  }

  finish(): readonly Block[] {
    if (this.#line !== '') this.#takeLine(plainText(this.#line))
    this.#line = ''
    this.#printPending()
    this.#fence = undefined
    this.#endBlock()
    return this.#blocks.splice(0)
  }

  #takeLine(line: string): void {
    const fence = this.#fence
    if (fence !== undefined) {
      if (closesFence(line, fence)) this.#closeFence(fence)
      else fence.pendingLines.push(line.slice(Math.min(fence.indent, indentOf(line))))
      this.#release()
      return
    }
    const opening = fenceMark(line)
    if (opening !== undefined) this.#openFence(opening)
    else if (line.trim() === '') {
      this.#endBlock()
      this.#hasGap = this.#hasPrinted
    } else this.#takeText(line)
  }

  #takeText(line: string): void {
    if (this.#lines.length > 0 && this.#startsBlock(line)) this.#endBlock()
    this.#lines.push(line)
    this.#size += line.length
    if (isHeading(line) || this.#size > (this.#isTable() ? maxTableLength : maxBlockLength)) this.#endBlock()
  }

  /** Whether the line starts a new block. */
  #startsBlock(line: string): boolean {
    const first = this.#lines[0] ?? ''
    if (isHeading(line)) return true
    if (this.#isTable()) return !line.includes('|')
    const item = itemIndent(line)
    if (item === undefined) return false
    // A nested item is a part of the outer item.
    return itemIndent(first) === undefined ? /^ *(?:[-*+]|1[.)]) /.test(line) : indentOf(line) <= indentOf(first)
  }

  #isTable(): boolean {
    return this.#lines.length > 1 && isTableRule(this.#lines[1] ?? '') && (this.#lines[0] ?? '').includes('|')
  }

  #endBlock(): void {
    if (this.#lines.length === 0) return
    const { source, indent } = this.#dedented(this.#lines)
    this.#print(textBlock({ source, indent, hasGap: this.#hasGap }, this.#theme))
    const [first = ''] = this.#lines
    // A block that is neither indented nor an item ends the list.
    this.#itemIndent = itemIndent(first) ?? (indentOf(first) >= 2 ? this.#itemIndent : 0)
    this.#lines = []
    this.#size = 0
  }

  /** In a list, an indented block belongs to an item and is not code. */
  #dedented(lines: readonly string[]): { readonly source: string; readonly indent: number } {
    const indent = this.#itemIndent > 0 ? indentOf(lines[0] ?? '') : 0
    if (indent < 2) return { source: lines.join('\n'), indent: 0 }
    return { source: lines.map((line) => line.slice(Math.min(indent, indentOf(line)))).join('\n'), indent }
  }

  #openFence(opening: FenceMark): void {
    this.#endBlock()
    const language = languageOf(/^[^\s{,]*/.exec(opening.info)?.[0] ?? '')
    this.#print(fenceBlock(opening.mark + opening.info, { indent: opening.indent, hasGap: this.#hasGap }, this.#theme))
    const fence: OpenFence = { ...opening, language, lines: undefined, pendingLines: [] }
    this.#fence = fence
    if (language === undefined) return
    void loadLanguage(language).then((isThere) => {
      if (!isThere) fence.language = undefined
    })
  }

  #closeFence(fence: OpenFence): void {
    this.#printPending()
    this.#print(fenceBlock(fence.mark, { indent: fence.indent, hasGap: false }, this.#theme))
    this.#fence = undefined
  }

  /** Prints the pending lines of code once their language is loaded, or has none. */
  #release(): void {
    const { language } = this.#fence ?? {}
    if (language === undefined || isLoaded(language)) this.#printPending()
  }

  #printPending(): void {
    const fence = this.#fence
    if (fence === undefined || fence.pendingLines.length === 0) return
    const lines = fence.pendingLines.map((line) => this.#coloured(fence, line))
    fence.pendingLines = []
    this.#print(codeBlock(lines, fence.indent, this.#theme))
  }

  #coloured(fence: OpenFence, line: string): CodeLine {
    if (fence.language === undefined || !isLoaded(fence.language)) return [{ text: line, role: undefined }]
    fence.lines ??= codeLines(fence.language)
    return fence.lines.next(line)
  }

  #print(block: Block): void {
    this.#blocks.push(block)
    this.#hasPrinted = true
    this.#hasGap = false
  }

  /** Splits a long incomplete line into blocks; returns the rest. */
  #splitLong(line: string): string {
    let rest = line
    while (rest.length > maxBlockLength) {
      const space = this.#fence === undefined ? rest.lastIndexOf(' ', maxBlockLength) : -1
      const end = space > 0 ? space : maxBlockLength
      if (this.#fence !== undefined) this.#takeLine(plainText(rest.slice(0, end)))
      else {
        this.#takeText(plainText(rest.slice(0, end)))
        this.#endBlock()
      }
      rest = rest.slice(space > 0 ? end + 1 : end)
    }
    return rest
  }

  #tailLines(width: number): readonly string[] {
    const line = plainText(this.#line)
    const fence = this.#fence
    if (fence !== undefined) {
      const pending =
        line === '' ? fence.pendingLines : [...fence.pendingLines, line.slice(Math.min(fence.indent, indentOf(line)))]
      const lines = pending.map((text) => [{ text, role: undefined }])
      return codeBlock(lines, fence.indent, this.#theme).render(width)
    }
    const lines = line.trim() === '' ? this.#lines : [...this.#lines, line]
    if (lines.length === 0) return []
    // Only the end of a long table is drawn until it is complete, because each frame renders all of it.
    const drawn =
      this.#isTable() && lines.length > maxTailLines ? [...lines.slice(0, 2), ...lines.slice(-maxTailLines)] : lines
    const { source, indent } = this.#dedented(drawn)
    return textBlock({ source, indent, hasGap: this.#hasGap }, this.#theme).render(width)
  }
}
