import { splitFrontMatter } from '../instructions/frontmatter.ts'
import { lineOfNote, type Note, noteOfLine } from './note.ts'

// A topic is a Markdown file in which each note is a line. All other lines belong to the user and stay unchanged, byte
// for byte.

/** A topic, as read from its file. */
export interface Topic {
  /** Name of the topic. */
  readonly name: string
  /** Subject of the topic. */
  readonly description: string
  /** Notes of the topic, in order. */
  readonly notes: readonly Note[]
  /** Line numbers, from 1, of unreadable lines with the mark of a note. */
  readonly damagedLines: readonly number[]
}

/** Topics that the program creates, with their descriptions. Users may create others. */
export const builtinTopics = {
  user: 'who the user is, and what they know',
  preferences: 'how the user wants the work to be done',
  project: 'facts and decisions about this project',
  reference: 'where to find things outside of this folder',
} as const

export function topicOf(name: string, text: string): Topic {
  const notes: Note[] = []
  const damagedLines: number[] = []
  for (const [at, line] of text.split('\n').entries()) {
    const read = noteOfLine(line)
    if (read.kind === 'note') notes.push(read.note)
    if (read.kind === 'damaged') damagedLines.push(at + 1)
  }
  return { name, description: descriptionIn(text), notes, damagedLines }
}

/** Returns the description, which is one line of a header that this program writes: see `newTopicText`. */
function descriptionIn(text: string): string {
  const { header = '' } = splitFrontMatter(text)
  return /^description:[ \t]+(.*)$/m.exec(header)?.[1]?.trim() ?? ''
}

/** The text of a new topic without notes. */
export function newTopicText(name: string): string {
  const description = name in builtinTopics ? builtinTopics[name as keyof typeof builtinTopics] : name
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n`
}

/** Whether only text of the program itself remains. */
export function isEmptyTopic(name: string, text: string): boolean {
  return text.trim() === newTopicText(name).trim()
}

export function withNotes(text: string, notes: readonly Note[]): string {
  const end = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${end}${notes.map((note) => `${lineOfNote(note)}\n`).join('')}`
}

/** Replaces notes by their ids; undefined removes a note. */
export function withNotesReplaced(text: string, replacements: ReadonlyMap<string, Note | undefined>): string {
  const lines = text.split('\n').flatMap((line) => {
    const read = noteOfLine(line)
    if (read.kind !== 'note' || !replacements.has(read.note.id)) return [line]
    const note = replacements.get(read.note.id)
    const end = line.endsWith('\r') ? '\r' : ''
    return note === undefined ? [] : [`${lineOfNote(note)}${end}`]
  })
  return lines.join('\n')
}

/** A topic name must be a plain file name. */
export function isTopicName(name: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,59}$/u.test(name) && name.toLowerCase() !== 'memory'
}

/** The index with one line per topic: keeps existing lines, and removes those of deleted topics. */
export function indexWith(text: string, topics: readonly Topic[], gone: readonly string[]): string {
  const known = new Set([...text.matchAll(/\]\(([^)\s]+)\.md\)/g)].map(([, name = '']) => name))
  const remaining = text
    .split('\n')
    .filter((line) => !gone.some((name) => line.startsWith(`- [${name}](${name}.md): `)))
  const added = topics
    .filter(({ name }) => !known.has(name))
    .map(({ name, description }) => `- [${name}](${name}.md): ${description}`)
  if (added.length === 0) return remaining.join('\n')
  const before = text === '' ? indexHead : remaining.join('\n')
  return `${before}${before.endsWith('\n') ? '' : '\n'}${added.join('\n')}\n`
}

const indexHead = `# Memory

What halting remembers of earlier sessions in this folder, one file for each topic. You may write here too: halting does not remove your text.

`
