import type { AgentState } from '../agent-state.ts'
import { StopSignal } from '../endings/signal.ts'

// Spec R-ORD-7.
/** Is asked at every checkpoint whether the run is to stop. It may look anywhere: a flag, a key in a store. */
export interface CancellationSource {
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

  cancel(message = 'Stop requested by user'): void {
    this.#message = message
  }

  reset(): void {
    this.#message = undefined
  }

  isCancellationRequested(): boolean {
    return this.#message !== undefined
  }

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
