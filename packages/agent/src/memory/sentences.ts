import { inOneLine } from './note.ts'

// Splits user text into units that are stored whole: a truncated sentence may lose its "never", and a list item the
// line that announces it.

/** Maximum characters of a typed message. Longer messages have pasted parts that cannot be distinguished. */
export const maxTypedCharacters = 4_000

/**
 * The sentences of a message, one line each. Quotes and code blocks are omitted: someone else may have written them.
 */
export function sentencesOf(message: string): readonly string[] {
  if (message.length > maxTypedCharacters) return []
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
  return unitsOf(withoutQuotes(message)).flatMap(({ lead, text }) =>
    [...segmenter.segment(text)]
      .map(({ segment }) => inOneLine(`${lead} ${segment}`))
      .filter((sentence) => sentence !== ''),
  )
}

/** Removes code blocks, quoted lines and text in tags, which are pasted. */
function withoutQuotes(message: string): string {
  const lines: string[] = []
  let fence: string | undefined
  for (const line of message.split(/\r\n?|\n/)) {
    const [, mark] = /^\s*(`{3,}|~{3,})/.exec(line) ?? []
    if (fence === undefined) lines.push(mark !== undefined || /^(?:\s*>| {4}|\t)/.test(line) ? '' : line)
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence) === true) fence = undefined
  }
  return lines.join('\n').replaceAll(/<([a-zA-Z][\w-]*)(?:\s[^>\n]*)?>[\s\S]*?<\/\1\s*>/g, '\n')
}

interface Unit {
  /** The line before a list, if it ends with a colon. */
  readonly lead: string
  readonly text: string
}

const item = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/

/** Splits a text into paragraphs, as joined lines, and list items. */
function unitsOf(message: string): readonly Unit[] {
  const units: { lead: string; text: string }[] = []
  let open: { lead: string; text: string } | undefined
  let lead = ''
  for (const line of message.split('\n')) {
    if (line.trim() === '') {
      if (open !== undefined && !item.test(line)) lead = open.text.trim().endsWith(':') ? open.text.trim() : lead
      open = undefined
      continue
    }
    if (/^\s*#/.test(line)) {
      open = undefined
      lead = ''
      continue
    }
    const isItem = item.test(line)
    if (isItem) {
      if (open !== undefined && open.text.trim().endsWith(':')) lead = open.text.trim()
      open = { lead, text: line.replace(item, '') }
      units.push(open)
    } else if (open === undefined) {
      open = { lead: '', text: line }
      lead = ''
      units.push(open)
    } else open.text += ` ${line.trim()}`
  }
  // A line that only announces a list has no content.
  return units.filter(({ text }) => !text.trim().endsWith(':'))
}
