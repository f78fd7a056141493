import {
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { guarded } from '../access/guard.ts'
import {
  closeLease,
  isJsonObject,
  leftOfBudget,
  mostNanos,
  newBudget,
  noLease,
  raiseLease,
  releaseLease,
  setBudgetLimit,
  type Lease,
  type Leased,
  type SharedBudget,
  type Spent,
} from '@halting/core/adapters'
import { badInput } from '../service/checked.ts'

/** The budget of a tenant, which is its key. */
export const budgetObject = 'halting_budget'

/** Which session: one of the same name that came before it was another one. */
type LeasedSession = {
  readonly session: string
  /** Where it was given its tenant: no other of its name has that. */
  readonly began: string
}

/** What a session wants to have in all. */
export type LeaseRequest = LeasedSession & {
  /** The turn of work at the session that asks: the number of its first request. */
  readonly turn: number
  /** Whole nano-dollars. */
  readonly nanos: number
}

/** What a session has spent in all. */
type SpentRequest = LeaseRequest & { readonly unknownNanos: number }

/** What stands with a tenant, for whoever runs the fleet. */
export interface BudgetStatus {
  /** Null for no limit. */
  readonly limitUsd: number | null
  /** What its sessions have spent, as far as they have told: each does when its work is over. */
  readonly settledUsd: number
  /** Of that, charged at worst case: nobody could say what a request came to. */
  readonly unknownUsd: number
  /** What sessions at work hold beyond that: they have spent it since, may spend it, or give it back. */
  readonly reservedUsd: number
  /** `settledUsd` and `reservedUsd` together. */
  readonly leasedUsd: number
  /** What the tenant can still spend, in US dollars; null for no limit. */
  readonly leftUsd: number | null
  /** Sessions at work that hold a part. */
  readonly holders: number
}

/** A session at work, and its part. */
export interface LeaseHolder {
  /** Id of the session. */
  readonly session: string
  /** What it may have spent in all. */
  readonly leasedUsd: number
  /** What it had spent when it told last. */
  readonly settledUsd: number
}

const budgetKey = 'budget'
const leaseKey = ({ session, began }: LeasedSession): string => `lease/${began}/${session}`
const holderPrefix = 'holder/'
const holderKey = ({ session, began }: LeasedSession): string => `${holderPrefix}${began}/${session}`
/** One answer has so many. */
const mostHolders = 1_000
/** One call of `raiseAll` has so many. */
export const mostLeasesAtOnce = 500
/** A cent more would not be counted exactly. */
const mostUsd = Math.floor(mostNanos / 1e9)

export type BudgetHandlers = {
  /** What its sessions may spend together from now on, in US dollars; null for no limit. What they hold above it they keep. */
  readonly setLimit: (context: ObjectContext, usd: number | null) => Promise<void>
  /** Gives what the session may have spent in all. */
  readonly raiseTo: (context: ObjectContext, request: LeaseRequest) => Promise<number>
  /** The same for several, in their order. */
  readonly raiseAll: (context: ObjectContext, requests: readonly LeaseRequest[]) => Promise<readonly number[]>
  /** The turn of work is over. */
  readonly release: (context: ObjectContext, request: SpentRequest) => Promise<number>
  /** The session is gone; with what it has spent where it was at work. */
  readonly close: (context: ObjectContext, request: LeasedSession & { readonly spent: Spent | null }) => Promise<number>
  /** Whether the session holds a part that it may still spend. */
  readonly isHeld: (context: ObjectSharedContext, session: LeasedSession) => Promise<boolean>
  readonly status: (context: ObjectSharedContext) => Promise<BudgetStatus>
  /** Those that hold a part, the first thousand by their names. */
  readonly holders: (context: ObjectSharedContext) => Promise<readonly LeaseHolder[]>
}

export function budgetDefinition(
  tokens?: readonly string[],
): VirtualObjectDefinition<typeof budgetObject, BudgetHandlers> {
  return object({
    name: budgetObject,
    options: {
      enableLazyState: true,
      // A call comes again while its answer is waited for, no later.
      idempotencyRetention: { minutes: 10 },
      ...guarded(tokens, ['release', 'close', 'isHeld']),
    },
    handlers: {
      setLimit: async (context: ObjectContext, usd: number | null): Promise<void> => {
        if (usd !== null && !(typeof usd === 'number' && usd >= 0 && usd <= mostUsd))
          throw badInput(`A limit is a number of US dollars from 0 to ${mostUsd}, or null.`)
        context.set(budgetKey, setBudgetLimit(await readBudget(context), usd === null ? null : Math.floor(usd * 1e9)))
      },
      raiseTo: async (context: ObjectContext, given: LeaseRequest): Promise<number> => {
        const [nanos = 0] = await raiseAll(context, [checkedRequest(given)])
        return nanos
      },
      raiseAll: async (context: ObjectContext, given: readonly LeaseRequest[]): Promise<readonly number[]> => {
        if (!Array.isArray(given) || given.length > mostLeasesAtOnce)
          throw badInput(`Leases are asked for in a list of at most ${mostLeasesAtOnce}.`)
        return raiseAll(context, given.map(checkedRequest))
      },
      release: handlers.object.exclusive(
        { ingressPrivate: true },
        async (context: ObjectContext, given: SpentRequest): Promise<number> => {
          const { turn, nanos, ...whose } = checkedRequest(given)
          const { unknownNanos } = given
          return change(context, whose, (leased) => releaseLease(leased, turn, { nanos, unknownNanos }))
        },
      ),
      close: handlers.object.exclusive(
        { ingressPrivate: true },
        async (
          context: ObjectContext,
          { spent, ...whose }: LeasedSession & { readonly spent: Spent | null },
        ): Promise<number> => change(context, whose, (leased) => closeLease(leased, spent)),
      ),
      isHeld: handlers.object.shared(
        { ingressPrivate: true },
        async (context: ObjectSharedContext, whose: LeasedSession): Promise<boolean> =>
          (await context.get<Lease>(leaseKey(whose)))?.isHeld === true,
      ),
      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<BudgetStatus> => {
        const budget = await readBudget(context)
        const { limitNanos, leasedNanos, spentNanos, unknownNanos, holders } = budget
        const isLimited = limitNanos !== null
        return {
          limitUsd: isLimited ? limitNanos / 1e9 : null,
          settledUsd: spentNanos / 1e9,
          unknownUsd: unknownNanos / 1e9,
          reservedUsd: (leasedNanos - spentNanos) / 1e9,
          leasedUsd: leasedNanos / 1e9,
          leftUsd: isLimited ? leftOfBudget(budget) / 1e9 : null,
          holders,
        }
      }),
      holders: handlers.object.shared(async (context: ObjectSharedContext): Promise<readonly LeaseHolder[]> => {
        const keys = (await context.stateKeys()).filter((key) => key.startsWith(holderPrefix))
        const found = keys.map((key) => sessionOf(key)).toSorted((a, b) => (a.session < b.session ? -1 : 1))
        const holders: LeaseHolder[] = []
        // The engine's promises are awaited one at a time.
        for (const whose of found.slice(0, mostHolders)) {
          const { nanos, spentNanos } = (await context.get<Lease>(leaseKey(whose))) ?? noLease
          holders.push({ session: whose.session, leasedUsd: nanos / 1e9, settledUsd: spentNanos / 1e9 })
        }
        return holders
      }),
    },
  })
}

