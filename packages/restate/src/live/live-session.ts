import type { Session, SessionEvent } from '@halting/core/session'
import type { RunEvent } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { encodeServerSentEvent, type LiveMessage } from './live-messages.ts'

/** Who reads the stream of a session. */
export interface LiveReader {
  send(text: string): void
  end(): void
}

/** So many records are told again to who comes back; others are in the object. */
const maxRecords = 200

/**
 * A session that this worker works at, for those who read along.
 * L1: who begins to read is told of the turn that goes on from its beginning: what of it was told before bears the same uuid. L2: records are told in their order.
 */
export class LiveSession {
  readonly #session: Pick<Session, 'snapshot'>
  readonly #readers = new Set<LiveReader>()
  #position = 0
  #records: { readonly number: number; readonly record: StepRecord }[] = []
  /** What was told since the last lap but one began: of what came before, the records tell. */
  #events: SessionEvent[] = []
  #eventsOfTurn = 0

  constructor(session: Pick<Session, 'snapshot'>) {
    this.#session = session
  }

  isOf(session: object): boolean {
    return this.#session === session
  }

  /** `since`: the number of records that the reader has. Gives the way to read no more. */
  read(reader: LiveReader, since: number): () => void {
    const send = (message: LiveMessage): void => reader.send(encodeServerSentEvent(message))
    send({ type: 'hello', records: this.#position })
    for (const { number, record } of this.#records) if (number > since) send({ type: 'record', number, record })
    for (const event of this.#events) send({ type: 'event', event })
    // What it shows came of what was told.
    send({ type: 'snapshot', snapshot: this.#session.snapshot })
    this.#readers.add(reader)
    return () => void this.#readers.delete(reader)
  }

  onKept(first: number, records: readonly StepRecord[]): void {
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
    // Closing is the worker's affair: the session is there for the next one.
    if (event.type === 'closed') return
    if (isReplayable(event)) this.#events.push(event)
    // Who hears of the end sees what stands then: whether there is something to go on with.
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

/** Whether who comes back is told of it again: it is no part of what goes by, such as a piece of a text. */
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
