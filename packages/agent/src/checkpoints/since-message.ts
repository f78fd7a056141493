import { isToolUse } from '@halting/core/adapters'
import type { Transcript } from '@halting/core'
import type { PersonsMessage } from '@halting/core/steps'
import type { ChangeRecord } from './change-log.ts'

/** A conversation, and the ids of all runs of the session in order, including rewound ones. */
export interface ConversationRuns {
  readonly transcript: Transcript
  readonly order: readonly string[]
}

/** The first record of changes made after this message. Undefined if there are none. */
export function firstChangeSince(
  records: readonly ChangeRecord[],
  { id, index }: Pick<PersonsMessage, 'id' | 'index'>,
  { transcript, order }: ConversationRuns,
): number | undefined {
  const own = runOf(id)
  const ownNumber = order.indexOf(own)
  const first = records.findIndex((record) => {
    if (!('run' in record)) return false
    const number = order.indexOf(record.run)
    // A run without a record was interrupted right after it began.
    if (number < 0 || number > ownNumber) return true
    return number === ownNumber && positionOfCall(transcript, record.run, record.call) > index
  })
  return first < 0 ? undefined : first
}

function runOf(entryId: string): string {
  return entryId.slice(0, Math.max(0, entryId.indexOf('/')))
}

/**
 * Returns the position of a call's request in the run; the end of the run if the conversation does not contain the
 * request.
 */
function positionOfCall(transcript: Transcript, run: string, call: string): number {
  const found = transcript
    .since(0)
    .findIndex(
      (entry) =>
        entry.kind === 'assistant' &&
        runOf(entry.id) === run &&
        entry.message.content.some((block) => isToolUse(block) && block.id === call),
    )
  return found < 0 ? Infinity : found
}
