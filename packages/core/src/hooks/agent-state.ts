import { estimateMessages, roughTokens } from '../model/tokens.ts'
import { jsonOf, type Json, type JsonObject } from '../values/json.ts'
import { type MessageContent, type ModelMessage, type Usage, noUsage, textOf } from '../model/messages.ts'
import { ExecutionContinuation } from '../endings/continuation.ts'
import type { StopCategory } from '../endings/reason.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { StopSignals } from '../endings/signals.ts'
import { checkReplacement } from '../conversation/replaced-messages.ts'
import { checkStored, isNumber, isObject, isText, optional, orNull, type Check } from '../values/stored-checks.ts'
import { isTranscript, isUsage } from '../conversation/stored-transcript.ts'
import { Transcript, type TranscriptEntry } from '../conversation/transcript.ts'
import { endOfAnswer } from '../conversation/verified-answer.ts'

/** Figures of the current or last run. */
export type ExecutionFigures = {
  /** Number of completed turns. */
  readonly steps: number
  /** Tokens of the run's own requests. */
  readonly usage: Usage
  /** Input and output tokens, including subagents. */
  readonly totalTokens: number
  /** US dollars, including subagents. */
  readonly costUsd: number
  /** Active milliseconds. */
  readonly durationMs: number
}

const noFigures: ExecutionFigures = Object.freeze({
  steps: 0,
  usage: noUsage,
  totalTokens: 0,
  costUsd: 0,
  durationMs: 0,
})

/** One execution of an agent: its signals and its figures. */
export class AgentExecution {
  /** `<sessionId>/<runId>`. */
  readonly id: string
  /** What it has used so far. */
  readonly figures: ExecutionFigures
  readonly #continuation: ExecutionContinuation

  constructor(id: string, figures: ExecutionFigures, continuation: ExecutionContinuation) {
    this.id = id
    this.figures = figures
    this.#continuation = continuation
  }

  /** Its signals, and whether a hook requested to continue. */
  continuation(): ExecutionContinuation {
    return this.#continuation
  }

  /** A copy with this continuation. */
  withContinuation(continuation: ExecutionContinuation): AgentExecution {
    return new AgentExecution(this.id, this.figures, continuation)
  }

  /** A plain object for JSON. */
  toJSON(): Json {
    return { id: this.id, figures: this.figures, continuation: this.#continuation.toJSON() }
  }

  /** Reads the result of `toJSON`; fields that an older version left out have their empty values. @throws ConfigurationError for anything else. */
  static fromJSON(data: unknown): AgentExecution {
    checkStored('execution', data, isExecution)
    // Validated above.
    const stored = data as StoredExecution
    return new AgentExecution(
      stored.id ?? '',
      { ...noFigures, ...stored.figures },
      ExecutionContinuation.fromJSON(stored.continuation),
    )
  }
}

interface StoredExecution {
  readonly id?: string
  readonly figures?: Partial<ExecutionFigures>
  // Spec R-STOP-1.
  /** Reading signals never throws. */
  readonly continuation?: unknown
}

const isExecution: Check = isObject({
  id: optional(isText),
  figures: optional(
    isObject({
      steps: optional(isNumber),
      usage: optional(isUsage),
      totalTokens: optional(isNumber),
      costUsd: optional(isNumber),
      durationMs: optional(isNumber),
    }),
  ),
})

interface StoredState {
  readonly agentId?: string
  readonly sessionId?: string
  readonly transcript?: readonly TranscriptEntry[]
  readonly metadata?: JsonObject
  readonly executionCount?: number
  readonly execution?: StoredExecution | null
}

const isAgentState: Check = isObject({
  agentId: optional(isText),
  sessionId: optional(isText),
  transcript: optional(isTranscript),
  metadata: optional(isObject()),
  executionCount: optional(isNumber),
  execution: optional(orNull(isExecution)),
})

interface AgentStateInit {
  readonly agentId: string
  readonly sessionId: string
  readonly transcript: Transcript
  readonly metadata: JsonObject
  readonly executionCount: number
  readonly execution: AgentExecution | null
}

// Spec R-HOOK-1.
/**
 * An agent's state, for hooks, tools and callers. Immutable: every `with…` returns a new state.
 * A hook's change takes effect when the hook returns the changed state.
 */
export class AgentState {
  /** Name of the agent. */
  readonly agentId: string
  /** Id of the session; '' outside one. */
  readonly sessionId: string
  /** The conversation so far. */
  readonly transcript: Transcript
  /** Data that hooks and callers store with the state. */
  readonly metadata: JsonObject
  /** Number of executions of this state, including the current one; 1 is the first. */
  readonly executionCount: number
  readonly #execution: AgentExecution | null
  #messages: readonly ModelMessage[] | undefined

  constructor(init: AgentStateInit) {
    this.agentId = init.agentId
    this.sessionId = init.sessionId
    this.transcript = init.transcript
    this.metadata = init.metadata
    this.executionCount = init.executionCount
    this.#execution = init.execution
  }

  /** A state with no messages. `agentId` and `sessionId` are names of your choice. */
  static empty(
    ids: {
      /** Name of the agent. Default: `agent`. */
      readonly agentId?: string
      /** Id of the session. Default: `session`. */
      readonly sessionId?: string
    } = {},
  ): AgentState {
    const { agentId = 'agent', sessionId = 'session' } = ids
    const transcript = Transcript.empty()
    return new AgentState({ agentId, sessionId, transcript, metadata: {}, executionCount: 0, execution: null })
  }

