import { fieldsOf, isFunction, throwInvalidOption } from '../values/validators.ts'
import type { Clock } from '../values/clock.ts'
import { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from './durable-step-engine.ts'
import { lastTimeOf } from './fold.ts'
import type { StepStore, StepRecord } from './step-record.ts'

/** Options of a memory engine. By default the engine is empty and stores everything. */
export interface MemoryStepsOptions {
  /** The time source. Default: the system's clock. */
  readonly clock?: Clock
  /** Records of the open turn, from which steps are answered. The last time in these and in `past` sets the clock. */
  readonly replay?: readonly StepRecord[]
  /** Records in `past` that belong to running background agents. Steps are answered from these records, too. */
  readonly agents?: readonly StepRecord[]
  /** Rejects steps that are not recorded. Used for replay and what-if. */
  readonly recordedOnly?: boolean
  /** `nothing`: for runs that will not be resumed or replayed. */
  readonly keep?: 'all' | 'nothing'
  /** Records from before the open turn, so that `records` is complete. */
  readonly past?: readonly StepRecord[]
  /** Prefix of idempotency keys. Default: `session`. */
  readonly sessionId?: string
  /** Called with every record before the run continues. Throwing breaks the engine. */
  readonly onRecord?: (record: StepRecord) => void
}

/** A step engine whose records can be read. They are JSON, so they can be written to a file and passed to `resume` or `replay`. */
export interface MemorySteps extends AnswerableStepEngine {
  /** All records so far, in order. */
  readonly records: readonly StepRecord[]
}

/** A step engine that stores its records in memory. @throws ConfigurationError for invalid options. */
export function createMemorySteps(options: MemoryStepsOptions = {}): MemorySteps {
  if (fieldsOf(options) === undefined)
    throwInvalidOption('createMemorySteps', 'given an object, such as { onRecord }', options)
  if (options.onRecord !== undefined) isFunction('onRecord', options.onRecord)
  const { past, replay = [], keep = 'all', onRecord, ...engineOptions } = options
  const records: StepRecord[] = [...(past ?? []), ...replay]
  const log = new MemoryLog(records, keep, onRecord)
  return new MemoryStepEngine({ ...engineOptions, log, replay, recordedUntil: lastTimeOf(records) }, records)
}

class MemoryStepEngine extends DurableStepEngine implements MemorySteps {
  readonly records: readonly StepRecord[]

  constructor(options: StepEngineOptions, records: readonly StepRecord[]) {
    super(options)
    this.records = records
  }
}

class MemoryLog implements StepStore {
  readonly keeps: 'all' | 'nothing'
  readonly #records: StepRecord[]
  readonly #onRecord: ((record: StepRecord) => void) | undefined

  constructor(records: StepRecord[], keeps: 'all' | 'nothing', onRecord: ((record: StepRecord) => void) | undefined) {
    this.#records = records
    this.keeps = keeps
    this.#onRecord = onRecord
  }

  append(record: StepRecord): void {
    this.#onRecord?.(record)
    if (this.keeps === 'all') this.#records.push(record)
  }

  flush(): undefined {
    return undefined
  }
}
