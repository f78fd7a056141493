import type { SessionEvent } from './session.ts'

/** Who hears what a session tells. */
export class EventListeners {
  readonly #listeners = new Set<(event: SessionEvent) => void>()
  #isToldOfChange = false

  /** Adds a listener; returns the function that removes it. A function that is added twice is called twice. */
  add(listener: (event: SessionEvent) => void): () => void {
    // One function may listen twice, and each is its own.
    const own = (event: SessionEvent): void => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Calls every listener. What one throws is ignored. */
  tell(event: SessionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch {
        // The session goes on; what a listener does with an event is its own affair.
      }
    }
  }

  /** Told once for what changes at once. */
  tellOfChange(): void {
    if (this.#isToldOfChange) return
    this.#isToldOfChange = true
    queueMicrotask(() => {
      this.#isToldOfChange = false
      this.tell({ type: 'changed' })
    })
  }

  /** Removes every listener. */
  clear(): void {
    this.#listeners.clear()
  }
}