  #with(change: Partial<AgentStateInit>): AgentState {
    const { agentId, sessionId, transcript, metadata, executionCount } = this
    const execution = this.#execution
    return new AgentState({ agentId, sessionId, transcript, metadata, executionCount, execution, ...change })
  }

  /** The current or last execution; null before the first. */
  execution(): AgentExecution | null {
    return this.#execution
  }

  /** Id of the execution; '' before the first. */
  get executionId(): string {
    return this.#execution?.id ?? ''
  }

  /** The continuation of the execution; an empty one before the first. */
  executionContinuation(): ExecutionContinuation {
    return this.#execution?.continuation() ?? ExecutionContinuation.fresh()
  }

  /** The signals of its execution, in the order in which they were raised. */
  stopSignals(): StopSignals {
    return this.executionContinuation().stopSignals()
  }

  /** The most urgent reason; null before a run and while there is no signal. Never null after a run. */
  stopReason(): StopCategory | null {
    return this.stopSignals().highest()?.reason ?? null
  }

  /** A copy of the model's view of the conversation; it does not grow. */
  messages(): readonly ModelMessage[] {
    return (this.#messages ??= Object.freeze([...this.transcript.messages()]))
  }

  /**
   * Text of the last assistant message; if it has none, the newest text since the last prompt. A request to verify an
   * answer does not replace the answer.
   */
  lastAnswer(): string {
    const { transcript } = this
    const end = endOfAnswer(transcript)
    const text = textOf(transcript.lastReply(0, end)?.content ?? '')
    return text.trim() === '' ? transcript.lastText(transcript.promptOf(transcript.length), end) : text
  }

  /** A copy with this signal added. */
  withStopSignal(signal: StopSignal): AgentState {
    return this.withContinuation(this.executionContinuation().withNewStopSignal(signal))
  }

  /** Requests to continue although signals were raised. To override a natural end, `message` is required; the model receives it. */
  withExecutionContinued(message?: string): AgentState {
    const state = this.withContinuation(this.executionContinuation().withContinuationRequested(true))
    return message === undefined ? state : state.withUserMessage(message)
  }

  /** A copy whose execution has this continuation. */
  withContinuation(continuation: ExecutionContinuation): AgentState {
    const execution = this.#execution ?? new AgentExecution('', noFigures, ExecutionContinuation.fresh())
    return this.#with({ execution: execution.withContinuation(continuation) })
  }

  /** A copy with a prompt added to the transcript. */
  withUserMessage(content: MessageContent): AgentState {
    const id = `${this.executionId || this.agentId}/message:${this.transcript.length}`
    return this.withEntry({ kind: 'user', id, message: { role: 'user', content }, origin: 'prompt' })
  }

  /**
   * Replaces the conversation in the model's view by these messages, such as a summary. The record retains the original.
   * In a hook, the replacement takes effect for the run.
   * @throws ConfigurationError for messages that no service would accept, and while calls have no result.
   */
  withMessages(messages: readonly ModelMessage[]): AgentState {
    checkReplacement(this.transcript, messages)
    return this.withEntry({
      kind: 'compact_boundary',
      id: `${this.executionId || this.agentId}/compact:${this.transcript.length}`,
      messages: [...messages],
      trigger: 'manual',
      preTokens: estimateMessages(roughTokens, this.messages()),
      postTokens: estimateMessages(roughTokens, messages),
    })
  }

  /** A copy with an entry added to the transcript. */
  withEntry(entry: TranscriptEntry): AgentState {
    return this.#with({ transcript: this.transcript.append(entry) })
  }

  /** Stores a value with the agent, converted to JSON. */
  withMetadata(key: string, value: Json): AgentState {
    return this.#with({ metadata: { ...this.metadata, [key]: jsonOf(value) } })
  }

  /** A plain object for JSON, which `fromJSON` reads. */
  toJSON(): Json {
    return {
      agentId: this.agentId,
      sessionId: this.sessionId,
      // Entries are JSON according to their types, but the union is too deep for the compiler to verify this.
      transcript: this.transcript.toJSON() as unknown as Json,
      metadata: this.metadata,
      executionCount: this.executionCount,
      execution: this.#execution?.toJSON() ?? null,
    }
  }

  /**
   * Reads the result of `toJSON`; fields that an older version left out are as in an empty state.
   * @throws ConfigurationError for anything else, with the path of the invalid part: a conversation is never lost
   * silently.
   */
  static fromJSON(data: unknown): AgentState {
    checkStored('agent state', data, isAgentState)
    // Validated above.
    const stored = data as StoredState
    const { agentId, sessionId } = AgentState.empty()
    const execution = stored.execution ?? null
    return new AgentState({
      agentId: stored.agentId ?? agentId,
      sessionId: stored.sessionId ?? sessionId,
      transcript: Transcript.of(stored.transcript ?? []),
      metadata: stored.metadata ?? {},
      executionCount: stored.executionCount ?? (execution === null ? 0 : 1),
      execution: execution === null ? null : AgentExecution.fromJSON(execution),
    })
  }
}
