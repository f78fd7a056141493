import type { AgentState } from './agent-state.ts'
import { messageContentOf, plainTextOf } from '../model/content.ts'
import type { CompactionReply, CompactionTrigger, AskModel, HookQuestion } from '../model/questions.ts'
import { jsonObjectOf, jsonOf, type Json } from '../values/json.ts'
import type { MessageContent, ModelMessage, ToolUseBlock } from '../model/messages.ts'
import type { StopSignalJson } from '../endings/signal.ts'
import { noFigures, type HookFigures } from './hook-figures.ts'
import type { HookOutcome, HookTrigger } from './hook-outcome.ts'
import { transcriptChange, type TranscriptChange } from './transcript-change.ts'
import { deniedByHook } from '../permissions/permission-texts.ts'

/** Initial values of a `HookContext`. */
export interface HookContextInit {
  /** The trigger of this call. */
  readonly trigger: HookTrigger
  /** State of the agent. */
  readonly state: AgentState
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** Estimated tokens of messages; 0 when absent. */
  readonly estimateTokens?: (messages: readonly ModelMessage[]) => number
  /** Tool triggers: the call, with its current input. */
  readonly toolCall?: ToolUseBlock
  /** afterToolUse: the tool's output. */
  readonly toolOutput?: HookToolOutput
  /** The type of the running subagent; null in the main loop. */
  readonly agentType?: string | null
  /** What the run has used and what its limits leave. Absent in a context that no run created. */
  readonly figures?: () => HookFigures
  /** Asks a model through the run. Absent in a context that no run created. */
  readonly ask?: AskModel
  /** beforeCompact and afterCompact: the compaction. */
  readonly compaction?: HookCompaction
  /** onError: what went wrong. */
  readonly error?: {
    /** What failed. */
    readonly source: 'tool' | 'hook' | 'model' | 'run'
    /** Name of the tool, hook or model. */
    readonly name: string
    /** Message of the error. */
    readonly message: string
  }
}

/** A tool's output as text, and its duration. */
export interface HookToolOutput {
  /** The result as text. */
  readonly text: string
  /** Whether the call failed. */
  readonly isError: boolean
  /** Duration of the call in milliseconds; absent if it did not run. */
  readonly durationMs?: number
}

/** A compaction, as its hooks see it. Messages of a `beforeCompact` hook are instructions for the summary. */
export interface HookCompaction {
  /** Why the conversation is compacted. */
  readonly trigger: CompactionTrigger
  /** A person's instructions for the summary; may be empty. */
  readonly instructions: string
  /** afterCompact: the summary of the replaced messages. */
  readonly summary?: string
}

interface Changes {
  readonly state?: { readonly value: AgentState; readonly transcript: TranscriptChange }
  readonly blocked?: string
  readonly permission?: 'allow' | 'ask' | 'defer'
  readonly input?: { readonly value: Json }
  readonly output?: string
  readonly prevented?: string
  readonly beforePrompt?: MessageContent
}

const noChanges: Changes = Object.freeze({})

// Spec R-HOOK-1.
/** What a hook receives and returns. Immutable: every `with…` returns a new context. */
export class HookContext {
  readonly #init: HookContextInit
  readonly #changes: Changes

  constructor(init: HookContextInit, changes: Changes = noChanges) {
    this.#init = init
    this.#changes = changes
  }

  /** The trigger of this call. */
  get trigger(): HookTrigger {
    return this.#init.trigger
  }

  /** Aborted when the run is. */
  get signal(): AbortSignal {
    return this.#init.signal
  }

  /** The call, for tool triggers. */
  get toolCall(): ToolUseBlock | undefined {
    return this.#init.toolCall
  }

  /** The type of the running subagent; null in the main loop. */
  get agentType(): string | null {
    return this.#init.agentType ?? null
  }

  /** The result of the call, for `afterToolUse`. */
  get toolOutput(): HookToolOutput | undefined {
    return this.#init.toolOutput
  }

  /** What the run has used so far, and what its limits leave. */
  get figures(): HookFigures {
    return this.#init.figures?.() ?? noFigures
  }

  /** The compaction, for `beforeCompact` and `afterCompact`. */
  get compaction(): HookCompaction | undefined {
    return this.#init.compaction
  }

  /** The failure, for `onError`. */
  get error(): HookContextInit['error'] {
    return this.#init.error
  }

  // Spec R-HOOK-16.
  /**
   * Asks a model through the run while the hook is running. The request is part of the run's budget, figures and record.
   * A resume after a crash calls the hook again, and answers the same questions from the record. `over_budget`: no
   * request was made.
   */
  ask(question: HookQuestion): Promise<CompactionReply> {
    return this.#init.ask?.(question) ?? Promise.resolve({ kind: 'aborted' })
  }

