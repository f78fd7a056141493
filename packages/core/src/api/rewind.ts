import { ConfigurationError } from '../values/errors.ts'
import { uuidOf } from '../values/hash.ts'
import type { MessageContent } from '../model/messages.ts'
import { lineName } from '../sdk/reply-lines.ts'
import type { FoldedSession } from '../steps/fold-session.ts'
import type { StepRecord } from '../steps/step-record.ts'
import { isOfPerson, type Transcript, type TranscriptEntry, type UserEntry } from '../conversation/transcript.ts'

/** A message of a person, and its position in the transcript. */
export interface PersonsMessage {
  /** Id of the entry. */
  readonly id: string
  /** Index in the transcript. */
  readonly index: number
  /** The message. */
  readonly content: MessageContent
}

/** The messages of persons in a conversation, the newest last. */
export function personsMessages(transcript: Transcript): readonly PersonsMessage[] {
  return transcript
    .since(0)
    .flatMap((entry, index) => (isPersonsEntry(entry) ? [{ id: entry.id, index, content: entry.message.content }] : []))
}

function isPersonsEntry(entry: TranscriptEntry): entry is UserEntry {
  return entry.kind === 'user' && isOfPerson(entry)
}

/** The index of a message in the transcript, or -1. `id` is the id of its entry, its inbox id, or a uuid that one of these sessions reported for it. */
export function messageIndex(transcript: Transcript, id: string, sessionIds: readonly string[]): number {
  const uuid = id.toLowerCase()
  return transcript
    .since(0)
    .findLastIndex(
      (entry) =>
        entry.id === id ||
        (entry.kind === 'user' && entry.inboxId === id) ||
        sessionIds.some((session) => namesOf(entry).some((name) => uuidOf(`${session}/${name}`) === uuid)),
    )
}

/** Names of the output lines for the message: a reply has one for each block, tool results have one each. */
function namesOf(entry: TranscriptEntry): readonly string[] {
  if (entry.kind === 'assistant')
    return [entry.id, ...entry.message.content.map((_block, index) => lineName(entry.id, entry.message.id, index))]
  if (entry.kind !== 'user' || typeof entry.message.content === 'string') return [entry.id]
  return [entry.id, ...entry.message.content.map((_block, index) => `${entry.id}.${index}`)]
}

/**
 * The record that rewinds a conversation to its first `entries` entries. The cost of the removed part still counts.
 * Append the record to the records of the last run.
 * @throws ConfigurationError if a run did not end, or there is nothing to rewind.
 */
export function rewindRecord(
  { transcript, open }: Pick<FoldedSession, 'transcript' | 'open'>,
  entries: number,
): Extract<StepRecord, { readonly type: 'rewind' }> {
  if (open !== undefined)
    throw new ConfigurationError(
      'The last run of the session did not end. Resume it, or close it with a new prompt, before rewinding the conversation.',
    )
  if (!Number.isSafeInteger(entries) || entries < 0 || entries > transcript.length)
    throw new ConfigurationError(
      `The conversation has ${transcript.length} entries; it cannot be rewound to ${entries}.`,
    )
  // An index below 0 would be counted from the end.
  return { type: 'rewind', entries, after: entries === 0 ? null : (transcript.at(entries - 1)?.id ?? null) }
}
