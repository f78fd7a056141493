// Main loop messages form one chain of parents (spec R-JOUR-9), which branches at an earlier message after a rewind.

import type { TranscriptEntry } from '@halting/core'

type AssistantEntry = Extract<TranscriptEntry, { readonly kind: 'assistant' }>
type UserEntry = Extract<TranscriptEntry, { readonly kind: 'user' }>

/** Name of a line with a message: its uuid in the first format, its number in later ones. */
export type LineName = string | number

/** An entry, and its line. */
export interface NotedLine {
  readonly id: string
  readonly uuid: LineName
}

export function isLineName(value: unknown): value is LineName {
  return typeof value === 'string' || typeof value === 'number'
}

/** Returns the lines of a message, in the order of its blocks; of an entry, or of a compaction. */
export function linesNamedBy(message: unknown): readonly LineName[] {
  if (isLineName(message)) return [message]
  // An array has only the lines of results.
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

/** A short form of an entry that only refers to lines: a reply, or tool results. */
type ShortEntry = readonly ['a', string, LineName] | readonly ['r', string, ...LineName[]]

/** Returns the short form, if the entry refers to lines and has no additional fields. */
function shortEntry(entry: { readonly [field: string]: unknown }): unknown {
  const { kind, id, message, origin, ...more } = entry
  if (typeof id !== 'string' || Object.keys(more).length > 0) return entry
  if (kind === 'assistant' && origin === undefined && typeof message === 'number') return ['a', id, message]
  if (kind !== 'user' || origin !== 'tool_results' || !Array.isArray(message)) return entry
  return ['r', id, ...(message as readonly LineName[])]
}

/** Returns the short form of a reply's entry. Called every turn, so the usual case allocates nothing else. */
export function shortReply(entry: AssistantEntry, line: LineName): unknown {
  // Kind, id and message.
  const isPlain = typeof line === 'number' && Object.keys(entry).length === 3
  return isPlain ? ['a', entry.id, line] : shortEntry({ ...entry, message: line })
}

/** Returns the short form of an entry with tool results, each in a line. */
export function shortResults(entry: UserEntry, lines: readonly LineName[]): unknown {
  const isPlain = typeof lines[0] === 'number' && Object.keys(entry).length === 4
  return isPlain ? ['r', entry.id, ...lines] : shortEntry({ ...entry, message: lines })
}

/** Restores an entry from its short form, with lines instead of its message. */
export function longEntry(entry: unknown): unknown {
  if (!Array.isArray(entry)) return entry
  const [kind, id, ...lines] = entry as unknown as ShortEntry
  return kind === 'a'
    ? { kind: 'assistant', id, message: lines[0] }
    : { kind: 'user', id, message: lines, origin: 'tool_results' }
}

/** Returns the line of an entry's content, or of its last block. */
export function lineNamedBy(entry: unknown): LineName | undefined {
  if (Array.isArray(entry)) return entry.length > 2 ? (entry.at(-1) as LineName) : undefined
  const { message } = entry as { readonly message?: unknown }
  return isLineName(message) ? message : linesNamedBy(message).at(-1)
}

/** Makes the message to which the conversation was rewound the parent of the next one. */
export function setParentAfterRewind(
  newest: Map<string, LineName>,
  lineOf: (id: string) => LineName | undefined,
  after: string | null,
): void {
  const uuid = after === null ? undefined : lineOf(after)
  if (uuid === undefined) newest.delete('')
  else newest.set('', uuid)
}
