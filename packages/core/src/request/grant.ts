import type { SharedLimit } from '../limits/run-budget.ts'
import type { StandingBudget } from '../limits/standing.ts'
import type { LeaseShortage } from '../limits/lease.ts'
import type { Amount, HeldBack } from '../limits/ledger.ts'
import type { Model, WebSearchUse } from '../model/model.ts'

/** What other sessions have reserved of a budget, in US dollars, and how many they are. */
export type LeaseOthers = Pick<LeaseShortage, 'reservedUsd' | 'holders'>

/** What was reserved for an attempt before it was made, as recorded in its intent. */
export type Grant = {
  readonly granted: true
  readonly model: string
  /** Nothing where no limit asks for it. */
  readonly nanos: number
  readonly tokens: number
  /** What it can come to at most with the least useful reply, and with one of the whole cap: for whoever asks later what a limit makes of it. */
  readonly least?: Amount
  readonly most?: Amount
  /** The reply's cap, lowered where the budget asked for it. */
  readonly maxTokens: number
  readonly lowered: 'usd' | 'tokens' | null
  /** It was lowered by the lease, which gives no more. */
  readonly isOfLease?: true
  /** What other sessions had reserved of the budget of the lease then. */
  readonly leaseOthers?: LeaseOthers
  /** It was lowered by the budget that the run shares with others. */
  readonly shared?: SharedLimit
  /** It was lowered by a standing budget. */
  readonly isOfStanding?: true
  /** Which one, where it is known. */
  readonly standing?: Pick<StandingBudget, 'name' | 'resetsAt'>
  /** The cap is what the window leaves beside the prompt: a longer reply cannot be asked for. */
  readonly isOfWindow?: true
}

export type OverBudget = {
  readonly granted: false
  readonly currency: 'usd' | 'tokens'
  readonly needed: number
  readonly available: number
  /** For a subagent, and while agents work in the background: the limit that has too little, and what is settled against it by all who share it. */
  readonly of?: { readonly limit: number; readonly settled: number }
  /** It would fit, if the lease gave more. */
  readonly isOfLease?: true
  /** What other sessions have reserved of the budget of the lease. */
  readonly leaseOthers?: LeaseOthers
  /** It would fit, if the budget that the run shares with others had more left. */
  readonly shared?: SharedLimit
  /** It would fit, if this standing budget had more left. */
  readonly standing?: StandingBudget
}

/** What a request can come to at most. */
export interface RequestBounds {
  readonly model: Model
  /** The reply's cap, before the budget lowers it. */
  readonly cap: number
  /** The window leaves no more than `cap`. */
  readonly isOfWindow?: true | undefined
  /** The service may search the web for it, at a fee for each search. */
  readonly webSearch?: WebSearchUse
  /** The most input that this model can be billed for. */
  inputBound(model: Model): number
  /** What has to be left once its reply is paid. */
  heldBack(): readonly HeldBack[]
  /** Nobody needs its answer to go on: it does not wait for what others have reserved. */
  readonly isOptional?: true
}

/** About how many tokens a prompt has, and how many of these the service has not counted yet. */
export interface PromptEstimate {
  readonly tokens: number
  readonly uncountedTokens: number
}

/** A reply's cap. `isOfWindow`: the window leaves no more than this beside the prompt. */
export interface ReplyCap {
  readonly cap: number
  readonly isOfWindow?: true
}
