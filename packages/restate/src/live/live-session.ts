import type { Session, SessionEvent } from '@halting/core/session'
import type { RunEvent } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { encodeServerSentEvent, type LiveMessage } from './live-messages.ts'

/** A reader of the stream of a session. */
export interface LiveReader {
  send(text: string): void
  end(): void
}

/** Maximum number of records that a reconnecting reader receives again; earlier ones are in the object. */
const maxRecords = 200

/**
 * A session of this worker, for those who read along.
 * L1: a new reader gets the current turn from its beginning; repeated messages have the same uuid.
 * L2: records are sent in order.
 */
export class LiveSession {
  readonly #session: Pick<Session, 'snapshot'>
  readonly #readers = new Set<LiveReader>()
  #position = 0
  #records: { readonly number: number; readonly record: StepRecord }[] = []
  /** Events since the beginning of the previous turn; earlier ones are in the records. */
  #events: SessionEvent[] = []
  #eventsOfTurn = 0

  constructor(session: Pick<Session, 'snapshot'>) {
    this.#session = session
  }

  isOf(session: object): boolean {
    return this.#session === session
  }

  /** Adds a reader that has the first `since` records. Returns a function that removes it. */
  read(reader: LiveReader, since: number): () => void {
    const send = (message: LiveMessage): void => reader.send(encodeServerSentEvent(message))
    send({ type: 'hello', records: this.#position })
    for (const { number, record } of this.#records) if (number > since) send({ type: 'record', number, record })
    for (const event of this.#events) send({ type: 'event', event })
    // The snapshot follows from the events before it.
    send({ type: 'snapshot', snapshot: this.#session.snapshot })
    this.#readers.add(reader)
    return () => void this.#readers.delete(reader)
  }

  onStored(first: number, records: readonly StepRecord[]): void {
    for (const [index, record] of records.entries()) {
      const number = first + index + 1
      this.#position = number
      this.#records.push({ number, record })
      this.#send({ type: 'record', number, record })
      if (record.type === 'lap' && record.lap.scope === '') this.#nextTurn()
    }
    this.#records = this.#records.slice(-maxRecords)
  }

  #nextTurn(): void {
    this.#events = this.#events.slice(this.#eventsOfTurn)
    this.#eventsOfTurn = this.#events.length
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'changed') return this.#send({ type: 'snapshot', snapshot: this.#session.snapshot })
    // The worker closes its session; the session itself continues with the next worker.
    if (event.type === 'closed') return
    if (isReplayable(event)) this.#events.push(event)
    // A reader that receives the ending needs the current snapshot, which shows whether the run can be resumed.
    if (event.type === 'run_end') this.#send({ type: 'snapshot', snapshot: this.#session.snapshot })
    this.#send({ type: 'event', event })
  }

  end(): void {
    this.#send({ type: 'over' })
    for (const reader of this.#readers) reader.end()
    this.#readers.clear()
  }

  #send(message: LiveMessage): void {
    if (this.#readers.size === 0) return
    const text = encodeServerSentEvent(message)
    for (const reader of this.#readers) reader.send(text)
  }
}

/** Whether reconnecting clients receive this event again; transient events such as text deltas are not repeated. */
function isReplayable(event: SessionEvent): boolean {
  switch (event.type) {
    case 'message':
      return event.message.type !== 'stream_event' && event.message.type !== 'tool_progress'
    case 'run_start':
    case 'run_end':
    case 'taken':
      return true
    case 'loop':
      return isReplayableRunEvent(event.event)
    default:
      return false
  }
}

function isReplayableRunEvent(event: RunEvent): boolean {
  switch (event.type) {
    case 'model_start':
    case 'model_update':
    case 'figures':
    case 'budget_wait':
    case 'question_start':
    case 'question_end':
    case 'tool_running':
    case 'tool_update':
      return false
    case 'agent':
      return isReplayableRunEvent(event.event)
    default:
      return true
  }
}
