import { isText, type ContentBlock } from '../model/messages.ts'
import { headOf, tailOf } from '../values/text.ts'
import { completeOutputNote, omittedNote, type Whole } from './result-texts.ts'

type Content = string | readonly ContentBlock[]

/** The full text of a result, with a line end between its blocks. */
export function wholeTextOf(content: Content): string {
  return typeof content === 'string' ? content : textsOf(content).join('\n')
}

/** The length of that text, without building it. */
export function textLengthOf(content: Content): number {
  if (typeof content === 'string') return content.length
  let length = 0
  let count = 0
  for (const block of content) {
    if (!isText(block)) continue
    length += block.text.length
    count++
  }
  return length + Math.max(0, count - 1)
}

function textsOf(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => (isText(block) ? [block.text] : []))
}

/**
 * Omits the middle of a content's text; returns the same content if it is within the limit. Depends only on its
 * arguments. S1: A prefix and a suffix of whole code points remain. Together with the note between them they are within
 * the limit, provided that the note alone is. S2: Other blocks remain in place.
 */
export function shortened(content: Content, limit: number, whole: Whole): Content {
  if (textLengthOf(content) <= limit) return content
  const cut = cutOf(wholeTextOf(content), limit, whole)
  if (typeof content === 'string') return cut.head + cut.note + cut.tail
  return shortenedBlocks(content, cut)
}

/** Appends the location of the full text to a content whose tool omitted the middle itself. */
export function withLocationOfWhole(content: Content, whole: Whole): Content {
  const note = completeOutputNote(whole)
  return typeof content === 'string' ? `${content}\n${note}` : [...content, { type: 'text', text: note }]
}

interface Cut {
  readonly head: string
  /** The note, including the line ends around it. */
  readonly note: string
  readonly tail: string
  /** Start of the tail. */
  readonly tailStart: number
}

function cutOf(text: string, limit: number, whole: Whole): Cut {
  // Sized for the longest possible note: the figures in the note depend on the omitted part, but must not change its size.
  const { length } = text
  const longest =
    omittedNote({ characters: length, lines: length, line: length }, length, whole).length + lineEndsAround
  const room = Math.max(0, limit - longest)
  const head = headAtLineEnd(headOf(text, Math.ceil(room / 2)))
  const tail = tailAtLineStart(tailOf(text, Math.floor(room / 2)))
  const tailStart = length - tail.length
  const characters = length - head.length - tail.length
  const before = head === '' ? '' : head.endsWith('\n') ? '\n' : '\n\n'
  const after = tail === '' ? '' : '\n\n'
  const lines = lineEndsIn(text, head.length, tailStart)
  const note = omittedNote({ characters, lines, line: lineEndsIn(text, 0, head.length) + 1 }, length, whole)
  return { head, note: `${before}${note}${after}`, tail, tailStart }
}

const lineEndsAround = 4

/** The omitted part is adjusted to a line end within this share of the remaining text. */
const nearLineEnd = 0.25

function headAtLineEnd(head: string): string {
  const end = head.lastIndexOf('\n') + 1
  return end >= head.length * (1 - nearLineEnd) ? head.slice(0, end) : head
}

function tailAtLineStart(tail: string): string {
  const start = tail.indexOf('\n') + 1
  return start > 0 && start <= tail.length * nearLineEnd ? tail.slice(start) : tail
}

function lineEndsIn(text: string, start: number, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** Inserts the note in place of the omitted text; the blocks keep their order. */
function shortenedBlocks(content: readonly ContentBlock[], { head, note, tailStart }: Cut): readonly ContentBlock[] {
  const blocks: ContentBlock[] = []
  let start = 0
  let hasNote = false
  for (const block of content) {
    if (!isText(block)) {
      blocks.push(block)
      continue
    }
    const { text } = block
    const end = start + text.length
    const isWhole = end <= head.length || start >= tailStart
    const remaining = [
      text.slice(0, Math.max(0, head.length - start)),
      text.slice(Math.max(0, tailStart - start)),
    ] as const
    if (isWhole) blocks.push(block)
    else if (hasNote) pushText(blocks, remaining[1])
    else pushText(blocks, remaining.join(remaining[0] === '' ? note.trimStart() : note))
    hasNote ||= !isWhole
    start = end + 1
  }
  return blocks
}

/** Skips an empty text, which the API refuses. */
function pushText(blocks: ContentBlock[], text: string): void {
  if (text !== '') blocks.push({ type: 'text', text })
}
