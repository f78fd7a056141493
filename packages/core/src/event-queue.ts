import type { LoopEvent } from './events.ts'

const finished: IteratorResult<LoopEvent> = Object.freeze({ done: true, value: undefined })

/** Events between the loop and its reader. A slow reader never slows the loop; without a reader nothing is kept. */
export class EventQueue {
  #events: LoopEvent[] = []
  #head = 0
  #isListening = false
  #isClosed = false
  #waiting: ((result: IteratorResult<LoopEvent>) => void)[] | undefined

  /** Whether events are kept. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** From now on events are kept for a reader. */
  listen(): void {
    this.#isListening = true
  }

  put(value: LoopEvent): void {
    if (!this.#isListening) return
    const deliver = this.#waiting?.shift()
    if (deliver === undefined) this.#events.push(value)
    else deliver({ done: false, value })
  }

  next(): Promise<IteratorResult<LoopEvent>> {
    const value = this.#events[this.#head]
    if (value !== undefined) {
      this.#head++
      if (this.#head === this.#events.length) this.#clear()
      return Promise.resolve({ done: false, value })
    }
    if (this.#isClosed) return Promise.resolve(finished)
    return new Promise((resolve) => {
      ;(this.#waiting ??= []).push(resolve)
    })
  }

  /** Nothing is kept any more. */
  drop(): void {
    this.#isListening = false
    this.#clear()
  }

  close(): void {
    this.#isClosed = true
    for (const deliver of this.#waiting ?? []) deliver(finished)
    this.#waiting = undefined
  }

  #clear(): void {
    this.#events = []
    this.#head = 0
  }
}
