import {
  handlers,
  object,
  TerminalError,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import {
  leftOf,
  newBudget,
  noLease,
  raiseTo,
  release,
  setLimit,
  type Lease,
  type Leased,
  type TenantBudget,
} from './budget.ts'

/** The budget of a tenant, which is its key. */
export const budgetObject = 'halting_budget'

/** What a session wants to have in all, or has spent. */
export type LeaseRequest = {
  readonly session: string
  /** The turn of work at the session that asks: the number of its first request. */
  readonly turn: number
  /** Whole nano-dollars. */
  readonly nanos: number
}

/** What stands with a tenant, for whoever runs the fleet. */
export interface BudgetStatus {
  /** Null for no limit. */
  readonly limitUsd: number | null
  /** What its sessions have spent, or may still spend of what they hold. */
  readonly leasedUsd: number
  readonly leftUsd: number | null
  /** Sessions at work that hold a part. */
  readonly holders: number
}

const budgetKey = 'budget'
const leaseKey = (session: string): string => `lease/${session}`

export type BudgetHandlers = {
  /** What its sessions may spend together from now on, in US dollars; null for no limit. What they hold above it they keep. */
  readonly setLimit: (context: ObjectContext, usd: number | null) => Promise<void>
  /** Gives what the session may have spent in all. */
  readonly raiseTo: (context: ObjectContext, request: LeaseRequest) => Promise<number>
  /** The turn of work is over. */
  readonly release: (context: ObjectContext, request: LeaseRequest) => Promise<number>
  readonly status: (context: ObjectSharedContext) => Promise<BudgetStatus>
}

export function budgetDefinition(): VirtualObjectDefinition<typeof budgetObject, BudgetHandlers> {
  const readBudget = async (context: ObjectContext | ObjectSharedContext): Promise<TenantBudget> =>
    (await context.get<TenantBudget>(budgetKey)) ?? newBudget
  const change = async (
    context: ObjectContext,
    { session, turn, nanos }: LeaseRequest,
    how: (leased: Leased, turn: number, nanos: number) => Leased,
  ): Promise<number> => {
    if (typeof session !== 'string' || !isAmount(nanos) || !isAmount(turn))
      throw new TerminalError('A lease is asked for by { session, turn, nanos }.', { errorCode: 400 })
    const lease = (await context.get<Lease>(leaseKey(session))) ?? noLease
    const after = how({ budget: await readBudget(context), lease }, turn, nanos)
    context.set(budgetKey, after.budget)
    context.set(leaseKey(session), after.lease)
    return after.lease.nanos
  }
  return object({
    name: budgetObject,
    options: { enableLazyState: true },
    handlers: {
      setLimit: async (context: ObjectContext, usd: number | null): Promise<void> => {
        if (usd !== null && !(typeof usd === 'number' && usd >= 0))
          throw new TerminalError('A limit is a number of US dollars, or null.', { errorCode: 400 })
        context.set(budgetKey, setLimit(await readBudget(context), usd === null ? null : Math.floor(usd * 1e9)))
      },
      raiseTo: (context: ObjectContext, request: LeaseRequest): Promise<number> => change(context, request, raiseTo),
      release: (context: ObjectContext, request: LeaseRequest): Promise<number> => change(context, request, release),
      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<BudgetStatus> => {
        const budget = await readBudget(context)
        const { limitNanos, leasedNanos, holders } = budget
        const isLimited = limitNanos !== null
        return {
          limitUsd: isLimited ? limitNanos / 1e9 : null,
          leasedUsd: leasedNanos / 1e9,
          leftUsd: isLimited ? leftOf(budget) / 1e9 : null,
          holders,
        }
      }),
    },
  })
}

function isAmount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
