import type { StopSignalJson } from './signal.ts'

/** A budget that others draw on as well and that ended a run: its own limits were not reached. JSON. */
export interface SharedBudgetEnd {
  /** `standing`: a budget of a day or a month of this machine; `lease`: that of a tenant of a cluster, or of several runs of a program. */
  readonly kind: 'standing' | 'lease'
  /** As people read it: `$20 a day`. */
  readonly budget: string
  /** What all together had spent of it in its period, in US dollars; null where the record does not say. */
  readonly usedUsd: number | null
  /** The limit of the period, in US dollars; null where the record does not say. */
  readonly limitUsd: number | null
  /** When its next period begins: ISO 8601, with the offset of the local time zone; null where it has none. */
  readonly resetsAt: string | null
}

/** The budget that raised a signal; undefined for a signal of anything else. */
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
