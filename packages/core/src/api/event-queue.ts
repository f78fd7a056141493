import type { RunEvent } from '../state/events.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'

/** Microtasks that a reader may need for one event: some readers use several generators. */
const ticksPerEvent = 16

type Deliver<Event> = (result: IteratorResult<Event, undefined>) => void

const finished: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined })

/**
 * Events between a producer, which is the loop or a later stage, and a reader. A slow reader does not delay the
 * producer. Without a reader no events are stored.
 */
export class EventQueue<Event extends object = RunEvent> {
  #events: Event[] = []
  #head = 0
  #isListening = false
  #isClosed = false
  #waiting: Deliver<Event> | undefined
  /** Readers that wait in addition to the first one. */
  #others: Deliver<Event>[] | undefined

  /** Whether events are stored. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** Starts storing events for a reader. */
  listen(): void {
    this.#isListening = true
  }

  put(value: Event): void {
    if (!this.#isListening) return
    const deliver = this.#waiting
    if (deliver === undefined) this.#events.push(value)
    else {
      this.#waiting = this.#others?.shift()
      deliver({ done: false, value })
    }
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const value = this.#events[this.#head]
    if (value !== undefined) {
      this.#head++
      if (this.#head === this.#events.length) this.#clear()
      return Promise.resolve({ done: false, value })
    }
    if (this.#isClosed) return Promise.resolve(finished)
    return new Promise((resolve) => {
      if (this.#waiting === undefined) this.#waiting = resolve
      else (this.#others ??= []).push(resolve)
    })
  }

  /**
   * Lets a fast reader process the queued events. When a model answers immediately, the loop would not yield otherwise,
   * and events would accumulate. A reader that reads no event within a few microtasks is considered slow, and the loop
   * does not wait for it.
   */
  catchUp(): MaybePromise<void> {
    return this.#size > 0 ? this.#letReaderRun() : undefined
  }

  async #letReaderRun(): Promise<void> {
    for (let size = this.#size, patience = ticksPerEvent; size > 0 && patience > 0; patience--) {
      await Promise.resolve()
      if (this.#size < size) patience = ticksPerEvent + 1
      size = this.#size
    }
  }

  get #size(): number {
    return this.#events.length - this.#head
  }

  /** Discards all events and stops storing new ones. */
  drop(): void {
    this.#isListening = false
    this.#clear()
  }

  close(): void {
    this.#isClosed = true
    this.#waiting?.(finished)
    for (const deliver of this.#others ?? []) deliver(finished)
    this.#waiting = undefined
    this.#others = undefined
  }

  #clear(): void {
    this.#events = []
    this.#head = 0
  }
}
