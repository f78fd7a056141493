/** Where a process is killed, relative to a call with side effects. */
export const moments = [
  'before_intent',
  'intent_not_synced',
  'before_effect',
  'during_effect',
  'before_result',
  'after_result',
  'after_reply',
  'before_lap',
] as const

export type Moment = (typeof moments)[number]

/** The orders for a process of the torture test. */
export interface Orders {
  readonly folder: string
  readonly turns: number
  readonly maxBudgetUsd: number
  /** The process reports the given occurrence of this moment and waits there to be killed. */
  readonly stopAt: { readonly moment: Moment; readonly time: number } | null
}

/** What the process that reaches the end writes to `end.json`. */
export interface Left {
  readonly reason: string
  readonly committedUsd: number
  readonly answer: string
  readonly messages: readonly unknown[]
  readonly problems: readonly string[]
}

/** A line of `paid.jsonl`: a reply that the service charged. */
export interface Paid {
  readonly process: number
  readonly turn: number
  readonly costUsd: number
  readonly problems: readonly string[]
}

export const pricePerToken = { input: 1e-6, output: 5e-6 }
