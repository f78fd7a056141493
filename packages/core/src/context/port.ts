import type { ModelMessage } from '../model/messages.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { RunState } from '../state/state.ts'
import { blockingLimitOf, windowFigures, type WindowFigures } from '../model/window.ts'
import type { CompactionTrigger, CompactionRequest, CompactionReply } from '../model/questions.ts'

/** What a compaction came to: messages in place of everything before, or that it gave up. */
export type CompactionResult =
  | {
      readonly kind: 'compacted'
      /** The messages that replace everything before. */
      readonly messages: readonly ModelMessage[]
      /** Tokens of the conversation before and after, as estimated or counted. */
      readonly preTokens: number
      /** Tokens of the conversation after. */
      readonly postTokens: number
      /** For hooks: what was said of the messages that are gone. */
      readonly summary?: string
      /** `messages` hold what people said, word for word (`CompactBoundaryEntry`). */
      readonly personsWords?: 'carried'
    }
  | {
      readonly kind: 'gave_up'
      /** Why, in a sentence. */
      readonly message: string
    }

/** Makes room in the conversation, by itself or by asking a model. */
export interface Compaction {
  /** Why the conversation is compacted. */
  readonly trigger: CompactionTrigger
  /**
   * Runs once for a request, and again in a resume that finds it unfinished; then what it asked before is answered from the record, so it should
   * ask the same in the same order. What it throws is a `gave_up`. A model is asked through `ask` alone: nothing else is in the budget.
   */
  run(scope: CompactionScope): Promise<CompactionResult>
}

/** What a compaction is handed. */
export interface CompactionScope {
  /** Aborted when the run is; after that a compaction is waited for at most the grace time. */
  readonly signal: AbortSignal
  // Spec R-CTX-6.
  /** Asks a model: reserved before and settled after, retried, on record and in the figures of the run. Never rejects. */
  readonly ask: (request: CompactionRequest) => Promise<CompactionReply>
  /** What a person and hooks want of the summary; empty for nothing. */
  readonly instructions: string
}

// Spec R-CTX-7.
/** How often one compaction may ask: once, and three times more with less of the conversation. */
export const compactionRequests = 4

/** The run as a layer sees it. */
export interface ContextView {
  /** State of the run. */
  readonly state: RunState
  /** The model of the next request. */
  readonly model: Model
  /** The system prompt of the next request. */
  readonly system: string
  /** The tools of the next request. */
  readonly tools: readonly ToolDefinition[]
  /** Tokens that the next request is estimated to have. */
  readonly estimatedTokens: number
  /** Of these, what is no message: system prompt and tools. */
  readonly fixedTokens: number
  /** Tokens of input that fit into a request to the model: as it was made, as the options say, or less where a refusal said so. */
  readonly contextWindow: number
  /** About how many tokens messages have, by what is known of how the provider counts. */
  readonly tokensOf: (messages: readonly ModelMessage[]) => number
  /** The same for the messages that the model is shown, from one to before another, at no cost that grows with their number. */
  readonly tokensBetween: (from: number, to: number) => number
  /** The same for those before one that hold long results. */
  readonly clearableBefore: (index: number) => number
}

/** Results that give way to short notes: the ids of their calls. */
export interface ClearedResults {
  /** Ids of the calls. */
  readonly calls: readonly string[]
  /** Tokens that this frees, estimated. */
  readonly freedTokens: number
}

/** No compaction helps: the run ends as `compaction_thrash`, with this message. */
export interface Thrash {
  readonly kind: 'thrash'
  /** Why, in a sentence with figures. */
  readonly message: string
}

/** A span of finished work to summarize beside the next turn. */
export interface CollapseStage {
  /** The first of the messages that the model is shown, and the one after the last. */
  readonly from: number
  /** The one after the last of them. */
  readonly to: number
  /** Tokens that a summary frees, estimated. */
  readonly freedTokens: number
  /** What to ask for the summary. */
  readonly question: CompactionRequest
}

// Spec R-CTX-1.
/** The four layers against a full context window, as a port. */
export interface ContextManager {
  /** Whether a conversation is compacted before it is too long; when not, the blocking limit applies. */
  readonly autoCompact: boolean
  /** Models that its compactions ask beside those of the run: priced and counted like these. */
  readonly models?: readonly Model[]
  /** Before a request, first: old results that give way to notes, or nothing. Where it is absent, none do. */
  clear?(view: ContextView): ClearedResults | undefined
  /** Before a request: a compaction that is due, `thrash` when compacting again would not help, or nothing. */
  beforeRequest(view: ContextView): Compaction | Thrash | 'thrash' | undefined
  /** Before a request: finished work that is worth a summary, which is asked for beside the turn. Where it is absent, none is. */
  stage?(view: ContextView): CollapseStage | undefined
  /** After a 413: staged collapses to commit, or `Thrash`. */
  drain(view: ContextView): Compaction | Thrash | undefined
  /** After a 413 with nothing to drain (`reactive`), and when a person wants it (`manual`). `Thrash` counts after a 413 alone. */
  compact(view: ContextView, trigger: 'reactive' | 'manual'): Compaction | Thrash | undefined
  /** Tokens from which on a conversation is compacted, for meters; Infinity when absent. */
  compactionThreshold?(model: Model, contextWindow: number): number
  /** Tokens from which on no request is made; Infinity for no limit. */
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

/** Tokens before the next threshold at which a person is told that little is left. */
const warningMargin = 20_000

/** How full a window is, with the thresholds of a context defence. */
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
