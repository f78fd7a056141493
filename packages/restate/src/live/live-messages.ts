import type { SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { StepRecord } from '@halting/core/steps'

/** What a worker tells of a session, one event of the stream each. Records are numbered, by how many there are with it; the others are live. */
export type LiveMessage =
  /** First: so many records the session has in this worker. */
  | { readonly type: 'hello'; readonly records: number }
  | { readonly type: 'record'; readonly number: number; readonly record: StepRecord }
  | { readonly type: 'event'; readonly event: SessionEvent }
  | { readonly type: 'snapshot'; readonly snapshot: SessionSnapshot }
  /** Last: this worker has let go of the session. */
  | { readonly type: 'over' }

/** As lines of server-sent events. */
export function encodeServerSentEvent(message: LiveMessage): string {
  const id = message.type === 'record' ? `id: ${message.number}\n` : ''
  return `event: ${message.type}\n${id}data: ${JSON.stringify(message)}\n\n`
}
