import { ConfigurationError, type Transcript } from '@halting/core'
import { personsMessages, messageIndex, type PersonsMessage } from '@halting/core/steps'

/** Finds a message of a person by its id or by a uuid that was emitted for it. @throws ConfigurationError if no message matches. */
export function findPersonsMessage(transcript: Transcript, sessionId: string, message: string): PersonsMessage {
  const index = messageIndex(transcript, message, [sessionId])
  const found = personsMessages(transcript).find((each) => each.index === index)
  if (found !== undefined) return found
  throw new ConfigurationError(`The session ${sessionId} has no message ${message.slice(0, 100)} of a person.`)
}
