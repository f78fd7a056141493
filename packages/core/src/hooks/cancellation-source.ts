import type { AgentState } from './agent-state.ts'
import { StopSignal } from '../endings/signal.ts'

// Spec R-ORD-7.
/** Is asked at every checkpoint whether the run is to stop. It may look anywhere: a flag, a key in a store. */
export interface CancellationSource {
  /** The signal to stop with; null or undefined to continue. An error that it throws is handled by the error policy of the run. */
  cancellationSignal(state: AgentState): StopSignal | null | undefined | Promise<StopSignal | null | undefined>
}

/** Which run an `InMemoryCancellationSource` stops. */
export interface InMemoryCancellationOptions {
  /** The one run (execution id) that is meant; every run when absent. */
  readonly executionId?: string
}

/** Lets another part of the same process stop a run. The request stands until `reset()`. */
export class InMemoryCancellationSource implements CancellationSource {
  readonly #executionId: string | undefined
  #message: string | undefined

  constructor(options: InMemoryCancellationOptions = {}) {
    this.#executionId = options.executionId
  }

  /** Asks the run to stop at its next cancellation point, with this message for a person. */
  cancel(message = 'Stop requested by user'): void {
    this.#message = message
  }

  /** Withdraws the request. */
  reset(): void {
    this.#message = undefined
  }

  /** Whether the run is asked to stop. */
  isCancellationRequested(): boolean {
    return this.#message !== undefined
  }

  /** The signal of the request; undefined where there is none, or where it is for another execution. */
  cancellationSignal(state: AgentState): StopSignal | undefined {
    if (this.#message === undefined) return undefined
    if (this.#executionId !== undefined && !isWithin(state.executionId, this.#executionId)) return undefined
    return StopSignal.userRequested(this.#message, { source: 'InMemoryCancellationSource' })
  }
}

/** True for the execution itself and for the subagents that it started. */
function isWithin(executionId: string, root: string): boolean {
  return executionId === root || executionId.startsWith(`${root}/`)
}
