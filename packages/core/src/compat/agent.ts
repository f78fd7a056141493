import { anySignal } from '../values/abort.ts'
import { AgentState } from '../hooks/agent-state.ts'
import type { RunEvent } from '../state/events.ts'
import { isSignal } from '../tools/check-options.ts'
import { ConfigurationError, messageOf } from '../values/errors.ts'
import { describeValue, fieldsOf } from '../values/validators.ts'
import { leavableGenerator, type Departure } from '../values/leavable-generator.ts'
import { streamRun, type RunStream } from '../api/iterate.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import { type RunOptions, settingsOf } from '../api/options.ts'
import { runIdOf } from '../api/run-id.ts'
import { startRun } from '../api/start.ts'
import type { RunState } from '../state/state.ts'
import { InvalidAnswer, answerProblem } from '../run/answer-shape.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { agentStateOf } from '../run/run.ts'
import { cannotAsk } from '../permissions/permission-texts.ts'
import type { AgentConfiguration, Capability } from './capability.ts'

/** Options of one execution, in addition to the agent's state. */
export interface ExecuteOptions {
  /** Aborts the execution, in addition to the signal of the agent. */
  readonly signal?: AbortSignal
  /**
   * Name of the execution: `<sessionId>/<runId>`, the prefix of its idempotency keys. Default: derived from the
   * conversation, so that executing a state again is a retry of the same execution. With a different name it is a
   * different execution.
   */
  readonly runId?: string
  /** Called with every event of the run. */
  readonly onEvent?: (event: RunEvent) => void
  /**
   * Answers, by call id, to the calls that were pending when the state ended as `needs_approval`. A call without an
   * answer stays pending. Refused if no call is pending, or if the state ends with a new message.
   */
  readonly approvals?: { readonly [callId: string]: PermissionDecision }
  /** Called when a call waits for a person, in an agent built with `onAsk: 'wait'`. If it throws, the call is denied. */
  readonly onApproval?: (request: ApprovalRequest) => PermissionDecision | Promise<PermissionDecision>
}

/** A call that a person has to approve. */
export interface ApprovalRequest {
  /** Id of the call, the key of its answer in `approvals`. */
  readonly callId: string
  /** The tool's name. */
  readonly name: string
  /** Input of the call. */
  readonly input: unknown
  /** The question for the person. */
  readonly message: string
}

/** A built agent. It stores no run, so one agent may execute many states at once. */
export class Agent {
  readonly #options: RunOptions

  constructor(options: RunOptions) {
    this.#options = options
  }

  /** Runs to the end. The returned state always has a `stopReason()`. Rejects with `ConfigurationError` for options that cannot be run. */
  async execute(state: AgentState, options: ExecuteOptions = {}): Promise<AgentState> {
    const running = this.#loop(executionStart(state, options), options)
    if (options.onEvent !== undefined || options.onApproval !== undefined)
      for await (const event of running) notify(running, options, event)
    return agentStateOf((await running.ended).state)
  }

  /** The state after every iteration, and the final one. Leaving the iterator aborts the run. */
  iterate(state: AgentState, options: ExecuteOptions = {}): AsyncGenerator<AgentState, void, undefined> {
    return leavableGenerator((leaving) => this.#states(state, options, leaving))
  }

  async *#states(
    state: AgentState,
    options: ExecuteOptions,
    leaving: Departure,
  ): AsyncGenerator<AgentState, void, undefined> {
    const start = executionStart(state, options)
    const running = this.#loop(start, options)
    leaving.onLeave(() => running.abort('abandoned'))
    let reached = agentStateOf(start)
    // The run also emits its prompt, which the state already contains.
    const known = new Set(Array.from(start.transcript, ({ id }) => id))
    for await (const event of running) {
      notify(running, options, event)
      if (event.type === 'message' && !known.has(event.entry.id)) reached = reached.withEntry(event.entry)
      if (event.type === 'lap') yield reached
    }
    yield agentStateOf((await running.ended).state)
  }

  #loop(start: RunState, options: ExecuteOptions): RunStream {
    const { onAsk, steps } = this.#options
    if (onAsk === 'wait' && steps === undefined && options.onApproval === undefined) {
      throw new ConfigurationError(
        "onAsk is 'wait', and nobody would answer. Give onApproval, or steps that take the answers.",
      )
    }
    return streamRun(start, { ...this.#options, ...this.#signals(options) })
  }

  /** If an execution has its own signal, the signal of the agent also aborts it. */
  #signals({ signal }: ExecuteOptions): Pick<RunOptions, 'signal'> {
    const { signal: agentSignal } = this.#options
    if (signal === undefined) return {}
    if (agentSignal === undefined) return { signal }
    isSignal('signal', signal)
    return { signal: anySignal([agentSignal, signal]) }
  }
}

