import { keepsMemory, type MemoryPlace } from '@halting/agent'
import type { Memory, Note } from '@halting/agent/memory'
import { many, oneLine, printable } from '../io/figures.ts'
import type { RunSettings } from '../flags/session-ports.ts'

/** What `--json` tells of a memory. */
export function factsOfMemory(
  { topics, problems }: Memory,
  { path }: MemoryPlace,
  { settings, env }: RunSettings,
): { readonly [field: string]: unknown } {
  return {
    folder: path,
    enabled: keepsMemory(settings, env),
    topics: topics.map(({ name, description, notes }) => ({
      topic: name,
      description,
      notes: notes.map((note) => factsOfNote(note, name)),
    })),
    problems,
  }
}

export function factsOfNote({ id, text, date, sources }: Note, topic: string): { readonly [field: string]: unknown } {
  const from = sources.map(({ sessionId, messageId }) => ({ session_id: sessionId, message_uuid: messageId }))
  return { id, topic, date, text, sources: from }
}

/** A line for each topic, and one for each note. */
export function linesOfMemory({ topics }: Memory, width: number): string {
  return topics
    .flatMap(({ name, description, notes }) => [
      oneLine(`${name}: ${description} (${many(notes.length, 'note')})`, width),
      ...notes.map(({ id, date, text }) => `  ${id}  ${date}  ${oneLine(text, width - 24)}`),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

/** All of a note, and where it comes from. */
export function linesOfNote({ id, text, date, sources }: Note, topic: string): string {
  const from = sources.map(
    ({ sessionId, messageId }) => `  from message ${printable(messageId)} of session ${printable(sessionId)}\n`,
  )
  return `${printable(text)}\n  ${id} in ${topic}, ${date}\n${from.join('')}`
}
