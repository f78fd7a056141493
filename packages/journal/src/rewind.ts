// This module is imported dynamically, so that runs without a rewind do not load it.
import { ConfigurationError } from '@halting/core'
import type { Transcript, TranscriptEntry } from '@halting/core'
import { personsMessages, messageIndex, rewindRecord } from '@halting/core/steps'
import type { FoldedSession, PersonsMessage, StepRecord } from '@halting/core/steps'
import { checkText } from './check-input.ts'
import { entryOfLine } from './read-journal.ts'
import type { ReadJournal } from './read-journal.ts'
import { isOfPerson } from '@halting/core/adapters'
import { ResumeRejectedError } from './resume-rejected-error.ts'

/** The conversation of a session, and the ids of its messages. */
export interface Conversation {
  readonly folded: FoldedSession
  readonly file: ReadJournal | undefined
  /** The session, and the sessions that it was forked from. */
  readonly sessions: readonly [string, ...string[]]
}

/** How many entries remain after a rewind, and its record. */
export interface RewindTarget {
  readonly entries: number
  readonly record: StepRecord
}

/**
 * Rewinds to before a message of a person. @throws ConfigurationError for any other message, and for a run that did not
 * end.
 */
export function rewindBefore(
  conversation: Conversation,
  message: string,
): RewindTarget & { readonly found: PersonsMessage } {
  const index = placeOf(conversation, message)
  const found = personsMessages(conversation.folded.transcript).find((each) => each.index === index)
  if (found === undefined)
    throw new ConfigurationError(
      `The message ${message} is not a person's. The conversation goes back to before one that is.`,
    )
  return { found, entries: index, record: rewindRecord(conversation.folded, index) }
}

/**
 * Rewinds to after any message, with the results of its calls. `dropsTurn` is the prompt of the one turn that may be
 * dropped.
 * @throws ConfigurationError for a missing message, and for a run that did not end; ResumeRejectedError if more than
 * that turn would be dropped.
 */
export function rewindAfter(conversation: Conversation, message: string, dropsTurn?: string): RewindTarget {
  const index = placeOf(conversation, message)
  const next = conversation.folded.transcript.at(index + 1)
  const entries = index + (next?.kind === 'user' && next.origin === 'tool_results' ? 2 : 1)
  if (dropsTurn !== undefined) {
    const { transcript } = conversation.folded
    checkDropsTurn({ transcript, entries, prompt: placeIn(conversation, dropsTurn) })
  }
  return { entries, record: rewindRecord(conversation.folded, entries) }
}

/** Returns -1 if the message is missing. */
function placeIn({ folded, file, sessions }: Conversation, message: string): number {
  checkText('message', message)
  const id = file === undefined ? message : entryOfLine(file, message)
  return messageIndex(folded.transcript, id, sessions)
}

function placeOf(conversation: Conversation, message: string): number {
  const index = placeIn(conversation, message)
  if (index >= 0) return index
  const { sessions } = conversation
  throw new ConfigurationError(
    `No message ${message.slice(0, 100)} is in the conversation of the session ${sessions[0]}.`,
  )
}

/** The dropped part: everything from `entries` on. `prompt` is the index of the prompt of the dropped turn, or -1. */
interface DroppedEntries {
  readonly transcript: Transcript
  readonly entries: number
  readonly prompt: number
}

// Spec R-REW-6.
/**
 * Checks that a resume drops only the turn of the named prompt, and markers such as that of an interruption. @throws
 * ResumeRejectedError for anything else: another message of a person, the end of background work, or parts of the
 * previous turn.
 */
export function checkDropsTurn({ transcript, entries, prompt }: DroppedEntries): void {
  if (transcript.length <= entries) return
  const first = prompt < 0 ? undefined : transcript.at(prompt)
  if (first?.kind !== 'user' || !isOfPerson(first))
    throw new ResumeRejectedError('the conversation has no prompt with that id.')
  if (prompt < entries) throw new ResumeRejectedError('the named prompt is not dropped.')
  for (const [index, entry] of transcript.since(entries).entries()) {
    const place = entries + index
    const because = place < prompt ? earlierTurnPart(entry) : place > prompt ? externalPart(entry) : undefined
    if (because !== undefined) throw new ResumeRejectedError(`${because} would also be dropped.`)
  }
}

/** Describes a part of the previous turn. */
function earlierTurnPart(entry: TranscriptEntry): string | undefined {
  const part = externalPart(entry)
  if (part !== undefined) return part
  if (entry.kind === 'assistant') return 'a reply of the turn before'
  if (entry.kind === 'user' && entry.origin === 'tool_results' && !hasOnlyFailedResults(entry))
    return 'a result of the turn before'
  return undefined
}

/** Describes a part that came from outside the turn. */
function externalPart(entry: TranscriptEntry): string | undefined {
  if (entry.kind === 'user' && isOfPerson(entry)) return 'another message of the person'
  const notes = entry.kind === 'user' || entry.kind === 'attachment' ? entry.tasks : undefined
  return notes?.some(({ type }) => type !== 'started') === true ? 'the end of work beside the run' : undefined
}

/** Whether all results are of calls that an interruption closed. */
function hasOnlyFailedResults({ message: { content } }: Extract<TranscriptEntry, { readonly kind: 'user' }>): boolean {
  return (
    typeof content !== 'string' && content.every((block) => block.type !== 'tool_result' || block['is_error'] === true)
  )
}
