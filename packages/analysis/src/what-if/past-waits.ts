import { isJsonObject, isServiceLimit, longestQuietWaitMs, type ModelErrorJson } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { ServiceWaitReader } from '../account/service-waits.ts'
import { recordedStep } from '../account/recorded-steps.ts'

// Waits for services with respect to `waitForLimitsMs`: a run ends instead of waiting when less of it is left than the service asks for.

/** A wait for a service in a finished run. */
export interface PastWait {
  /** Milliseconds by the wall clock that the run had waited before. */
  readonly beforeMs: number
  /** The part of `waitForLimitsMs` that must be left for this wait. */
  readonly neededMs: number
  /** Active milliseconds of the run at the wait. */
  readonly atMs: number
  /** Number of payments before it in its iteration. */
  readonly atPayment: number
  /** Who made the request: the run itself, a step of it that asks a model, or a subagent. */
  readonly of: 'run' | 'question' | 'agent'
}

/** What a run that ended because of a service would have needed to wait for it. */
export interface WaitAtEnd {
  /** The part of `waitForLimitsMs` that would have to be left. */
  readonly neededMs: number
  /** Milliseconds by the wall clock that the run had waited before. */
  readonly waitedMs: number
}

/** Reads the waits of a run from consecutive records. */
export class PastWaitReader {
  readonly #reader = new ServiceWaitReader()
  /** The failure of the run's own last attempt; undefined if it did not fail. */
  #ownFailed: ModelErrorJson | undefined
  #waitedMs = 0
  #waitedUntil = 0
  /** Waits and payments of the current iteration. */
  #waits: PastWait[] = []
  #payments = 0
  readonly #beganAt: number

  /** `beganAt`: when the run began. */
  constructor(beganAt: number) {
    this.#beganAt = beganAt
  }

  read(record: StepRecord): void {
    const wait = this.#reader.read(record)
    if (wait === undefined) return this.#note(record)
    const { waitedMs, endedMs, scope, name } = wait
    const beforeMs = this.#waitedMs
    const untilMs = endedMs ?? this.#waitedUntil + waitedMs
    // Overlapping waits count once.
    this.#waitedMs += Math.min(waitedMs, Math.max(0, untilMs - this.#waitedUntil))
    this.#waitedUntil = Math.max(this.#waitedUntil, untilMs)
    const atMs = record.type === 'result' ? Math.max(0, record.at + record.durationMs - this.#beganAt) : 0
    const of = scope !== '' ? 'agent' : name.startsWith('retry:') ? 'run' : 'question'
    this.#waits.push({ beforeMs, neededMs: neededMs(wait.saidMs), atMs, atPayment: this.#payments, of })
  }

  /** Returns the waits of the current iteration, and begins the next one. */
  takeIteration(): { readonly waits?: readonly PastWait[] } {
    const waits = this.#waits
    this.#waits = []
    this.#payments = 0
    return waits.length > 0 ? { waits } : {}
  }

  /** What the run would need to wait for the service if it ended now with `model_error`; undefined when waiting would not help. */
  get atEnd(): WaitAtEnd | undefined {
    const error = this.#ownFailed
    if (error === undefined || !isServiceLimit(error)) return undefined
    const { retryAfterMs } = error
    return { neededMs: neededMs(typeof retryAfterMs === 'number' ? retryAfterMs : 0), waitedMs: this.#waitedMs }
  }

  #note(record: StepRecord): void {
    if (record.type !== 'result' || !isJsonObject(record.value)) return
    const { kind, error, charge } = record.value
    if (isJsonObject(charge)) this.#payments++
    const { scope, phase } = recordedStep(record.key, 0, 0, true)
    if (scope !== '' || phase !== 'model') return
    // The step engine records a `ModelErrorJson`. A file may contain anything, so only single fields are read, and checked.
    this.#ownFailed = kind === 'failed' && isJsonObject(error) ? (error as unknown as ModelErrorJson) : undefined
  }
}

/** A wait that is reported has a minimum length, whatever the service asks for. */
function neededMs(saidMs: number): number {
  return Math.max(longestQuietWaitMs, saidMs)
}
