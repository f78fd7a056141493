import { HaltingError, messageOf } from '../values/errors.ts'
import type { EndingReason } from '../endings/ending.ts'
import type { Eventually } from '../values/eventually.ts'
import type { Clock } from '../values/clock.ts'
import { DurableStepEngine } from './driver.ts'
import { foldSession, runsOf, type FoldedSession } from './fold-session.ts'
import type { StepRecord, StepStore } from './log.ts'
import { headOf, lastReasonOf } from './session-records.ts'
import type { OpenSession, SessionHead } from './session-store.ts'

/** Records that a store is to write, together or not at all. */
export interface RecordBatch {
  /** The number of the first of them: how many records the session has already. */
  readonly first: number
  /** Each as JSON. Empty where all that is asked is that what was written before becomes durable. */
  readonly records: readonly string[]
  /** How the newest run has ended after them, null while it is open; absent where it is as before. */
  readonly lastReason?: EndingReason | null
  /** True: they and all before them are durable once `write` has resolved. False: they may be lost if the machine fails. */
  readonly isDurable: boolean
}

/** What `createOpenSession` makes a session of. */
export interface OpenSessionOptions {
  /** Id of the session. */
  readonly sessionId: string
  /** What the session began with. */
  readonly head: SessionHead
  /** Number of the lock of this process. */
  readonly fence: number
  /** The records that are stored, from the first on. */
  readonly records: readonly StepRecord[]
  /**
   * Writes a batch in one transaction, and refuses it with `sessionTakenOver` where the lock of the session is not the one with this fence any more. Called for one
   * batch after the other; not called again after it has rejected.
   */
  readonly write: (batch: RecordBatch) => Promise<void>
  /** Gives the lock back, where it is still the one with this fence. */
  readonly release: () => Promise<void>
}

/**
 * The session that a store gives from `open`: batches what the loop appends, and folds what is stored.
 * A store is left with reading records, writing a batch, and its locks.
 * @throws HaltingError `driver` for records that do not make a session.
 */
export function createOpenSession(options: OpenSessionOptions): OpenSession {
  const { sessionId, head, fence, records } = options
  const folded = foldedOf(sessionId, records)
  const log = new BatchingLog(options)
  let closing: Promise<void> | undefined
  return {
    ...folded,
    sessionId,
    head: headOf(head),
    fence,
    log,
    steps: ({ clock }: { readonly clock?: Clock } = {}) =>
      new DurableStepEngine({ log, sessionId, ...(clock !== undefined && { clock }) }),
    close: () => (closing ??= closed(log, options)),
  }
}

async function closed(log: BatchingLog, { release }: OpenSessionOptions): Promise<void> {
  try {
    await log.close()
  } finally {
    await release()
  }
}

function foldedOf(sessionId: string, records: readonly StepRecord[]): FoldedSession {
  try {
    return foldSession(runsOf(records))
  } catch (error) {
    throw new HaltingError('driver', `The records of the session ${sessionId} make no session: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

interface Flush {
  readonly promise: Promise<void>
  resolve(): void
  reject(error: HaltingError): void
}

/**
 * Hands records to a store in batches: those of one turn of the event loop together, and those that come while a batch is written as the next one.
 * After a batch that failed nothing is written any more.
 */
class BatchingLog implements StepStore {
  readonly keeps = 'all'
  readonly #sessionId: string
  readonly #store: OpenSessionOptions
  #stored: number
  #waiting: string[] = []
  #lastReason: EndingReason | null | undefined
  #flush: Flush | undefined
  #isWorking = false
  #isScheduled = false
  #isClosed = false
  /** What an earlier process wrote may not be durable yet. */
  #isDurable = false
  #failure: HaltingError | undefined

  constructor(store: OpenSessionOptions) {
    this.#store = store
    this.#sessionId = store.sessionId
    this.#stored = store.records.length
  }

  append(record: StepRecord): void {
    this.#refuseIfOver()
    // What a record names may change later.
    this.#waiting.push(JSON.stringify(record))
    const reason = lastReasonOf(record)
    if (reason !== undefined) this.#lastReason = reason
    this.#schedule()
  }

  flush(): Eventually<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isDurable && !this.#isWorking && this.#waiting.length === 0) return undefined
    this.#flush ??= newFlush()
    this.#schedule()
    return this.#flush.promise
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    const flushed = this.flush()
    this.#isClosed = true
    await flushed
  }

  #refuseIfOver(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#isClosed)
      throw new HaltingError('driver', `The session ${this.#sessionId} is closed. Open it again to continue with it.`)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isWorking) return
    this.#isScheduled = true
    // Not at once: a flush that follows in the same moment makes one batch of it.
    void Promise.resolve().then(() => {
      this.#isScheduled = false
      return this.#work()
    })
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    while (this.#failure === undefined && (this.#waiting.length > 0 || this.#flush !== undefined)) {
      const flush = this.#flush
      this.#flush = undefined
      // One after the other, so that records are in their order.
      await this.#write(flush !== undefined)
      if (this.#failure === undefined) flush?.resolve()
      else flush?.reject(this.#failure)
    }
    this.#isWorking = false
    if (this.#failure !== undefined) this.#flush?.reject(this.#failure)
  }

  async #write(isDurable: boolean): Promise<void> {
    const records = this.#waiting
    const lastReason = this.#lastReason
    this.#waiting = []
    this.#lastReason = undefined
    try {
      const first = this.#stored
      await this.#store.write({ first, records, isDurable, ...(lastReason !== undefined && { lastReason }) })
      this.#stored += records.length
      this.#isDurable = isDurable
    } catch (error) {
      this.#failure = failureOf(this.#sessionId, error)
    }
  }
}

function newFlush(): Flush {
  let settle: Omit<Flush, 'promise'> | undefined
  const promise = new Promise<void>((resolve, reject) => (settle = { resolve, reject }))
  // The executor of a promise is called at once.
  return { promise, ...(settle as unknown as Omit<Flush, 'promise'>) }
}

function failureOf(sessionId: string, error: unknown): HaltingError {
  if (error instanceof HaltingError) return error
  return new HaltingError(
    'driver',
    `The session ${sessionId} cannot be written: ${messageOf(error)}. What it holds up to here is intact.`,
    { cause: error },
  )
}
