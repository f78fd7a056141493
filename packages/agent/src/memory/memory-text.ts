import { splitFrontMatter } from '../instructions/frontmatter.ts'
import { memoryCut, memoryHead } from '../instructions/briefing-texts.ts'
import { withoutTags } from './model-answer.ts'
import { noteOfLine } from './note.ts'
import type { MemoryPlace } from './places.ts'
import type { Memory, ReadTopic } from './read-memory.ts'

/** The part of a memory that a session shows. */
export interface MemoryText {
  /** The text. */
  readonly text: string
  /** Whether a part of the memory is omitted. */
  readonly isCut: boolean
}

/** Maximum size of the memory text at the start of a session. */
const shownLines = 200
const shownBytes = 25_000

// Spec R-MEM-2.
/** Returns the memory for the system prompt: the index, and the topics that fit; undefined if the memory is empty. */
export function memoryText({ indexPath }: MemoryPlace, { index, topics }: Memory): MemoryText | undefined {
  const parts = [index?.text.trim() ?? '', ...topics.map(topicText)].filter((part) => part !== '')
  if (parts.length === 0) return undefined
  const all = withoutTags(parts.join('\n\n').replaceAll(/[^\P{Cc}\n\t]/gu, ''))
  const shown = bounded(all)
  const isCut = shown.length < all.length
  const rest = isCut ? memoryCut(indexPath) : ''
  const text = [memoryHead, `<memory from="${indexPath.replaceAll('"', '&quot;')}">\n${shown}${rest}\n</memory>`].join(
    '\n\n',
  )
  return { text, isCut }
}

/** Sources of notes are omitted from the text, because the model needs only the date. */
function topicText({ name, file }: ReadTopic): string {
  const lines = splitFrontMatter(file.text).body.split('\n')
  const shown = lines.map((line) => {
    const read = noteOfLine(line)
    return read.kind === 'note' ? `- ${read.note.text} (${read.note.date})` : line
  })
  const body = shown.join('\n').trim()
  return body === '' ? '' : `## ${name}\n${body}`
}

/** Truncates a text to whole lines, unless a single line is too long. */
function bounded(text: string): string {
  const lines = text.split('\n').slice(0, shownLines).join('\n')
  const bytes = Buffer.from(lines)
  if (bytes.length <= shownBytes) return lines
  const cut = bytes
    .subarray(0, shownBytes)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  const end = cut.lastIndexOf('\n')
  return end > 0 ? cut.slice(0, end) : cut
}
