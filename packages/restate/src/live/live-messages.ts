import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'

/** What a worker sends about a session, one message for each event of the stream. A record has its number; the other messages are transient. */
export type LiveMessage =
  /** First message: how many records the session has in this worker. */
  | { readonly type: 'hello'; readonly records: number }
  | { readonly type: 'record'; readonly number: number; readonly record: StepRecord }
  | { readonly type: 'event'; readonly event: SessionEvent }
  | { readonly type: 'snapshot'; readonly snapshot: SessionSnapshot }
  /** Last message: this worker has released the session. */
  | { readonly type: 'over' }

/** Encodes a message as lines of server-sent events. */
export function encodeServerSentEvent(message: LiveMessage): string {
  const id = message.type === 'record' ? `id: ${message.number}\n` : ''
  return `event: ${message.type}\n${id}data: ${JSON.stringify(message)}\n\n`
}
