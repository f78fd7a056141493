import type { ModelMessage, Usage } from '../messages.ts'
import type { Model } from '../model/model.ts'
import type { EffectScope } from '../steps/steps.ts'
import type { RunState } from '../state.ts'

/** What a compaction came to: messages in place of everything before, or that it gave up. */
export type CompactionResult =
  | {
      readonly kind: 'compacted'
      readonly messages: readonly ModelMessage[]
      readonly preTokens: number
      readonly postTokens: number
      /** What its own requests cost. */
      readonly billed?: { readonly model: string; readonly usage: Usage }
    }
  | { readonly kind: 'gave_up'; readonly message: string }

/** A compaction that is due, to be run by the loop as one step. */
export interface Compaction {
  readonly trigger: 'auto' | 'reactive' | 'collapse'
  /** One leaf effect; never rejects. */
  run(scope: EffectScope): Promise<CompactionResult>
}

/** What a layer of the context defence decides by. */
export interface ContextView {
  readonly state: RunState
  readonly model: Model
  /** Tokens that the next request is estimated to have. */
  readonly estimatedTokens: number
}

/** The four layers against a full context window (spec R-CTX-1), as a port. */
export interface ContextDefence {
  /** Whether a conversation is compacted before it is too long; when not, the blocking limit applies. */
  readonly autoCompact: boolean
  /** Before a request: a compaction that is due, `thrash` when compacting again would not help, or nothing. */
  beforeRequest(view: ContextView): Compaction | 'thrash' | undefined
  /** After a 413: staged collapses to commit. */
  drain(view: ContextView): Compaction | undefined
  /** After a 413 with nothing to drain. */
  compact(view: ContextView): Compaction | undefined
  /** Tokens from which on no request is made; Infinity for no limit. */
  blockingLimit(model: Model): number
}

/** Tokens of the window that must be left for a reply; with fewer no request is made. */
const blockingMargin = 3_000

/** Only the blocking limit. Nothing is compacted, so a prompt that is too long ends the run. */
export const plainContext: ContextDefence = Object.freeze<ContextDefence>({
  autoCompact: false,
  beforeRequest: () => undefined,
  drain: () => undefined,
  compact: () => undefined,
  blockingLimit: (model) => model.contextWindow - blockingMargin,
})
