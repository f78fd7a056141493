import type { StopSignalJson } from './signal.ts'

/** A shared budget that ended a run before the run's own limits were reached. JSON. */
export interface SharedBudgetEnd {
  /** `standing`: a daily or monthly budget of this machine; `lease`: the budget of a cluster tenant, or of several runs of a program. */
  readonly kind: 'standing' | 'lease'
  /** Its name for people: `$20 a day`. */
  readonly budget: string
  /** Spending of all users in its period, in US dollars; null if it is not recorded. */
  readonly usedUsd: number | null
  /** The limit of the period, in US dollars; null if it is not recorded. */
  readonly limitUsd: number | null
  /** Start of its next period: ISO 8601, with the offset of the local time zone; null for none. */
  readonly resetsAt: string | null
}

/** The shared budget that raised a signal; undefined for any other signal. */
export function sharedBudgetOf({
  reason,
  context,
  source,
}: Pick<StopSignalJson, 'reason' | 'context' | 'source'>): SharedBudgetEnd | undefined {
  const { budget, used, limit, resetsAt } = context
  if (typeof budget !== 'string') return undefined
  const isOfDollars = reason === 'cost_limit'
  const kind = source === 'standing' ? 'standing' : 'lease'
  return {
    kind,
    budget,
    usedUsd: isOfDollars && typeof used === 'number' ? used : null,
    limitUsd: isOfDollars && typeof limit === 'number' ? limit : null,
    resetsAt: typeof resetsAt === 'string' ? resetsAt : null,
  }
}
