/** What would end the run next if it went on as it does. */
export interface NextStop {
  readonly reason: 'max_turns' | 'max_budget_usd' | 'token_limit' | 'time_limit' | 'no_progress'
  /** Turns until then. */
  readonly turns: number
  /** By what the last turns used, and not by a count. */
  readonly isEstimate: boolean
}

/** What is left, and what a turn takes of it; null for no limit, and for what is not known yet. */
export interface LeftOfRun {
  readonly turns: number | null
  readonly usd: number | null
  readonly tokens: number | null
  readonly ms: number | null
  /** How often the newest turns may still come again, where they have come again; null where they have not. */
  readonly repeats: number | null
  /** Means of the last turns; null before the first is done. */
  readonly perTurn: { readonly usd: number; readonly tokens: number; readonly ms: number } | null
}

/** The nearest of all that would stop it; the earlier in this list where two are as near. Null where nothing would. */
export function nextStop({ turns, usd, tokens, ms, repeats, perTurn }: LeftOfRun): NextStop | null {
  const counted = (reason: NextStop['reason'], left: number | null): readonly NextStop[] =>
    left === null || left === Infinity ? [] : [{ reason, turns: Math.max(0, left), isEstimate: false }]
  const estimated = (reason: NextStop['reason'], left: number | null, each = 0): readonly NextStop[] => {
    if (left === null || left === Infinity) return []
    if (left <= 0) return [{ reason, turns: 0, isEstimate: true }]
    return each > 0 ? [{ reason, turns: Math.floor(left / each), isEstimate: true }] : []
  }
  const all = [
    ...counted('max_turns', turns),
    ...counted('no_progress', repeats),
    ...estimated('max_budget_usd', usd, perTurn?.usd),
    ...estimated('token_limit', tokens, perTurn?.tokens),
    ...estimated('time_limit', ms, perTurn?.ms),
  ]
  return all.toSorted((one, other) => one.turns - other.turns)[0] ?? null
}
