// Messages of the main loop are one chain of parents (spec R-JOUR-9), which goes on behind an earlier one where the conversation went back.

import type { TranscriptEntry } from '@halting/core'

type AssistantEntry = Extract<TranscriptEntry, { readonly kind: 'assistant' }>
type UserEntry = Extract<TranscriptEntry, { readonly kind: 'user' }>

/** What a line with a message is known by: its uuid, in files of the first format, and its number in later ones. */
export type LineName = string | number

/** An entry, and the line in which it stands. */
export interface NotedLine {
  readonly id: string
  readonly uuid: LineName
}

export function isLineName(value: unknown): value is LineName {
  return typeof value === 'string' || typeof value === 'number'
}

/** The lines in which a message stands, in the order of its blocks: of an entry, or of a compaction. */
export function linesNamedBy(message: unknown): readonly LineName[] {
  if (isLineName(message)) return [message]
  // What has no other fields than its results is no more than their lines.
  if (Array.isArray(message)) return message as readonly LineName[]
  const { content } = (message ?? {}) as { readonly content?: unknown }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return []
  const { ref, blocks } = content as {
    readonly ref?: LineName
    readonly blocks?: readonly { readonly ref: LineName }[]
  }
  if (ref !== undefined) return [ref]
  return blocks?.map((block) => block.ref) ?? []
}

/** An entry of a lap that says no more than which lines it is of: a reply, or results of tools. */
type ShortEntry = readonly ['a', string, LineName] | readonly ['r', string, ...LineName[]]

/** The same in short where the entry has a line's number in the place of its message, and no more than every such entry. */
function shortEntry(entry: { readonly [field: string]: unknown }): unknown {
  const { kind, id, message, origin, ...more } = entry
  if (typeof id !== 'string' || Object.keys(more).length > 0) return entry
  if (kind === 'assistant' && origin === undefined && typeof message === 'number') return ['a', id, message]
  if (kind !== 'user' || origin !== 'tool_results' || !Array.isArray(message)) return entry
  return ['r', id, ...(message as readonly LineName[])]
}

/** The same of the entry of a reply that stands in this line. Every turn comes here: nothing is made of an entry that is as most are. */
export function shortReply(entry: AssistantEntry, line: LineName): unknown {
  // These are its kind, its id and its message.
  const isPlain = typeof line === 'number' && Object.keys(entry).length === 3
  return isPlain ? ['a', entry.id, line] : shortEntry({ ...entry, message: line })
}

/** The same of an entry with results of tools, each in a line, and no message but these. */
export function shortResults(entry: UserEntry, lines: readonly LineName[]): unknown {
  const isPlain = typeof lines[0] === 'number' && Object.keys(entry).length === 4
  return isPlain ? ['r', entry.id, ...lines] : shortEntry({ ...entry, message: lines })
}

/** The entry that is meant, with the lines in the place of its message. */
export function longEntry(entry: unknown): unknown {
  if (!Array.isArray(entry)) return entry
  const [kind, id, ...lines] = entry as unknown as ShortEntry
  return kind === 'a'
    ? { kind: 'assistant', id, message: lines[0] }
    : { kind: 'user', id, message: lines, origin: 'tool_results' }
}

/** The line that an entry names: that of its content, or of the last of its blocks. */
export function lineNamedBy(entry: unknown): LineName | undefined {
  if (Array.isArray(entry)) return entry.length > 2 ? (entry.at(-1) as LineName) : undefined
  const { message } = entry as { readonly message?: unknown }
  return isLineName(message) ? message : linesNamedBy(message).at(-1)
}

/** The parent of the next message is the one to which the conversation went back. */
export function setParentAfterRewind(
  newest: Map<string, LineName>,
  lineOf: (id: string) => LineName | undefined,
  after: string | null,
): void {
  const uuid = after === null ? undefined : lineOf(after)
  if (uuid === undefined) newest.delete('')
  else newest.set('', uuid)
}
