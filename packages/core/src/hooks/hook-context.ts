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

/** What a `HookContext` is made of. */
export interface HookContextInit {
  /** The moment that the hook is called at. */
  readonly trigger: HookTrigger
  /** State of the agent. */
  readonly state: AgentState
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** About how many tokens messages have; 0 when absent. */
  readonly estimateTokens?: (messages: readonly ModelMessage[]) => number
  /** Tool triggers: the call, with the input as it stands. */
  readonly toolCall?: ToolUseBlock
  /** afterToolUse: what the tool gave. */
  readonly toolOutput?: HookToolOutput
  /** The kind of subagent that runs; null in the main loop. */
  readonly agentType?: string | null
  /** What the run has used and has left; a context that no run made has none. */
  readonly figures?: () => HookFigures
  /** Asks a model through the run; a context that no run made has none. */
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

/** What a tool gave, as text, and how long it took. */
export interface HookToolOutput {
  /** The result as text. */
  readonly text: string
  /** Whether the call failed. */
  readonly isError: boolean
  /** Milliseconds that the call took; absent where it did not run. */
  readonly durationMs?: number
}

/** A compaction as its hooks see it. Messages of a `beforeCompact` hook are instructions for the summary. */
export interface HookCompaction {
  /** Why the conversation is compacted. */
  readonly trigger: CompactionTrigger
  /** What a person wants of the summary; empty for nothing. */
  readonly instructions: string
  /** afterCompact: what was said of the messages that are gone. */
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
/** What a hook is given and gives back. Immutable: every `with…` returns a new one. */
export class HookContext {
  readonly #init: HookContextInit
  readonly #changes: Changes

  constructor(init: HookContextInit, changes: Changes = noChanges) {
    this.#init = init
    this.#changes = changes
  }

  /** The moment that the hook is called at. */
  get trigger(): HookTrigger {
    return this.#init.trigger
  }

  /** Aborted when the run is. */
  get signal(): AbortSignal {
    return this.#init.signal
  }

  /** The call, at tool triggers. */
  get toolCall(): ToolUseBlock | undefined {
    return this.#init.toolCall
  }

  /** The kind of subagent that runs; null in the main loop. */
  get agentType(): string | null {
    return this.#init.agentType ?? null
  }

  /** The result of the call, at `afterToolUse`. */
  get toolOutput(): HookToolOutput | undefined {
    return this.#init.toolOutput
  }

  /** What the run has used so far, and what its limits leave. */
  get figures(): HookFigures {
    return this.#init.figures?.() ?? noFigures
  }

  /** The compaction, at `beforeCompact` and `afterCompact`. */
  get compaction(): HookCompaction | undefined {
    return this.#init.compaction
  }

  /** The failure, at `onError`. */
  get error(): HookContextInit['error'] {
    return this.#init.error
  }

  // Spec R-HOOK-16.
  /**
   * Asks a model through the run, while the hook goes on: in its budget, its figures and its record. A resume after a crash calls
   * the hook again, with what it asked the same way answered from the record. `over_budget`: nothing was asked.
   */
  ask(question: HookQuestion): Promise<CompactionReply> {
    return this.#init.ask?.(question) ?? Promise.resolve({ kind: 'aborted' })
  }

  /** State of the agent, with what this hook has changed. */
  state(): AgentState {
    return this.#changes.state?.value ?? this.#init.state
  }

  /**
   * Gives a changed state: signals, a request to go on, messages, metadata. One whose transcript is another than it was has the model shown that
   * from here on (`AgentState.withMessages`); the record keeps what was said.
   * @throws ConfigurationError for a transcript that could not be sent, and while calls have no result.
   */
  withState(state: AgentState): HookContext {
    const transcript = transcriptChange(this.#init.state.transcript, state.transcript)
    return this.#with({ state: { value: state, transcript } })
  }

  /**
   * beforeToolUse: denies the call; the reason goes to the model. beforeCompact: skips a compaction that is not needed at once (`auto`, `manual`).
   */
  withBlocked(reason: string): HookContext {
    return this.#with({ blocked: plainTextOf(reason) || deniedByHook })
  }

  /**
   * beforeToolUse: has a person asked, vouches for the call, or leaves it open (`defer`): where nobody is waited for, the run ends as
   * `needs_approval`. What is none of these vouches for nothing.
   */
  withPermission(permission: 'allow' | 'ask' | 'defer'): HookContext {
    // Plain JavaScript may say what permission rules may say.
    const said: string = permission
    if (said === 'deny') return this.withBlocked('')
    return this.#with({ permission: said === 'allow' || said === 'defer' ? said : 'ask' })
  }

  /** beforeToolUse: replaces the whole input, in the form that JSON has for it. The tool's schema checks it again. */
  withToolInput(value: unknown): HookContext {
    return this.#with({ input: { value: jsonOf(value) } })
  }

  /** afterToolUse: replaces what the model is told. */
  withToolOutput(text: string): HookContext {
    return this.#with({ output: plainTextOf(text) })
  }

  /**
   * beforeExecution: adds a message that the model is shown before the prompt of the run, so that the prompt stays the last word of the user:
   * facts about the surroundings, for instance. In a run without a prompt it is the last message.
   */
  withMessageBeforePrompt(content: MessageContent): HookContext {
    return this.#with({ beforePrompt: messageContentOf(content) })
  }

  /** afterToolUse: ends the run as `hook_stopped` once this turn's tools are done. */
  withContinuationPrevented(reason: string): HookContext {
    return this.#with({ prevented: plainTextOf(reason) })
  }

  #with(changes: Changes): HookContext {
    return new HookContext(this.#init, { ...this.#changes, ...changes })
  }

  /** The closed record of what was changed: the only way in which a hook takes effect. */
  outcome(): HookOutcome {
    if (this.#changes === noChanges) return {}
    const { state, ...rest } = this.#changes
    if (state === undefined) return rest
    const { value, transcript } = state
    return { ...rest, ...this.#said(transcript), ...stateChanges(this.#init.state, value) }
  }

  /** What it did to the transcript. */
  #said({ messages, replaced, attachments }: TranscriptChange): HookOutcome {
    const init = this.#init
    const { state } = init
    const tokensOf = (told: readonly ModelMessage[]): number => init.estimateTokens?.(told) ?? 0
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

/** The operations behind `withState`, beside those on the transcript: signals raised, going on asked for, metadata added. */
function stateChanges(before: AgentState, after: AgentState): HookOutcome {
  // One that was stored and read back is the same signal.
  const known = new Set(Array.from(before.stopSignals(), (signal) => JSON.stringify(signal)))
  const signals: StopSignalJson[] = []
  let kept = 0
  for (const signal of after.stopSignals()) {
    if (known.has(JSON.stringify(signal))) kept++
    else signals.push(signal.toJSON())
  }
  // Taking every standing signal away is asking to go on.
  const cleared = known.size > 0 && kept === 0 && signals.length === 0
  return {
    ...(signals.length > 0 ? { signals } : {}),
    ...(cleared || after.executionContinuation().isContinuationRequested() ? { continued: true as const } : {}),
    ...(after.metadata === before.metadata ? {} : { metadata: jsonObjectOf(after.metadata) }),
  }
}
