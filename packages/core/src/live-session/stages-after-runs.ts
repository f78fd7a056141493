import { sharedAbort } from '../values/abort.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { SessionParts } from './parts.ts'
import type { SessionEvent } from './session.ts'

interface StageListener {
  tell(event: SessionEvent): void
  /** What stages spent may be another sum by now. */
  changed(): void
}

/** What comes after the runs of a session: beside the next run, if one comes. */
export class StagesAfterRuns {
  readonly #afterRun: SessionParts['afterRun']
  readonly #on: StageListener
  readonly #going = new Set<Promise<void>>()
  #controller = sharedAbort()

  constructor(afterRun: SessionParts['afterRun'], on: StageListener) {
    this.#afterRun = afterRun
    this.#on = on
  }

  get isGoing(): boolean {
    return this.#going.size > 0
  }

  /** A run has its result. */
  begin(engine: QueryEngine): void {
    const going = this.#run(engine)
    this.#going.add(going)
    void going.then(() => this.#going.delete(going))
  }

  /** Ends those that go on. Resolves when what they spent is on record. */
  async end(): Promise<void> {
    this.#controller.abort()
    this.#controller = sharedAbort()
    await this.settled()
  }

  async settled(): Promise<void> {
    await Promise.all(this.#going)
  }

  /** Never rejects. */
  async #run(engine: QueryEngine): Promise<void> {
    try {
      await this.#afterRun?.(engine, this.#controller.signal, (message) => {
        this.#on.changed()
        this.#on.tell({ type: 'message', message })
      })
    } catch (error) {
      this.#on.tell({ type: 'failed', error, givenBack: [], isAfterRun: true })
    } finally {
      this.#on.changed()
    }
  }
}
