import type { Emit } from '../events.ts'
import type { MessageContent } from '../messages.ts'
import type { RunState } from '../state.ts'
import { entryId, withEntry } from '../state.ts'
import type { Attachment, TranscriptEntry, UserOrigin } from '../transcript.ts'

// Putting something into the transcript and telling of it are one act.

export function say(state: RunState, entry: TranscriptEntry, emit: Emit): RunState {
  emit({ type: 'message', entry })
  return withEntry(state, entry)
}

export function sayUser(state: RunState, content: MessageContent, origin: UserOrigin, emit: Emit): RunState {
  return say(state, { kind: 'user', id: entryId(state, origin), message: { role: 'user', content }, origin }, emit)
}

export function attach(state: RunState, attachment: Attachment, emit: Emit): RunState {
  return say(state, { kind: 'attachment', id: entryId(state, attachment.type), attachment }, emit)
}

/** A turn, or a further attempt at one, begins. */
export function tellTurn({ spent }: RunState, emit: Emit): void {
  emit({ type: 'turn_start', request: spent.request, turn: spent.turns + (spent.turnBegins ? 1 : 0) })
}
