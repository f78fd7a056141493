import { columnsOf } from './columns.ts'

/** The part of `Output` that pages need. */
interface PageDestination {
  readonly isTerminal: { readonly stdout: boolean }
  readonly width: number
}

/** A page for stdout: on a terminal, long lines are wrapped between words. Output to a file or a program keeps its lines. */
export function pageFor({ isTerminal, width }: PageDestination, text: string): string {
  return isTerminal.stdout ? wrapLines(text, width) : text
}

/** Wraps lines to at most `width` columns. Continuation lines are indented to the last table column, or to the indent of the line. */
export function wrapLines(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => (shownColumns(line) <= width ? [line] : wrapLine(line, width)))
    .join('\n')
}

function wrapLine(line: string, width: number): readonly string[] {
  const lines: string[] = []
  const indent = ' '.repeat(indentOf(line, width))
  for (const word of line.split(/(?<=\S) (?=\S)/)) {
    const last = lines.at(-1)
    if (last === undefined) lines.push(word)
    else if (shownColumns(last) + 1 + shownColumns(word) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines
}

/** Table columns are separated by at least two spaces. */
function indentOf(line: string, width: number): number {
  const plain = line.replaceAll(colours, '')
  const starts = [...plain.matchAll(/(?<=^|\S) {2,}(?=\S)/g)].map(({ index, 0: gap }) => index + gap.length)
  return starts.findLast((start) => start <= width / 2) ?? /^ */.exec(plain)?.[0].length ?? 0
}

// oxlint-disable-next-line no-control-regex -- sequences of colours take no columns
const colours = /\u001B\[[\d;]*m/g

function shownColumns(text: string): number {
  return columnsOf(text.replaceAll(colours, ''))
}
