import type { SessionEvent } from './session.ts'

/** Who hears what a session tells. */
export class EventListeners {
  readonly #listeners = new Set<(event: SessionEvent) => void>()
  #isToldOfChange = false

  add(listener: (event: SessionEvent) => void): () => void {
    // One function may listen twice, and each is its own.
    const own = (event: SessionEvent): void => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

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

  clear(): void {
    this.#listeners.clear()
  }
}
