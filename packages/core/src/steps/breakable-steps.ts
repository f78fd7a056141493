import { HaltingError } from '../values/errors.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import type { Iteration, RunEnd, RunStart } from '../state/state.ts'
import type {
  AbandonedStep,
  ExternalInputOptions,
  SideEffectScope,
  PolledExternalInput,
  StepKey,
  StepOptions,
  StepResult,
  StepEngine,
  WaitResult,
  WaitOptions,
} from './step-engine.ts'

type StepDescription = 'step' | 'wait'

/** A pending promise, in a list ordered by start. */
interface Pending {
  readonly what: StepDescription
  readonly reject: (error: HaltingError) => void
  before: Pending | undefined
  after: Pending | undefined
}

/** The pending promises of all scopes of one step engine. */
class PendingSteps {
  /** The most recent promise. This is a linked list, because a set would be allocated for each waiting run, in most cases for one promise. */
  #last: Pending | undefined
  error: HaltingError | undefined

  startStep<T>(what: StepDescription, start: () => Promise<T>): Promise<T>
  startStep<T>(what: StepDescription, start: () => MaybePromise<T>): MaybePromise<T>
  startStep<T>(what: StepDescription, start: () => MaybePromise<T>): MaybePromise<T> {
    if (this.error !== undefined) return Promise.reject(this.error)
    return this.trackStep(what, start())
  }

  trackStep<T>(what: StepDescription, value: Promise<T>): Promise<T>
  trackStep<T>(what: StepDescription, value: MaybePromise<T>): MaybePromise<T>
  trackStep<T>(what: StepDescription, value: MaybePromise<T>): MaybePromise<T> {
    if (!(value instanceof Promise)) return value
    return new Promise<T>((resolve, reject) => {
      const pending: Pending = { what, reject, before: this.#last, after: undefined }
      if (this.#last !== undefined) this.#last.after = pending
      this.#last = pending
      value.then(
        (result) => {
          this.#remove(pending)
          resolve(result)
        },
        (thrown: unknown) => {
          this.#remove(pending)
          // An error of the step engine is passed on unchanged.
          reject(thrown)
        },
      )
    })
  }

  break(): boolean {
    const last = this.#last
    if (last === undefined) return false
    let hasWait = false
    for (let each: Pending | undefined = last; each !== undefined; each = each.before) hasWait ||= each.what === 'wait'
    this.error ??= stalledError(hasWait)
    this.#remove(last)
    last.reject(this.error)
    return true
  }

  /** Removes a promise from the list. A promise that was broken settles later, and is already removed. */
  #remove(pending: Pending): void {
    const { before, after } = pending
    if (after !== undefined) after.before = before
    else if (this.#last === pending) this.#last = before
    if (before?.after === pending) before.after = after
    pending.before = undefined
    pending.after = undefined
  }
}

/**
 * A `StepEngine` that can be broken externally, whatever engine it wraps, for a run that waits for something that can
 * never happen. B1: it rejects one pending promise at a time, the most recent one, so an agent ends before the step of
 * its parent run. B2: once broken, it starts no further step; only the end of the run is still recorded.
 */
export class BreakableSteps implements StepEngine {
  readonly #steps: StepEngine
  readonly #pending: PendingSteps

  constructor(steps: StepEngine, pending: PendingSteps = new PendingSteps()) {
    this.#steps = steps
    this.#pending = pending
  }

  /** Rejects the most recent pending promise. False if nothing is pending. */
  break(): boolean {
    return this.#pending.break()
  }

  get replaying(): boolean {
    return this.#steps.replaying
  }

  peek(key: StepKey): 'done' | 'begun' | 'absent' {
    return this.#steps.peek(key)
  }

  abandon(prefix: StepKey): readonly AbandonedStep[] {
    return this.#steps.abandon(prefix)
  }

  begin(start: RunStart): number {
    return this.#steps.begin(start)
  }

  run<T>(
    key: StepKey,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: StepOptions<T>,
  ): MaybePromise<StepResult<T>> {
    return this.#pending.startStep('step', () => this.#steps.run(key, effect, options))
  }

  scope(name: string): StepEngine {
    return new BreakableSteps(this.#steps.scope(name), this.#pending)
  }

  concurrent(name: string, prefix: StepKey): StepEngine {
    return new BreakableSteps(this.#steps.concurrent(name, prefix), this.#pending)
  }

  lap(lap: Iteration): void {
    this.#steps.lap(lap)
  }

  control(key: StepKey, poll: () => PolledExternalInput, options?: ExternalInputOptions): PolledExternalInput {
    if (this.#pending.error !== undefined) return Promise.reject(this.#pending.error)
    // In most cases there is no input, and the answer is synchronous.
    const polled = this.#steps.control(key, poll, options)
    return polled instanceof Promise ? this.#pending.trackStep('step', polled) : polled
  }

  sleep(key: StepKey, ms: number, options: { readonly signal: AbortSignal }): Promise<void> {
    return this.#pending.startStep('step', () => this.#steps.sleep(key, ms, options))
  }

  wait<T>(key: StepKey, options: WaitOptions): Promise<WaitResult<T>> {
    return this.#pending.startStep('wait', () => this.#steps.wait<T>(key, options))
  }

  end(end: RunEnd): Promise<void> {
    return this.#pending.trackStep('step', this.#steps.end(end))
  }
}

/** The record of a run that waits for a person stays open, since another process can receive the answer. */
function stalledError(waitsForPerson: boolean): HaltingError {
  return new HaltingError(
    'stalled',
    waitsForPerson
      ? 'The process was about to exit while the run waited for a person. Keep the process running until the answer is given, or resume the run from its record.'
      : 'The process was about to exit, and nothing was left in it that could finish what the run waited for. A model, tool or hook returned a promise that nothing settles.',
    { details: { waitsForPerson } },
  )
}
