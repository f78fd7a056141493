import type { AgentState } from './agent-state.ts'
import { StopSignal } from '../endings/signal.ts'

// Spec R-ORD-7.
/** Decides at every cancellation point whether to stop the run. It may check anything: a flag, a key in a store. */
export interface CancellationSource {
  /** The signal to stop with; null or undefined to continue. If it throws, the error policy of the run applies. */
  cancellationSignal(state: AgentState): StopSignal | null | undefined | Promise<StopSignal | null | undefined>
}

/** Which runs an `InMemoryCancellationSource` stops. */
export interface InMemoryCancellationOptions {
  /** The only run (execution id) to stop. Default: every run. */
  readonly executionId?: string
}

/** Lets another part of the same process stop a run. The request applies until `reset()`. */
export class InMemoryCancellationSource implements CancellationSource {
  readonly #executionId: string | undefined
  #message: string | undefined

  constructor(options: InMemoryCancellationOptions = {}) {
    this.#executionId = options.executionId
  }

  /** Requests that the run stops at its next cancellation point, with this message for a person. */
  cancel(message = 'Stop requested by user'): void {
    this.#message = message
  }

  /** Withdraws the request. */
  reset(): void {
    this.#message = undefined
  }

  /** Whether the run is requested to stop. */
  isCancellationRequested(): boolean {
    return this.#message !== undefined
  }

  /** The signal of the request; undefined without a request, or if it is for another execution. */
  cancellationSignal(state: AgentState): StopSignal | undefined {
    if (this.#message === undefined) return undefined
    if (this.#executionId !== undefined && !isWithin(state.executionId, this.#executionId)) return undefined
    return StopSignal.userRequested(this.#message, { source: 'InMemoryCancellationSource' })
  }
}

/** True for the execution itself and for its subagents. */
function isWithin(executionId: string, root: string): boolean {
  return executionId === root || executionId.startsWith(`${root}/`)
}
