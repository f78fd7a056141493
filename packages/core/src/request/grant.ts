import type { SharedLimit } from '../limits/run-budget.ts'
import type { StandingBudget } from '../limits/standing-budgets.ts'
import type { LeaseShortage } from '../limits/lease.ts'
import type { Amount, Reserve } from '../limits/ledger.ts'
import type { Model, WebSearchUse } from '../model/model.ts'

/** US dollars of a budget that other sessions have reserved, and the number of these sessions. */
export type OtherReservations = Pick<LeaseShortage, 'reservedUsd' | 'holders'>

/** The reservation of an attempt, as recorded in its intent. */
export type Grant = {
  readonly granted: true
  readonly model: string
  /** Zero if no limit requires a reservation. */
  readonly nanos: number
  readonly tokens: number
  /** The maximum cost with the shortest useful reply, and with a reply of the full cap. Stored so that a limit that is set later can be applied. */
  readonly least?: Amount
  readonly most?: Amount
  /** The cap of the reply, lowered if the budget required it. */
  readonly maxTokens: number
  readonly lowered: 'usd' | 'tokens' | null
  /** Whether the lease lowered the cap. */
  readonly isOfLease?: true
  /** What other sessions had reserved of the lease's budget at that time. */
  readonly leaseOthers?: OtherReservations
  /** The budget that the run shares with others lowered the cap. */
  readonly shared?: SharedLimit
  /** Whether a standing budget lowered the cap. */
  readonly isOfStanding?: true
  /** The standing budget, if known. */
  readonly standing?: Pick<StandingBudget, 'name' | 'resetsAt'>
  /** Whether the window leaves only the cap for the reply, so that a longer reply cannot be requested. */
  readonly isOfWindow?: true
}

export type OverBudget = {
  readonly granted: false
  readonly currency: 'usd' | 'tokens'
  readonly needed: number
  readonly available: number
  /** For a subagent, and while background agents are running: the limit that is too small, and what all its users have settled against it. */
  readonly of?: { readonly limit: number; readonly settled: number }
  /** Whether the request would fit if the lease offered more. */
  readonly isOfLease?: true
  /** What other sessions have reserved of the lease's budget. */
  readonly leaseOthers?: OtherReservations
  /** The request would fit if the budget shared with other runs had more left. */
  readonly shared?: SharedLimit
  /** The request would fit if this standing budget had more left. */
  readonly standing?: StandingBudget
}

/** Upper bounds of a request. */
export interface RequestBounds {
  readonly model: Model
  /** The cap of the reply, before the budget lowers it. */
  readonly cap: number
  /** Whether the window leaves no more than `cap`. */
  readonly isOfWindow?: true | undefined
  /** How the service may search the web for this request, at a fee per search. */
  readonly webSearch?: WebSearchUse
  /** The maximum number of input tokens that this model can be billed for. */
  inputBound(model: Model): number
  /** Amounts that must be left after paying for the reply. */
  reserves(): readonly Reserve[]
  /** Whether the caller can continue without an answer, so that the request does not wait for reservations of others. */
  readonly isOptional?: true
}

/** Estimated tokens of a prompt, and how many of them the service has not counted yet. */
export interface PromptEstimate {
  readonly tokens: number
  readonly uncountedTokens: number
}

/** The cap of a reply. `isOfWindow`: the window leaves no more than this cap in addition to the prompt. */
export interface ReplyCap {
  readonly cap: number
  readonly isOfWindow?: true
}
