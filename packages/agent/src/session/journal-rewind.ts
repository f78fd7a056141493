// Behind a dynamic import: a run that goes back nowhere does not load it, nor what the bundler puts beside it.
import { ConfigurationError } from '@halting/core'
import {
  personsMessages,
  placeOfMessage,
  rewindRecord,
  type FoldedSession,
  type PersonsMessage,
  type StepRecord,
} from '@halting/core/steps'
import { checkText } from './given.ts'
import { entryOfLine, type ReadJournal } from './read-journal.ts'

/** The conversation of a session, and by which ids its messages may be named. */
export interface Conversation {
  readonly folded: FoldedSession
  readonly file: ReadJournal | undefined
  /** The session, and those that it is a fork of. */
  readonly sessions: readonly [string, ...string[]]
}

/** How far the conversation goes back, and the record of that. */
export interface Back {
  readonly entries: number
  readonly record: StepRecord
}

/** To before a message of a person. @throws ConfigurationError for any other, and for a run that did not end. */
export function backToBefore(conversation: Conversation, message: string): Back & { readonly found: PersonsMessage } {
  const index = placeOf(conversation, message)
  const found = personsMessages(conversation.folded.transcript).find((each) => each.index === index)
  if (found === undefined)
    throw new ConfigurationError(
      `The message ${message} is not a person's. The conversation goes back to before one that is.`,
    )
  return { found, entries: index, record: rewindRecord(conversation.folded, index) }
}

/** To after any message, with the results of what it called. @throws ConfigurationError for one that is not there, and for a run that did not end. */
export function backToAfter(conversation: Conversation, message: string): Back {
  const index = placeOf(conversation, message)
  const next = conversation.folded.transcript.at(index + 1)
  const entries = index + (next?.kind === 'user' && next.origin === 'tool_results' ? 2 : 1)
  return { entries, record: rewindRecord(conversation.folded, entries) }
}

function placeOf({ folded, file, sessions }: Conversation, message: string): number {
  checkText('message', message)
  const id = file === undefined ? message : entryOfLine(file, message)
  const index = placeOfMessage(folded.transcript, id, sessions)
  if (index >= 0) return index
  throw new ConfigurationError(
    `No message ${message.slice(0, 100)} is in the conversation of the session ${sessions[0]}.`,
  )
}
