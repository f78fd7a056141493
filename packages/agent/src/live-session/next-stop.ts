/** What would end the run next if it went on as it does. */
export interface NextStop {
  readonly reason: 'max_turns' | 'max_budget_usd' | 'token_limit' | 'time_limit' | 'no_progress'
  /** Turns until then. */
  readonly turns: number
  /** By what the last turns used, and not by a count. */
  readonly isEstimate: boolean
}
