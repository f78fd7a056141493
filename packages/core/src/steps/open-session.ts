import { HaltingError, messageOf } from '../values/errors.ts'
import type { EndingReason } from '../endings/ending.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { Clock } from '../values/clock.ts'
import { DurableStepEngine } from './durable-step-engine.ts'
import { foldSession, splitRuns, type FoldedSession } from './fold-session.ts'
import type { StepRecord, StepStore } from './step-record.ts'
import { headOf, lastReasonOf } from './session-records.ts'
import type { OpenSession, SessionHead } from './session-store.ts'

/** Records that a store writes together or not at all. */
export interface RecordBatch {
  /** The number of the first record of the batch, which is the number of records in the session so far. */
  readonly first: number
  /** Each as JSON. Empty if only earlier records have to become durable. */
  readonly records: readonly string[]
  /** How the newest run ended according to these records; null while it is open; absent if unchanged. */
  readonly lastReason?: EndingReason | null
  /** True: these and all earlier records are durable once `write` has resolved. False: they may be lost if the machine fails. */
  readonly isDurable: boolean
}

/** Options of `createOpenSession`. */
export interface OpenSessionOptions {
  /** Id of the session. */
  readonly sessionId: string
  /** The head that was stored when the session was created. */
  readonly head: SessionHead
  /** Number of the lock of this process. */
  readonly fence: number
  /** All stored records, in order. */
  readonly records: readonly StepRecord[]
  /**
   * Writes a batch in one transaction. Must reject with `sessionTakenOver` if the session's lock no longer has this
   * fence. Batches are written one after another; after a rejection it is not called again.
   */
  readonly write: (batch: RecordBatch) => Promise<void>
  /** Releases the lock, if it still has this fence. */
  readonly release: () => Promise<void>
}

/**
 * Creates the session that a store returns from `open`. The session batches the loop's records, and folds the stored
 * ones. The store only has to read records, write a batch, and manage its locks.
 * @throws HaltingError `driver` for records that do not form a session.
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
    return foldSession(splitRuns(records))
  } catch (error) {
    throw new HaltingError(
      'driver',
      `The records of the session ${sessionId} do not form a session: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

interface Flush {
  readonly promise: Promise<void>
  resolve(): void
  reject(error: HaltingError): void
}

/**
 * Passes records to a store in batches. Records of one turn of the event loop form one batch, and records that arrive
 * during a write form the next batch. After a failed batch nothing is written any more.
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
  /** False at first, since records of an earlier process may not be durable yet. */
  #isDurable = false
  #failure: HaltingError | undefined

  constructor(store: OpenSessionOptions) {
    this.#store = store
    this.#sessionId = store.sessionId
    this.#stored = store.records.length
  }

  append(record: StepRecord): void {
    this.#refuseIfOver()
    // Stores a copy, because objects in a record may change later.
    this.#waiting.push(JSON.stringify(record))
    const reason = lastReasonOf(record)
    if (reason !== undefined) this.#lastReason = reason
    this.#schedule()
  }

  flush(): MaybePromise<void> {
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
    // Deferred, so that a flush in the same turn of the event loop produces one batch.
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
      // Batches are written one after another, so that records stay in order.
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
  // The executor of a promise is called synchronously.
  return { promise, ...(settle as unknown as Omit<Flush, 'promise'>) }
}

function failureOf(sessionId: string, error: unknown): HaltingError {
  if (error instanceof HaltingError) return error
  return new HaltingError(
    'driver',
    `The session ${sessionId} cannot be written: ${messageOf(error)}. Its stored records are intact.`,
    { cause: error },
  )
}
