import { fieldsOf, isFunction, refuse } from '../values/given.ts'
import type { Clock } from '../values/clock.ts'
import { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from './driver.ts'
import { lastMomentOf } from './fold.ts'
import type { StepStore, StepRecord } from './log.ts'

/** What a memory driver begins with; without options it is empty and keeps everything. */
export interface MemoryStepsOptions {
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock
  /** Records of the open turn to answer from, and of what came before it, for the clock. */
  readonly replay?: readonly StepRecord[]
  /** Of `past` those of agents that still work in the background, to answer from too. */
  readonly agents?: readonly StepRecord[]
  /** Refuses to run anything that is not on record: replay and what-if. */
  readonly recordedOnly?: boolean
  /** `nothing`: for runs that nobody will resume or replay. */
  readonly keep?: 'all' | 'nothing'
  /** Records from before the open turn: kept, so that what this driver holds is the whole story. */
  readonly past?: readonly StepRecord[]
  /** Idempotency keys begin with it. Default: `session`. */
  readonly sessionId?: string
  /** Called with every record, before whatever it stands for goes on. Throwing breaks the driver. */
  readonly onRecord?: (record: StepRecord) => void
}

/** A driver whose records can be read: JSON, so that they can be written to a file and given to `resume` or `replay`. */
export interface MemorySteps extends AnswerableStepEngine {
  /** All records so far, in order. */
  readonly records: readonly StepRecord[]
}

/** The driver that keeps its record in memory. @throws ConfigurationError for options that are none. */
export function createMemorySteps(options: MemoryStepsOptions = {}): MemorySteps {
  if (fieldsOf(options) === undefined) refuse('createMemorySteps', 'given an object, such as { onRecord }', options)
  if (options.onRecord !== undefined) isFunction('onRecord', options.onRecord)
  const { past, replay = [], keep = 'all', onRecord, ...given } = options
  const records: StepRecord[] = [...(past ?? []), ...replay]
  const log = new MemoryLog(records, keep, onRecord)
  return new MemoryDriver({ ...given, log, replay, recordedUntil: lastMomentOf(records) }, records)
}

class MemoryDriver extends DurableStepEngine implements MemorySteps {
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
