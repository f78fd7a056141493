import { wellFormed } from '@halting/core/adapters'
import { shortHash } from '@halting/journal'

/** The user message that a note comes from. */
export interface NoteSource {
  /** Id of the session. */
  readonly sessionId: string
  /** The uuid of the message in the session. */
  readonly messageId: string
}

/** A statement of the user, with its sources. */
export interface Note {
  /** Eight hexadecimal digits. */
  readonly id: string
  /** Text of the note, on one line. */
  readonly text: string
  /** `2026-11-23`, in UTC. */
  readonly date: string
  /** The sources of the note; at least one. */
  readonly sources: readonly NoteSource[]
}

/** Maximum characters of one note. */
export const maxNoteCharacters = 600

export function newNote(text: string, date: string, source: NoteSource): Note {
  const id = shortHash(`${source.sessionId}/${source.messageId}/${text}`).slice(0, 8)
  return { id, text, date, sources: [source] }
}

/** A note as a line of its file: `- TEXT <!-- note ID DATE SESSION/MESSAGE … -->`. */
export function lineOfNote({ id, text, date, sources }: Note): string {
  const from = sources.map(({ sessionId, messageId }) => `${named(sessionId)}/${named(messageId)}`)
  return `- ${withoutMarks(text)} <!-- note ${id} ${date} ${from.join(' ')} -->`
}

const notePattern = /^- (.*) <!-- note ([0-9a-f]{8}) (\d{4}-\d\d-\d\d)((?: [^\s/]+\/[^\s/]+)+) -->$/
const mark = '<!-- note '

/** `other`: a line that the user wrote. */
export type ReadLine =
  | { readonly kind: 'note'; readonly note: Note }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'other' }

/** Parses a line. The user's edits of the text apply. */
export function noteOfLine(line: string): ReadLine {
  if (!line.includes(mark)) return { kind: 'other' }
  const [, text = '', id = '', date = '', from = ''] = notePattern.exec(line.trimEnd()) ?? []
  if (id === '') return { kind: 'damaged' }
  const sources = from
    .trim()
    .split(' ')
    .map((source) => {
      const [sessionId = '', messageId = ''] = source.split('/')
      return { sessionId: unnamed(sessionId), messageId: unnamed(messageId) }
    })
  return { kind: 'note', note: { id, text: withMarks(inOneLine(text)), date, sources } }
}

/** All sources, without duplicates. */
export function union(...lists: readonly (readonly NoteSource[])[]): readonly NoteSource[] {
  return [
    ...new Map(lists.flat().map((source) => [`${source.sessionId}/${source.messageId}`, source] as const)).values(),
  ]
}

// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const sequence = /\u001B\[[\d;?]*[ -/]*[@-~]/g

/** Removes control characters, invisible characters and bidirectional controls. */
export function inOneLine(text: string): string {
  return text
    .replaceAll(sequence, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/[\p{Cf}\p{Co}\p{Cs}]/gu, '')
    .trim()
}

/** Returns a normalized form: notes with the same form have the same meaning. */
export function sameText(text: string): string {
  return inOneLine(text)
    .toLowerCase()
    .replaceAll(/[.!?\s]+$/g, '')
}

/** Removes comment marks, which would end the comment. */
function withoutMarks(text: string): string {
  return inOneLine(text).replaceAll('<!--', '&lt;!--').replaceAll('-->', '--&gt;')
}

function withMarks(text: string): string {
  return text.replaceAll('&lt;!--', '<!--').replaceAll('--&gt;', '-->')
}

function named(id: string): string {
  return encodeURIComponent(wellFormed(id)).replaceAll('--', '-%2D')
}

function unnamed(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
