import { AgentState } from '../agent-state.ts'
import type { LoopEvent } from '../events.ts'
import { loop, type Loop } from '../iterate.ts'
import type { LoopOptions } from '../options.ts'
import { runIdOf } from '../run-id.ts'
import { startRun } from '../start.ts'
import type { RunState } from '../state.ts'
import { agentStateOf } from '../turn/agent-view.ts'

/** What one execution of an agent may be given beside its state. */
export interface ExecuteOptions {
  readonly signal?: AbortSignal
  /**
   * Names the execution: `<sessionId>/<runId>`, which its idempotency keys begin with. By all that was said when absent: executing one state
   * again is another try of the same execution. Give a name to execute it as a different one.
   */
  readonly runId?: string
  readonly onEvent?: (event: LoopEvent) => void
}

/** A built agent. It holds no run: one agent may execute many states at once. */
export class Agent {
  readonly #options: LoopOptions

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** Runs to the end. The state that comes back always has a `stopReason()`. */
  async execute(state: AgentState, options: ExecuteOptions = {}): Promise<AgentState> {
    const running = this.#loop(startOf(state, options), options)
    if (options.onEvent !== undefined) for await (const event of running) tell(options, event)
    return agentStateOf((await running.ended).state)
  }

  /** The state after every lap, and the last one at the end. Breaking out aborts the run. */
  async *iterate(state: AgentState, options: ExecuteOptions = {}): AsyncGenerator<AgentState, void, undefined> {
    const start = startOf(state, options)
    const running = this.#loop(start, options)
    let reached = agentStateOf(start)
    // The run tells its prompt too, which the state has already.
    const known = new Set(Array.from(start.transcript, ({ id }) => id))
    for await (const event of running) {
      tell(options, event)
      if (event.type === 'message' && !known.has(event.entry.id)) reached = reached.withEntry(event.entry)
      if (event.type === 'lap') yield reached
    }
    yield agentStateOf((await running.ended).state)
  }

  #loop(start: RunState, options: ExecuteOptions): Loop {
    return loop(start, options.signal === undefined ? this.#options : { ...this.#options, signal: options.signal })
  }
}

/** What the person said since the last answer begins the run. */
function startOf(state: AgentState, { runId = runIdOf(state.transcript) }: ExecuteOptions): RunState {
  const { transcript, sessionId, agentId, metadata } = state
  const executionCount = state.executionCount + 1
  const start = startRun({ transcript, sessionId, agentId, metadata, runId, executionCount })
  let startLength = state.transcript.length
  while (startLength > 0 && isPrompt(state.transcript.at(startLength - 1))) startLength--
  return { ...start, startLength }
}

function isPrompt(entry: ReturnType<AgentState['transcript']['at']>): boolean {
  return entry?.kind === 'user' && entry.origin === 'prompt'
}

/** What a listener does with an event is its own affair: the run goes on. */
function tell({ onEvent }: ExecuteOptions, event: LoopEvent): void {
  try {
    onEvent?.(event)
  } catch {
    // Nothing is owed to a listener that fails.
  }
}
