import type { ModelMessage } from '../model/messages.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { RunState } from '../state/state.ts'
import { blockingLimitOf, windowFigures, type WindowFigures } from '../model/window.ts'
import type { CompactionTrigger, CompactionRequest, CompactionReply } from '../model/questions.ts'

/** The result of a compaction: messages that replace all previous ones, or that it gave up. */
export type CompactionResult =
  | {
      readonly kind: 'compacted'
      /** The messages that replace all previous ones. */
      readonly messages: readonly ModelMessage[]
      /** Tokens of the conversation before, estimated or counted. */
      readonly preTokens: number
      /** Tokens of the conversation after. */
      readonly postTokens: number
      /** For hooks: the summary of the replaced messages. */
      readonly summary?: string
      /** `messages` contain people's messages verbatim (`CompactBoundaryEntry`). */
      readonly personsWords?: 'carried'
    }
  | {
      readonly kind: 'gave_up'
      /** Why the compaction gave up, in a sentence. */
      readonly message: string
    }

/** Frees space in the conversation, with or without a model request. */
export interface Compaction {
  /** Why the conversation is compacted. */
  readonly trigger: CompactionTrigger
  /**
   * Runs once for a request, and again in a resume that finds it unfinished. Earlier questions are then answered from
   * the record, so it should ask the same questions in the same order. If it throws, the result is `gave_up`. Ask a
   * model only through `ask`: the budget does not include other requests.
   */
  run(scope: CompactionScope): Promise<CompactionResult>
}

/** What a compaction receives. */
export interface CompactionScope {
  /** Aborted when the run is aborted. After that, the run waits for a compaction at most for the grace time. */
  readonly signal: AbortSignal
  // Spec R-CTX-6.
  /** Asks a model. The request is reserved beforehand and charged afterwards, retried, recorded, and counted in the figures of the run. Never rejects. */
  readonly ask: (request: CompactionRequest) => Promise<CompactionReply>
  /** Instructions of a person and of hooks for the summary; may be empty. */
  readonly instructions: string
}

// Spec R-CTX-7.
/** Maximum number of questions in one compaction: one, and three more with less of the conversation. */
export const compactionRequests = 4

/** The run, as a context layer sees it. */
export interface ContextView {
  /** State of the run. */
  readonly state: RunState
  /** The model of the next request. */
  readonly model: Model
  /** The system prompt of the next request. */
  readonly system: string
  /** The tools of the next request. */
  readonly tools: readonly ToolDefinition[]
  /** Estimated tokens of the next request. */
  readonly estimatedTokens: number
  /** The part of these tokens that is not messages: system prompt and tools. */
  readonly fixedTokens: number
  /** Maximum input tokens of a request: from the model, from the options, or less after a refusal. */
  readonly contextWindow: number
  /** Estimated tokens of messages, corrected by the provider's counts so far. */
  readonly tokensOf: (messages: readonly ModelMessage[]) => number
  /** Works like `tokensOf` for the messages from `from` to before `to`, in constant time. */
  readonly tokensBetween: (from: number, to: number) => number
  /** Works like `tokensOf` for the messages before `index` that contain long results. */
  readonly clearableBefore: (index: number) => number
}

/** Results to replace by short notes, by the ids of their calls. */
export interface ClearedResults {
  /** Ids of the calls. */
  readonly calls: readonly string[]
  /** Estimated tokens that this frees. */
  readonly freedTokens: number
}

/** Returned if another compaction does not help: the run ends as `compaction_thrash`, with this message. */
export interface Thrash {
  readonly kind: 'thrash'
  /** Why, in a sentence with figures. */
  readonly message: string
}

/** A span of finished work to summarize in parallel with the next turn. */
export interface CollapseStage {
  /** Index of the first message of the span, in the model's view. */
  readonly from: number
  /** Index after its last message. */
  readonly to: number
  /** Estimated tokens that a summary frees. */
  readonly freedTokens: number
  /** The request for the summary. */
  readonly question: CompactionRequest
}

// Spec R-CTX-1.
/** The port of the four layers that prevent a full context window. */
export interface ContextManager {
  /** Whether a conversation is compacted before it is too long. If not, the blocking limit applies. */
  readonly autoCompact: boolean
  /** Models that its compactions ask in addition to those of the run. They are priced and counted the same way. */
  readonly models?: readonly Model[]
  /** Called before all other layers before a request. Returns old results to prune, or undefined. Without this method no results are pruned. */
  clear?(view: ContextView): ClearedResults | undefined
  /** Called before a request: a compaction that is due, `thrash` when compacting again would not help, or undefined. */
  beforeRequest(view: ContextView): Compaction | Thrash | 'thrash' | undefined
  /** Called before a request: finished work to summarize in parallel with the turn. No work is summarized when absent. */
  stage?(view: ContextView): CollapseStage | undefined
  /** After a 413: staged collapses to commit, or `Thrash`. */
  drain(view: ContextView): Compaction | Thrash | undefined
  /** After a 413 with nothing to drain (`reactive`), and when a person requests it (`manual`). `Thrash` counts only after a 413. */
  compact(view: ContextView, trigger: 'reactive' | 'manual'): Compaction | Thrash | undefined
  /** Tokens from which a conversation is compacted, for meters; Infinity when absent. */
  compactionThreshold?(model: Model, contextWindow: number): number
  /** Tokens from which no request is made; Infinity for no limit. */
  blockingLimit(model: Model, contextWindow: number): number
}

/** Only the blocking limit. Nothing is compacted, so a prompt that is too long ends the run. */
export const plainContext: ContextManager = Object.freeze<ContextManager>({
  autoCompact: false,
  beforeRequest: () => undefined,
  drain: () => undefined,
  compact: () => undefined,
  blockingLimit: (_model, contextWindow) => blockingLimitOf(contextWindow),
})

/** Tokens before the next threshold at which a person is warned. */
const warningMargin = 20_000

/** Usage of a window, with the thresholds of a context manager. */
export function defenceFigures(
  defence: ContextManager,
  model: Model,
  { window, used }: { readonly window: number; readonly used: number },
): WindowFigures {
  const compaction = defence.compactionThreshold?.(model, window) ?? Infinity
  const blocking = defence.autoCompact ? Infinity : defence.blockingLimit(model, window)
  const next = Math.min(compaction, blocking, window)
  const warning = Math.max(0, next - Math.min(warningMargin, window * 0.1))
  return windowFigures(used, window, { warning, compaction, blocking })
}