  /** State of the agent, including the changes of this hook. */
  state(): AgentState {
    return this.#changes.state?.value ?? this.#init.state
  }

  /**
   * Returns a context with a changed state: signals, a request to continue, messages, metadata. A changed transcript
   * replaces the model's view from then on (`AgentState.withMessages`). The record retains the original.
   * @throws ConfigurationError for a transcript that could not be sent, and while calls have no result.
   */
  withState(state: AgentState): HookContext {
    const transcript = transcriptChange(this.#init.state.transcript, state.transcript)
    return this.#with({ state: { value: state, transcript } })
  }

  /**
   * beforeToolUse: denies the call; the reason is sent to the model. beforeCompact: skips a compaction that is not
   * needed immediately (`auto`, `manual`).
   */
  withBlocked(reason: string): HookContext {
    return this.#with({ blocked: plainTextOf(reason) || deniedByHook })
  }

  /**
   * beforeToolUse: asks a person, approves the call, or leaves it open (`defer`). With `defer`, a run that does not
   * wait for people ends as `needs_approval`. Any other value approves nothing.
   */
  withPermission(permission: 'allow' | 'ask' | 'defer'): HookContext {
    // Plain JavaScript may pass the values of permission rules.
    const requested: string = permission
    if (requested === 'deny') return this.withBlocked('')
    return this.#with({ permission: requested === 'allow' || requested === 'defer' ? requested : 'ask' })
  }

  /** beforeToolUse: replaces the whole input, converted to JSON. It is validated against the tool's schema again. */
  withToolInput(value: unknown): HookContext {
    return this.#with({ input: { value: jsonOf(value) } })
  }

  /** afterToolUse: replaces the result for the model. */
  withToolOutput(text: string): HookContext {
    return this.#with({ output: plainTextOf(text) })
  }

  /**
   * beforeExecution: adds a message before the prompt of the run, for example facts about the environment, so that the
   * prompt remains the user's last message. In a run without a prompt, the added message is the last one.
   */
  withMessageBeforePrompt(content: MessageContent): HookContext {
    return this.#with({ beforePrompt: messageContentOf(content) })
  }

  /** afterToolUse: ends the run as `hook_stopped` after the tools of this turn. */
  withContinuationPrevented(reason: string): HookContext {
    return this.#with({ prevented: plainTextOf(reason) })
  }

  #with(changes: Changes): HookContext {
    return new HookContext(this.#init, { ...this.#changes, ...changes })
  }

  /** The record of all changes: a hook has no other effect. */
  outcome(): HookOutcome {
    if (this.#changes === noChanges) return {}
    const { state, ...rest } = this.#changes
    if (state === undefined) return rest
    const { value, transcript } = state
    return { ...rest, ...this.#transcriptOutcome(transcript), ...stateChanges(this.#init.state, value) }
  }

  /** Changes to the transcript. */
  #transcriptOutcome({ messages, replaced, attachments }: TranscriptChange): HookOutcome {
    const init = this.#init
    const { state } = init
    const tokensOf = (messages: readonly ModelMessage[]): number => init.estimateTokens?.(messages) ?? 0
    return {
      ...(replaced !== undefined && {
        replaced: {
          messages: replaced,
          preTokens: tokensOf(state.messages()),
          postTokens: tokensOf(replaced),
        },
      }),
      ...(messages.length > 0 && { messages }),
      ...(attachments.length > 0 && { attachments }),
    }
  }
}

/** Changes to the state other than the transcript: raised signals, a request to continue, metadata. */
function stateChanges(before: AgentState, after: AgentState): HookOutcome {
  // A signal that was stored and restored counts as the same signal.
  const known = new Set(Array.from(before.stopSignals(), (signal) => JSON.stringify(signal)))
  const signals: StopSignalJson[] = []
  let keptSignals = 0
  for (const signal of after.stopSignals()) {
    if (known.has(JSON.stringify(signal))) keptSignals++
    else signals.push(signal.toJSON())
  }
  // If a hook removes all signals, it requests to continue.
  const cleared = known.size > 0 && keptSignals === 0 && signals.length === 0
  return {
    ...(signals.length > 0 ? { signals } : {}),
    ...(cleared || after.executionContinuation().isContinuationRequested() ? { continued: true as const } : {}),
    ...(after.metadata === before.metadata ? {} : { metadata: jsonObjectOf(after.metadata) }),
  }
}
