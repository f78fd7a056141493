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
import { checkDropsTurn } from './check-dropped-turn.ts'
import { checkText } from './check-input.ts'
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

/**
 * To after any message, with the results of what it called. `dropsTurn`: the prompt of the one turn that is taken back.
 * @throws ConfigurationError for one that is not there, and for a run that did not end; ResumeRejectedError where more than that turn would go.
 */
export function backToAfter(conversation: Conversation, message: string, dropsTurn?: string): Back {
  const index = placeOf(conversation, message)
  const next = conversation.folded.transcript.at(index + 1)
  const entries = index + (next?.kind === 'user' && next.origin === 'tool_results' ? 2 : 1)
  if (dropsTurn !== undefined) {
    const { transcript } = conversation.folded
    checkDropsTurn({ transcript, entries, prompt: placeIn(conversation, dropsTurn) })
  }
  return { entries, record: rewindRecord(conversation.folded, entries) }
}

/** -1 for none. */
function placeIn({ folded, file, sessions }: Conversation, message: string): number {
  checkText('message', message)
  const id = file === undefined ? message : entryOfLine(file, message)
  return placeOfMessage(folded.transcript, id, sessions)
}

function placeOf(conversation: Conversation, message: string): number {
  const index = placeIn(conversation, message)
  if (index >= 0) return index
  const { sessions } = conversation
  throw new ConfigurationError(
    `No message ${message.slice(0, 100)} is in the conversation of the session ${sessions[0]}.`,
  )
}