async function readBudget(context: ObjectContext | ObjectSharedContext): Promise<SharedBudget> {
  return (await context.get<SharedBudget>(budgetKey)) ?? newBudget
}

function raiseAll(context: ObjectContext, requests: readonly LeaseRequest[]): Promise<readonly number[]> {
  const changes = requests.map(({ turn, nanos, ...whose }) => ({
    whose,
    how: (leased: Leased) => raiseLease(leased, turn, nanos),
  }))
  return changeAll(context, changes)
}

/** What becomes of the lease of one session. */
interface Change {
  readonly whose: LeasedSession
  readonly how: (leased: Leased) => Leased
}

async function change(context: ObjectContext, whose: LeasedSession, how: Change['how']): Promise<number> {
  const [nanos = 0] = await changeAll(context, [{ whose, how }])
  return nanos
}

/** Gives what each has then, in their order. */
async function changeAll(context: ObjectContext, changes: readonly Change[]): Promise<readonly number[]> {
  const sessions = new Map(changes.map(({ whose }) => [leaseKey(whose), whose]))
  // All are asked for before one is awaited: the engine answers them together, and each wait is for a durable write.
  const budgetToCome = context.get<SharedBudget>(budgetKey)
  const leasesToCome = [...sessions.keys()].map((key) => [key, context.get<Lease>(key)] as const)
  const before = (await budgetToCome) ?? newBudget
  const held = new Map<string, Lease>()
  for (const [key, lease] of leasesToCome) held.set(key, (await lease) ?? noLease)
  const leases = new Map(held)
  let budget = before
  const given = changes.map(({ whose, how }) => {
    const key = leaseKey(whose)
    const leased = how({ budget, lease: leases.get(key) ?? noLease })
    budget = leased.budget
    leases.set(key, leased.lease)
    return leased.lease.nanos
  })
  if (!Number.isSafeInteger(budget.leasedNanos)) throw badInput(`A tenant has at most ${mostUsd} US dollars in all.`)
  context.set(budgetKey, budget)
  for (const [key, whose] of sessions) {
    const [was, is] = [held.get(key) ?? noLease, leases.get(key) ?? noLease]
    context.set(key, is)
    if (is.isHeld && !was.isHeld) context.set(holderKey(whose), true)
    if (!is.isHeld && was.isHeld) context.clear(holderKey(whose))
  }
  return given
}

/** Where a session began holds no slash. */
function sessionOf(key: string): LeasedSession {
  const rest = key.slice(holderPrefix.length)
  const slash = rest.indexOf('/')
  return { began: rest.slice(0, slash), session: rest.slice(slash + 1) }
}

/** What comes over the ingress may be anything. @throws TerminalError 400 */
function checkedRequest(given: unknown): LeaseRequest {
  const { session, began, turn, nanos } = isJsonObject(given) ? given : {}
  const isNamed = typeof session === 'string' && session !== '' && typeof began === 'string' && !began.includes('/')
  // The last turn is that of a session that is gone.
  if (isNamed && isAmount(nanos) && isAmount(turn) && turn < mostNanos) return { session, began, turn, nanos }
  throw badInput('A lease is asked for by { session, began, turn, nanos }.')
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
