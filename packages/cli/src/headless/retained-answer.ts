import type { RunEvent } from '@halting/core'
import { isAnswerValid } from '@halting/core/steps'

type Entry = Extract<RunEvent, { readonly type: 'message' }>['entry']

// Spec R-VERI-4.
/** Tracks whether the answer before a request to verify the last change remains the answer of the run. */
export class RetainedAnswer {
  /** Entries since the request to verify; empty if there was none, or the answer is superseded. */
  #entries: Entry[] = []

  get isRetained(): boolean {
    return this.#entries.length > 0
  }

  /** Returns how the event changes the retained answer. */
  onEvent(event: RunEvent): 'begins' | 'ends' | undefined {
    if (event.type !== 'message') return undefined
    const { entry } = event
    if (!this.isRetained) {
      if (entry.kind !== 'user' || entry.keepsAnswer !== true) return undefined
      this.#entries = [entry]
      return 'begins'
    }
    this.#entries.push(entry)
    if (isAnswerValid(this.#entries)) return undefined
    this.#entries = []
    return 'ends'
  }
}
