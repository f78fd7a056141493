import type { AgentState, RunOptions } from '@halting/core'
import { Agent, type ExecuteOptions } from '@halting/core/compat'

/** Counts the active runs of a session, so that ending the session can wait for them. */
export class ActiveRuns {
  readonly #runs = new Set<Promise<void>>()

  /** Registers a run. Returns a function to call when the run is over; further calls have no effect. */
  begin(): () => void {
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    this.#runs.add(ended)
    return () => {
      this.#runs.delete(ended)
      end()
    }
  }

  /** Resolves when all runs that are active now have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#runs)
  }
}

/** An agent of a session. Ending the session waits for the agent's runs. */
export class SessionAgent extends Agent {
  readonly #options: RunOptions
  readonly #runs: ActiveRuns

  constructor(options: RunOptions, runs: ActiveRuns) {
    super(options)
    this.#options = options
    this.#runs = runs
  }

  override async execute(state: AgentState, options: ExecuteOptions = {}): Promise<AgentState> {
    const end = this.#runs.begin()
    try {
      return await this.#agentFor(end).execute(state, options)
    } finally {
      end()
    }
  }

  override iterate(state: AgentState, options: ExecuteOptions = {}): AsyncGenerator<AgentState, void, undefined> {
    let end: (() => void) | undefined
    const states = this.#agentFor(() => end?.()).iterate(state, options)
    const [next, back, fail] = [states.next.bind(states), states.return.bind(states), states.throw.bind(states)]
    const over = async (step: Promise<IteratorResult<AgentState, void>>): Promise<IteratorResult<AgentState, void>> => {
      try {
        const result = await step
        if (result.done === true) end?.()
        return result
      } catch (thrown) {
        end?.()
        throw thrown
      }
    }
    return Object.assign(states, {
      next: () => {
        end ??= this.#runs.begin()
        return over(next())
      },
      return: (value?: void | PromiseLike<void>) => over(back(value)),
      throw: (thrown?: unknown) => over(fail(thrown)),
    })
  }

  /** The run itself reports its end, because its consumer may stop reading early. */
  #agentFor(end: () => void): Agent {
    const options = this.#options
    return new Agent({
      ...options,
      onResult(terminal, figures) {
        end()
        return options.onResult?.(terminal, figures)
      },
    })
  }
}
