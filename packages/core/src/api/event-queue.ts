import type { RunEvent } from '../state/events.ts'
import type { Eventually } from '../values/eventually.ts'

/** Turns of the microtask queue that a reader may take for one event: some read through several generators. */
const ticksPerEvent = 16

type Deliver<Event> = (result: IteratorResult<Event, undefined>) => void

const finished: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined })

/** Events between the loop, or what comes after it, and a reader. A slow reader slows nobody; without a reader nothing is kept. */
export class EventQueue<Event extends object = RunEvent> {
  #events: Event[] = []
  #head = 0
  #isListening = false
  #isClosed = false
  #waiting: Deliver<Event> | undefined
  /** Readers behind the first that waits. */
  #others: Deliver<Event>[] | undefined

  /** Whether events are kept. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** From now on events are kept for a reader. */
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
   * Lets a reader that keeps up read what waits for it: with a model that answers at once nobody else gives it a turn, and events would
   * pile up. A reader that takes nothing within some turns of the microtask queue is slow, and is not waited for.
   */
  catchUp(): Eventually<void> {
    return this.#size > 0 ? this.#readOn() : undefined
  }

  async #readOn(): Promise<void> {
    for (let size = this.#size, patience = ticksPerEvent; size > 0 && patience > 0; patience--) {
      await Promise.resolve()
      if (this.#size < size) patience = ticksPerEvent + 1
      size = this.#size
    }
  }

  get #size(): number {
    return this.#events.length - this.#head
  }

  /** Nothing is kept any more. */
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
