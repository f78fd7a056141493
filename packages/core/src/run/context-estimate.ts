import type { Model } from '../model/model.ts'
import type { PromptCount } from '../state/state.ts'

/** An estimate of the conversation, in tokens, and what it is of. */
export interface ContextEstimate {
  readonly tokens: number
  /** Of the transcript. */
  readonly length: number
  readonly counted: PromptCount
  readonly model: Model
  /** How the provider was known to count. */
  readonly ratio: number
}
