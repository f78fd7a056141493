import type { LimitRequest } from '@halting/core'
import type { SessionEvent } from '@halting/core/session'

/**
 * The question at a limit of the run that goes on, as a client tells it: once, also where the next worker asks it again, and closed once. Its id is that of
 * its step, which is the same for every worker.
 */
export class AskedLimit {
  readonly #tell: (event: SessionEvent) => void
  #open: LimitRequest | null = null
  /** Those that are closed here. A worker that takes the run up asks again, and is answered by the cluster. */
  readonly #closed = new Set<string>()

  constructor(tell: (event: SessionEvent) => void) {
    this.#tell = tell
  }

  /** The one that waits for an answer. `told`: what a worker shows. */
  shown(told: LimitRequest | null): LimitRequest | null {
    return this.#open ?? (told === null || this.#closed.has(told.id) ? null : told)
  }

  /** From an event, a snapshot, or the records. */
  ask(request: LimitRequest): void {
    if (this.#closed.has(request.id) || this.#open?.id === request.id) return
    this.close('withdrawn')
    this.#open = request
    this.#tell({ type: 'limit_question', request })
  }

  close(because: 'answered' | 'withdrawn'): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    this.#closed.add(open.id)
    this.#tell({ type: 'limit_question_closed', id: open.id, because })
  }

  /** The run is over: nobody waits for an answer any more, and another run may ask by the same name. */
  end(): void {
    this.close('withdrawn')
    this.#closed.clear()
  }
}
