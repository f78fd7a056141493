import { inOneLine } from './note.ts'

// What a person wrote, in the parts that are kept whole: a sentence that is cut may lose its "never", and an item of a list the line that announces it.

/** Characters of a message that a person writes by hand. In what is longer something was pasted, and nobody can tell what. */
export const mostWrittenCharacters = 4_000

/** The sentences of a message, each in one line. What is quoted, or stands in a block of code, somebody else may have said: it is none of them. */
export function sentencesOf(message: string): readonly string[] {
  if (message.length > mostWrittenCharacters) return []
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
  return unitsOf(withoutQuotes(message)).flatMap(({ lead, text }) =>
    [...segmenter.segment(text)]
      .map(({ segment }) => inOneLine(`${lead} ${segment}`))
      .filter((sentence) => sentence !== ''),
  )
}

/** Without blocks of code, lines that quote, and what stands in tags: pasted, all of it. */
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
  /** The line before a list that ends with a colon. */
  readonly lead: string
  readonly text: string
}

const item = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/

/** Paragraphs, of which the lines belong together, and items of lists. */
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
  // A line that only announces says nothing.
  return units.filter(({ text }) => !text.trim().endsWith(':'))
}
