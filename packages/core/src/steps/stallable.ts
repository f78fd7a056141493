import { HaltingError } from '../errors.ts'
import type { Eventually } from '../eventually.ts'
import type { Iteration, RunEnd, RunStart } from '../state.ts'
import type {
  AbandonedStep,
  ExternalInputOptions,
  EffectScope,
  PolledExternalInput,
  StepKey,
  StepOptions,
  StepResult,
  StepEngine,
  Waited,
  WaitOptions,
} from './steps.ts'

type What = 'step' | 'wait'

interface Pending {
  readonly what: What
  readonly reject: (error: HaltingError) => void
}

/** What all scopes of one driver share. */
class Stall {
  /** In the order in which they began. */
  readonly #pending = new Set<Pending>()
  error: HaltingError | undefined

  guarded<T>(what: What, start: () => Promise<T>): Promise<T>
  guarded<T>(what: What, start: () => Eventually<T>): Eventually<T>
  guarded<T>(what: What, start: () => Eventually<T>): Eventually<T> {
    if (this.error !== undefined) return Promise.reject(this.error)
    return this.watched(what, start())
  }

  watched<T>(what: What, value: Promise<T>): Promise<T>
  watched<T>(what: What, value: Eventually<T>): Eventually<T>
  watched<T>(what: What, value: Eventually<T>): Eventually<T> {
    if (!(value instanceof Promise)) return value
    return new Promise<T>((resolve, reject) => {
      const pending: Pending = { what, reject }
      this.#pending.add(pending)
      value.then(
        (came) => {
          this.#pending.delete(pending)
          resolve(came)
        },
        (thrown: unknown) => {
          this.#pending.delete(pending)
          // What the driver rejected with is handed through as it is.
          reject(thrown)
        },
      )
    })
  }

  break(): boolean {
    const all = [...this.#pending]
    const last = all.at(-1)
    if (last === undefined) return false
    this.error ??= stalledError(all.some(({ what }) => what === 'wait'))
    this.#pending.delete(last)
    last.reject(this.error)
    return true
  }
}

/**
 * A `StepEngine` that can be broken from outside, whatever engine is behind it: for a run that waits for what can never come.
 * B1: one pending promise is rejected at a time, the one that began last: an agent ends before the step of the run that it is part of.
 * B2: once broken nothing is begun any more; only the end is still put on record.
 */
export class StallableSteps implements StepEngine {
  readonly #steps: StepEngine
  readonly #stall: Stall

  constructor(steps: StepEngine, stall: Stall = new Stall()) {
    this.#steps = steps
    this.#stall = stall
  }

  /** Rejects what was begun last and is pending. False where nothing is. */
  break(): boolean {
    return this.#stall.break()
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
    effect: (scope: EffectScope) => Eventually<T>,
    options: StepOptions<T>,
  ): Eventually<StepResult<T>> {
    return this.#stall.guarded('step', () => this.#steps.run(key, effect, options))
  }

  scope(name: string): StepEngine {
    return new StallableSteps(this.#steps.scope(name), this.#stall)
  }

  beside(name: string, prefix: StepKey): StepEngine {
    return new StallableSteps(this.#steps.beside(name, prefix), this.#stall)
  }

  lap(lap: Iteration): void {
    this.#steps.lap(lap)
  }

  control(key: StepKey, poll: () => PolledExternalInput, options?: ExternalInputOptions): PolledExternalInput {
    return this.#stall.guarded('step', () => this.#steps.control(key, poll, options))
  }

  sleep(key: StepKey, ms: number, options: { readonly signal: AbortSignal }): Promise<void> {
    return this.#stall.guarded('step', () => this.#steps.sleep(key, ms, options))
  }

  wait<T>(key: StepKey, options: WaitOptions): Promise<Waited<T>> {
    return this.#stall.guarded('wait', () => this.#steps.wait<T>(key, options))
  }

  end(end: RunEnd): Promise<void> {
    return this.#stall.watched('step', this.#steps.end(end))
  }
}

/** The record of a run that waits for a person stays open: another process can take the answer. */
function stalledError(waitsForPerson: boolean): HaltingError {
  return new HaltingError(
    'stalled',
    waitsForPerson
      ? 'The process was about to exit while the run waited for a person. Keep the process running until the answer is given, or resume the run from its record.'
      : 'The process was about to exit, and nothing was left in it that could finish what the run waited for. A model, tool or hook returned a promise that nothing settles.',
    { details: { waitsForPerson } },
  )
}