/** Starts a run from the user input since the last answer, or from the answers to pending calls. */
function executionStart(state: AgentState, { approvals, runId }: ExecuteOptions): RunState {
  // Plain JavaScript may pass a prompt.
  if (!(state instanceof AgentState))
    throw new ConfigurationError(
      `An agent executes an AgentState, but it is ${describeValue(state)}. Begin with AgentState.empty().withUserMessage(…).`,
    )
  const { transcript, sessionId, agentId, metadata } = state
  const executionCount = state.executionCount + 1
  let startLength = transcript.length
  while (startLength > 0 && isPrompt(transcript.at(startLength - 1))) startLength--
  if (approvals !== undefined && startLength < transcript.length && openCallsOf(transcript).length > 0) {
    throw new ConfigurationError(
      'The state ends with a new message, but results must precede other messages. Execute with the approvals first.',
    )
  }
  const start = startRun({
    transcript,
    sessionId,
    agentId,
    metadata,
    executionCount,
    runId: runId ?? runIdOf(transcript),
    ...(approvals !== undefined && { approvals }),
  })
  return { ...start, startLength }
}

function isPrompt(entry: ReturnType<AgentState['transcript']['at']>): boolean {
  return entry?.kind === 'user' && entry.origin === 'prompt'
}

/** Passes an event to the listener and ignores its errors. */
function notify(running: RunStream, { onEvent, onApproval }: ExecuteOptions, event: RunEvent): void {
  try {
    onEvent?.(event)
  } catch {
    // The run does not depend on its listener.
  }
  if (onApproval !== undefined) requestAnswer(running, onApproval, event)
}

/** Requests the answer for a pending call, of the run itself or of a subagent. */
function requestAnswer(
  running: RunStream,
  onApproval: NonNullable<ExecuteOptions['onApproval']>,
  event: RunEvent,
): void {
  if (event.type === 'agent') return requestAnswer(running, onApproval, event.event)
  if (event.type !== 'approval_needed' || event.key === null) return
  const { key, callId, name, input, message } = event
  const answer = Promise.resolve().then(() => onApproval({ callId, name, input, message }))
  void answer
    .catch((error: unknown): PermissionDecision => {
      return { behavior: 'deny', message: cannotAsk(messageOf(error)) }
    })
    .then((decision) => {
      // No caller can receive the error, so it breaks the run.
      const problem = answerProblem(decision)
      running.answer(key, problem === undefined ? decision : new InvalidAnswer(problem))
    })
}

/** Builds an agent from capabilities. Immutable: every `with…` returns a new builder. */
export class AgentBuilder {
  readonly #configuration: AgentConfiguration

  /** For subclasses of the builder. */
  protected constructor(configuration: AgentConfiguration) {
    this.#configuration = configuration
  }

  /** A builder with only these options; `UseModel` may add the model later. */
  static base(options: Partial<Omit<RunOptions, 'stopWhen'>> = {}): AgentBuilder {
    // Plain JavaScript may pass `stopWhen`, but the guards of the builder would replace it.
    if ('stopWhen' in options)
      throw new ConfigurationError(
        'A builder has no stopWhen. Register each guard: .withCapability(new UseHook(guard)).',
      )
    return new AgentBuilder({ ...options, guards: [] })
  }

  /** @throws ConfigurationError for anything but a capability. */
  withCapability(capability: Capability): AgentBuilder {
    return new AgentBuilder(this.configuredBy(capability))
  }

  /** @throws ConfigurationError for anything but a capability. */
  protected configuredBy(capability: Capability): AgentConfiguration {
    if (typeof fieldsOf(capability)?.['configure'] !== 'function')
      throw new ConfigurationError('A capability must have configure, as those of UseTools and UseHook do.')
    return capability.configure(this.#configuration)
  }

  /** @throws ConfigurationError without a model, or for options that cannot be run. */
  build(): Agent {
    const options = this.loopOptions()
    settingsOf(options)
    return new Agent(options)
  }

  /** The collected options for `streamRun`. @throws ConfigurationError without a model. */
  protected loopOptions(): RunOptions {
    const { guards, model, ...rest } = this.#configuration
    if (model === undefined) {
      throw new ConfigurationError(
        'The agent has no model. Give one: AgentBuilder.base({ model }) or .withCapability(new UseModel(model)).',
      )
    }
    return { ...rest, model, stopWhen: guards }
  }
}
