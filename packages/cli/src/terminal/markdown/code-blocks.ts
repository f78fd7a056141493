import type { CodeRole, Theme } from '../theme.ts'
import { type HighlightResult, highlight } from './languages.ts'
import { getSegmenter, visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { Block } from '../screen/screen-port.ts'
import { indentModelCode } from '../view/model-text.ts'

/** Part of a line of code in one colour. */
interface CodePart {
  readonly text: string
  readonly role: CodeRole | undefined
}

export type CodeLine = readonly CodePart[]

/** Highlights code line by line. */
export interface CodeLines {
  next(line: string): CodeLine
}

/** Maximum size of an open construct, such as a comment, string or embedded document. */
const maxOpen = { lines: 200, characters: 8_000 }
/** Longer lines are generated and not highlighted: the cost grows with the square of their length. */
const maxLineLength = 1_000

/** Highlights a line together with the preceding lines of an open construct. So each line costs about as much as on its own (spec R-TERM-11). */
export function codeLines(language: string): CodeLines {
  let open: string[] = []
  let size = 0
  return {
    next(line) {
      if (line.length > maxLineLength) return [{ text: line, role: undefined }]
      const result = highlight(language, `${[...open, line].join('\n')}\n`)
      if (result === undefined) return [{ text: line, role: undefined }]
      size += line.length
      const isOpen = endsInOpenMode(result) && open.length < maxOpen.lines && size <= maxOpen.characters
      ;[open, size] = isOpen ? [[...open, line], size] : [[], 0]
      return lastLineOf(result.value)
    },
  }
}

/** Whether the code ends within a nested mode, such as an open comment or string. */
function endsInOpenMode({ _top: top }: HighlightResult): boolean {
  return top !== undefined && 'parent' in top && top.parent !== undefined && top.parent !== null
}

const piece = /<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|[^<&]+/g
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }

/** The last line of the highlighter's output, which ends with a line feed. */
function lastLineOf(html: string): CodeLine {
  let line: CodePart[] = []
  let ended: CodePart[] = []
  const roles: (CodeRole | 'plain' | undefined)[] = []
  const add = (text: string): void => {
    const [first = '', ...more] = text.split('\n')
    const inner = roles.findLast((each) => each !== undefined)
    const role = inner === 'plain' ? undefined : inner
    const last = line.at(-1)
    // Adjacent words of a comment are joined.
    if (last !== undefined && last.role === role) line[line.length - 1] = { text: last.text + first, role }
    else if (first !== '') line.push({ text: first, role })
    for (const each of more) {
      ended = line
      line = each === '' ? [] : [{ text: each, role }]
    }
  }
  for (const [found, classes, entity] of html.matchAll(piece)) {
    if (classes !== undefined) roles.push(roleOf(classes))
    else if (found === '</span>') roles.pop()
    else add(entity === undefined ? found : (entities[entity] ?? ''))
  }
  return ended
}

const roleOfClass: Readonly<Record<string, CodeRole | 'plain'>> = {
  'hljs-keyword': 'keyword',
  'hljs-literal': 'keyword',
  'hljs-selector-tag': 'keyword',
  'hljs-string': 'string',
  'hljs-regexp': 'string',
  'hljs-char': 'string',
  'hljs-number': 'number',
  'hljs-symbol': 'number',
  'hljs-bullet': 'number',
  'hljs-comment': 'comment',
  'hljs-quote': 'comment',
  'hljs-title': 'name',
  'hljs-section': 'name',
  'hljs-name': 'name',
  'hljs-tag': 'name',
  'hljs-attr': 'name',
  'hljs-attribute': 'name',
  'hljs-type': 'type',
  'hljs-built_in': 'type',
  'hljs-selector-class': 'type',
  'hljs-selector-id': 'type',
  'hljs-meta': 'meta',
  'hljs-doctag': 'meta',
  'hljs-template-variable': 'meta',
  'hljs-addition': 'added',
  'hljs-deletion': 'removed',
  // Code within a string.
  'hljs-subst': 'plain',
}

/** The role of an element; undefined for the role of the enclosing element. */
function roleOf(classes: string): CodeRole | 'plain' | undefined {
  return roleOfClass[classes.split(' ')[0] ?? '']
}

/** Lines of code, wrapped at the width and not between words, so that copied text is the code. */
export function codeBlock(lines: readonly CodeLine[], indent: number, theme: Theme): Block {
  return indentModelCode({ render: (width) => lines.flatMap((line) => rowsOf(line, indent, width, theme)) })
}

/** The line above or below code. */
export function fenceBlock(
  mark: string,
  { indent, hasGap }: { readonly indent: number; readonly hasGap: boolean },
  theme: Theme,
): Block {
  return {
    render(width) {
      // The info string may have any length.
      const line = ' '.repeat(indent) + theme.paint('border', fitting(mark, Math.max(8, width - indent), true))
      return hasGap ? ['', line] : [line]
    },
  }
}

function rowsOf(line: CodeLine, indent: number, width: number, theme: Theme): readonly string[] {
  const room = Math.max(8, width - indent)
  const margin = ' '.repeat(indent)
  const rows: string[] = []
  let [row, left] = ['', room]
  for (const { text, role } of line) {
    let rest = text
    while (rest !== '') {
      const fits = fitting(rest, left, left === room)
      row += role === undefined ? fits : theme.paint(role, fits)
      rest = rest.slice(fits.length)
      left -= visibleWidth(fits)
      if (rest === '') break
      rows.push(margin + row)
      ;[row, left] = ['', room]
    }
  }
  return [...rows, margin + row]
}

/** As much of the text as fits; at least one character in an empty row. */
function fitting(text: string, columns: number, isEmpty: boolean): string {
  if (/^[\u0020-\u007E]*$/.test(text)) return text.slice(0, columns)
  let fittingText = ''
  let left = columns
  for (const { segment } of getSegmenter().segment(text)) {
    left -= visibleWidth(segment)
    if (left < 0 && (fittingText !== '' || !isEmpty)) break
    fittingText += segment
  }
  return fittingText
}
