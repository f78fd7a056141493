import { isJsonObject, isServiceLimit, longestQuietWaitMs, type ModelErrorJson } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { ServiceWaitReader } from '../account/service-waits.ts'
import { recordedStep } from '../account/recorded-steps.ts'

// Waits for services as `waitForLimitsMs` sees them: with less left than the service asks for, a run does not wait and ends.

/** A wait for a service of a run that is over. */
export interface PastWait {
  /** Milliseconds by the wall clock that the run had waited before. */
  readonly beforeMs: number
  /** The least that must be left of `waitForLimitsMs` for it. */
  readonly neededMs: number
  /** Active milliseconds of the run at which it was. */
  readonly atMs: number
  /** How many payments of its lap came before. */
  readonly atPayment: number
  /** Who asked the service: the run itself, a question of it, or a subagent. */
  readonly of: 'run' | 'question' | 'agent'
}

/** What a run that ended at a service would have needed to wait for it. */
export interface WaitAtEnd {
  /** The least that must be left of `waitForLimitsMs` for that. */
  readonly neededMs: number
  /** Milliseconds by the wall clock that the run had waited before. */
  readonly waitedMs: number
}

/** Reads the waits of a run from records that come one after another. */
export class PastWaitReader {
  readonly #reader = new ServiceWaitReader()
  /** Why the last attempt of the run itself failed; undefined where it did not. */
  #ownFailed: ModelErrorJson | undefined
  #waitedMs = 0
  #waitedUntil = 0
  /** Of the lap that is read. */
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
    // Waits at the same time count once.
    this.#waitedMs += Math.min(waitedMs, Math.max(0, untilMs - this.#waitedUntil))
    this.#waitedUntil = Math.max(this.#waitedUntil, untilMs)
    const atMs = record.type === 'result' ? Math.max(0, record.at + record.durationMs - this.#beganAt) : 0
    const of = scope !== '' ? 'agent' : name.startsWith('retry:') ? 'run' : 'question'
    this.#waits.push({ beforeMs, neededMs: neededMs(wait.saidMs), atMs, atPayment: this.#payments, of })
  }

  /** The waits since the last time, which are those of a lap. */
  takeLap(): { readonly waits?: readonly PastWait[] } {
    const waits = this.#waits
    this.#waits = []
    this.#payments = 0
    return waits.length > 0 ? { waits } : {}
  }

  /** What a run that ends now as `model_error` would have had to wait; undefined where waiting does not help. */
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
    // A driver recorded a `ModelErrorJson` there; of a file nothing of it is sure, and only its fields are asked.
    this.#ownFailed = kind === 'failed' && isJsonObject(error) ? (error as unknown as ModelErrorJson) : undefined
  }
}

/** No wait is shorter than those that are not told of, whatever the service says. */
function neededMs(saidMs: number): number {
  return Math.max(longestQuietWaitMs, saidMs)
}
