import { messageContentOf } from '../model/content.ts'
import { ConfigurationError } from '../values/errors.ts'
import { jsonOf } from '../values/json.ts'
import type { MessageContent, ModelMessage } from '../model/messages.ts'
import { checkReplacement } from '../conversation/replaced-messages.ts'
import type { Attachment, Transcript, TranscriptEntry } from '../conversation/transcript.ts'

/** Changes of a hook to its transcript. */
export interface TranscriptChange {
  /** User messages that it added. */
  readonly messages: readonly MessageContent[]
  /** The replacement of the model's view, if the hook changed more than adding messages. */
  readonly replaced?: readonly ModelMessage[]
  /** Notes for people. */
  readonly attachments: readonly Attachment[]
}

const noChange: TranscriptChange = Object.freeze({ messages: Object.freeze([]), attachments: Object.freeze([]) })

/** @throws ConfigurationError for a transcript that could not be sent, and for entries that a hook may not write. */
export function transcriptChange(before: Transcript, after: Transcript): TranscriptChange {
  if (after === before) return noChange
  if (isLonger(before, after)) {
    const added = after.since(before.length)
    const attachments = attachmentsOf(added)
    const messages = added.flatMap((entry) => (entry.kind === 'user' ? [messageContentOf(entry.message.content)] : []))
    if (messages.length + attachments.length === added.length) return { messages, attachments }
    return { messages: [], attachments, replaced: checked(before, after) }
  }
  const known = new Set(Array.from(before, ({ id }) => id))
  const attachments = attachmentsOf([...after].filter(({ id }) => !known.has(id)))
  return { messages: [], attachments, replaced: checked(before, after) }
}

function checked(before: Transcript, after: Transcript): readonly ModelMessage[] {
  // A copy for the record; `checkReplacement` validates it.
  const messages = jsonOf(after.messages()) as unknown as readonly ModelMessage[]
  checkReplacement(before, messages)
  return messages
}

/** Whether all previous entries are still present and unchanged. */
function isLonger(before: Transcript, after: Transcript): boolean {
  if (after.length < before.length) return false
  for (let index = 0; index < before.length; index++) if (!isSame(before.at(index), after.at(index))) return false
  return true
}

/** An entry that was stored and restored counts as the same entry. */
function isSame(a: TranscriptEntry | undefined, b: TranscriptEntry | undefined): boolean {
  return a === b || (a?.id === b?.id && JSON.stringify(a) === JSON.stringify(b))
}

function attachmentsOf(entries: readonly TranscriptEntry[]): readonly Attachment[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'attachment') return []
    const { attachment } = entry
    if (attachment.type === 'informational') return [attachment]
    throw new ConfigurationError(`A hook may attach notes of type informational, not ${attachment.type}.`)
  })
}
