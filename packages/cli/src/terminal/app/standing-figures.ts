import type { SessionEvent } from '@halting/core/session'
import type { StandingFigures } from '../../frontends/status-reports.ts'

/** The ledger is read so often at most: others spend, too, and nobody reads along each second. */
const restMs = 5_000

/**
 * The standing budgets of a session, for the stop panel and `/limits`. Read when the session begins and after its requests; what cannot be read is not shown,
 * since the run itself says so.
 */
export class StandingView {
  readonly #read: () => Promise<readonly StandingFigures[]>
  readonly #now: () => number
  readonly #changed: () => void
  #all: readonly StandingFigures[] = []
  #readAt = -Infinity
  #isReading = false

  constructor(read: () => Promise<readonly StandingFigures[]>, now: () => number, changed: () => void) {
    this.#read = read
    this.#now = now
    this.#changed = changed
    this.#refresh()
  }

  get all(): readonly StandingFigures[] {
    return this.#all
  }

  onEvent(event: SessionEvent): void {
    if (event.type === 'run_end') this.#refresh()
    else if (event.type === 'loop' && event.event.type === 'figures' && this.#now() - this.#readAt >= restMs)
      this.#refresh()
  }

  #refresh(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#readAt = this.#now()
    void this.#read()
      .catch((): readonly StandingFigures[] => [])
      .then((all) => {
        this.#isReading = false
        this.#all = all
        this.#changed()
      })
  }
}
