import type { SessionEvent } from './session.ts'

/** The listeners of a session's events. */
export class EventListeners {
  readonly #listeners = new Set<(event: SessionEvent) => void>()
  #isChangePending = false

  /** Adds a listener and returns the function that removes it. A function that is added twice is called twice. */
  add(listener: (event: SessionEvent) => void): () => void {
    // A wrapper, because the same function may be added twice.
    const wrapper = (event: SessionEvent): void => listener(event)
    this.#listeners.add(wrapper)
    return () => void this.#listeners.delete(wrapper)
  }

  /** Calls every listener. Errors of listeners are ignored. */
  emit(event: SessionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch {
        // An error of a listener does not affect the session.
      }
    }
  }

  /** Emits `changed` once for all changes of the same turn of the event loop. */
  emitChange(): void {
    if (this.#isChangePending) return
    this.#isChangePending = true
    queueMicrotask(() => {
      this.#isChangePending = false
      this.emit({ type: 'changed' })
    })
  }

  /** Removes every listener. */
  clear(): void {
    this.#listeners.clear()
  }
}
