import {
  handlers,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import type { JsonObject } from '@halting/core'
import { requireProof } from '../access/guard.ts'
import { isJsonObject, leftOfBudget, maxNanos, newBudget, noLease, type Spent } from '@halting/core/adapters'
import { badInput } from '../service/check-input.ts'
import type { LeaseAnswer, LeaseAsk, LeasedSession, TenantBudget, TenantMoney } from './tenant-money.ts'
import { changeMoney, leasedSessions, readBudget, readLease, readQueue } from './tenant-state.ts'

/** Name of the object that holds the budget of a tenant, which is its key. */
export const budgetObject = 'halting_budget'

/** The total lease that a session requests. */
export type LeaseRequest = LeasedSession & {
  /** Turn of the work that asks: the number of its first request. */
  readonly turn: number
  /** Whole nano-dollars. */
  readonly nanos: number
}

/** The total that a session has spent. */
type SpentRequest = LeaseRequest & { readonly unknownNanos: number; readonly isOpened?: true }

/** The budget of a tenant, for operators. */
export interface BudgetStatus {
  /** Null for no limit. */
  readonly limitUsd: number | null
  /** Dollars that its sessions have spent and reported; each session reports when its work is over. */
  readonly settledUsd: number
  /** The part of it charged at the worst case, because the usage of a request is unknown. */
  readonly unknownUsd: number
  /** Dollars that running sessions have leased beyond that. They may have spent them since, may spend them, or return them. */
  readonly reservedUsd: number
  /** Sum of `settledUsd` and `reservedUsd`. */
  readonly leasedUsd: number
  /** What the tenant can still spend, in US dollars; null for no limit. */
  readonly leftUsd: number | null
  /** Running sessions that have a lease. */
  readonly holders: number
  /** Sessions that wait for money that others have reserved. */
  readonly waiting: number
}

/** A session that waits for money of its tenant. */
export interface LeaseWaiter {
  /** Id of the session. */
  readonly session: string
  /** How much more it requests than it has, in US dollars. */
  readonly wantedUsd: number
  /** How much more it needs at least, in US dollars. */
  readonly leastUsd: number
}

/** A running session and its lease. */
export interface LeaseHolder {
  /** Id of the session. */
  readonly session: string
  /** What it may spend in all. */
  readonly leasedUsd: number
  /** What it had spent when it last reported. */
  readonly settledUsd: number
}

/** Maximum number of sessions in one answer. */
const maxHolders = 1_000
/** Maximum number of leases in one call of `raiseAll`. */
export const maxLeasesPerCall = 500
/** Maximum limit: larger amounts could not be counted exactly. */
const maxUsd = Math.floor(maxNanos / 1e9)

export type BudgetHandlers = {
  /** Sets what its sessions may spend together, in US dollars; null for no limit. Existing leases above it stay. */
  readonly setLimit: (context: ObjectContext, usd: number | null) => Promise<void>
  /** Raises a lease. Returns what the session may spend in all. */
  readonly raiseTo: (context: ObjectContext, request: LeaseRequest) => Promise<number>
  /** Like `raiseTo`, for several leases, in order. */
  readonly raiseAll: (context: ObjectContext, requests: readonly LeaseRequest[]) => Promise<readonly number[]>
  /** Requests of processes that work at sessions, answered in order. */
  readonly ask: (context: ObjectContext, asks: readonly LeaseAsk[]) => Promise<readonly LeaseAnswer[]>
  /** Called when a new session spends from the budget. */
  readonly open: (context: ObjectContext, session: LeasedSession) => Promise<void>
  /** Called when the session receives no more requests. */
  readonly drop: (context: ObjectContext, session: LeasedSession) => Promise<void>
  /** Called when the work of a turn is over. */
  readonly release: (context: ObjectContext, request: SpentRequest) => Promise<number>
  /** Called when the session was removed; contains what it has spent if it was at work. */
  readonly close: (context: ObjectContext, request: LeasedSession & { readonly spent: Spent | null }) => Promise<number>
  /** Whether the session has a lease that it may still spend. */
  readonly isHeld: (context: ObjectSharedContext, session: LeasedSession) => Promise<boolean>
  readonly status: (context: ObjectSharedContext) => Promise<BudgetStatus>
  /** Sessions with a lease, the first thousand by name. */
  readonly holders: (context: ObjectSharedContext) => Promise<readonly LeaseHolder[]>
  /** Waiting sessions, the first thousand in order. */
  readonly waiters: (context: ObjectSharedContext) => Promise<readonly LeaseWaiter[]>
}

export function budgetDefinition(
  tokens?: readonly string[],
): VirtualObjectDefinition<typeof budgetObject, BudgetHandlers> {
  return object({
    name: budgetObject,
    options: {
      enableLazyState: true,
      // A call is repeated only while its answer is awaited.
      idempotencyRetention: { minutes: 10 },
      ...requireProof(tokens, ['open', 'drop', 'release', 'close', 'isHeld']),
    },
    handlers: {
      setLimit: async (context: ObjectContext, usd: number | null): Promise<void> => {
        if (usd !== null && !(typeof usd === 'number' && usd >= 0 && usd <= maxUsd))
          throw badInput(`A limit must be a number of US dollars from 0 to ${maxUsd}, or null.`)
        await changeBudget(context, [], (money) => money.setLimit(usd === null ? null : Math.floor(usd * 1e9)))
      },
      raiseTo: async (context: ObjectContext, input: LeaseRequest): Promise<number> => {
        const [nanos = 0] = await raiseAll(context, [checkLeaseRequest(input)])
        return nanos
      },
      raiseAll: async (context: ObjectContext, input: readonly LeaseRequest[]): Promise<readonly number[]> => {
        if (!Array.isArray(input) || input.length > maxLeasesPerCall)
          throw badInput(`Give a list of at most ${maxLeasesPerCall} lease requests.`)
        return raiseAll(context, input.map(checkLeaseRequest))
      },
      ask: async (context: ObjectContext, input: readonly LeaseAsk[]): Promise<readonly LeaseAnswer[]> => {
        if (!Array.isArray(input) || input.length > maxLeasesPerCall)
          throw badInput(`Give a list of at most ${maxLeasesPerCall} lease requests.`)
        return askAll(context, input.map(checkAsk))
      },
      open: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, session: LeasedSession): Promise<void> =>
          changeBudget(context, [session], (money) => money.open(session)),
      ),
      drop: handlers.object.exclusive(
        { ingressPrivate: true },
        (context: ObjectContext, session: LeasedSession): Promise<void> =>
          changeBudget(context, [session], (money) => money.drop(session)),
      ),
      release: handlers.object.exclusive(
        { ingressPrivate: true },
        async (context: ObjectContext, input: SpentRequest): Promise<number> => {
          const { turn, nanos, ...session } = checkLeaseRequest(input)
          const { unknownNanos, isOpened } = input
          const opened = { ...session, ...(isOpened === true && { isOpened }) }
          return changeBudget(context, [session], (money) => money.release(opened, turn, { nanos, unknownNanos }))
        },
      ),
      close: handlers.object.exclusive(
        { ingressPrivate: true },
        async (
          context: ObjectContext,
          { spent, ...session }: LeasedSession & { readonly spent: Spent | null },
        ): Promise<number> => changeBudget(context, [session], (money) => money.close(session, spent)),
      ),
      isHeld: handlers.object.shared(
        { ingressPrivate: true },
        async (context: ObjectSharedContext, session: LeasedSession): Promise<boolean> =>
          (await readLease(context, session))?.isHeld === true,
      ),
      status: handlers.object.shared(readBudgetStatus),
      holders: handlers.object.shared(readHolders),
      waiters: handlers.object.shared(readWaiters),
    },
  })
}

async function readBudgetStatus(context: ObjectSharedContext): Promise<BudgetStatus> {
  const budget = (await readBudget(context)) ?? newBudget
  const { limitNanos, leasedNanos, spentNanos, unknownNanos, holders, waiting = 0 }: TenantBudget = budget
  const isLimited = limitNanos !== null
  return {
    limitUsd: isLimited ? limitNanos / 1e9 : null,
    settledUsd: spentNanos / 1e9,
    unknownUsd: unknownNanos / 1e9,
    reservedUsd: (leasedNanos - spentNanos) / 1e9,
    leasedUsd: leasedNanos / 1e9,
    leftUsd: isLimited ? leftOfBudget(budget) / 1e9 : null,
    holders,
    waiting,
  }
}

async function readHolders(context: ObjectSharedContext): Promise<readonly LeaseHolder[]> {
  const found = await leasedSessions(context)
  const holders: LeaseHolder[] = []
  // The engine's promises must be awaited one at a time.
  for (const session of found.slice(0, maxHolders)) {
    const { nanos, spentNanos } = (await readLease(context, session)) ?? noLease
    holders.push({ session: session.session, leasedUsd: nanos / 1e9, settledUsd: spentNanos / 1e9 })
  }
  return holders
}

async function readWaiters(context: ObjectSharedContext): Promise<readonly LeaseWaiter[]> {
  const waiters: LeaseWaiter[] = []
  for (const { session, began, nanos, leastNanos } of (await readQueue(context)).slice(0, maxHolders)) {
    const has = (await readLease(context, { session, began }))?.nanos ?? 0
    const more = (wanted: number): number => Math.max(0, wanted - has) / 1e9
    waiters.push({ session, wantedUsd: more(nanos), leastUsd: more(leastNanos) })
  }
  return waiters
}

async function changeBudget<Answer>(
  context: ObjectContext,
  sessions: readonly LeasedSession[],
  change: (money: TenantMoney) => Answer,
): Promise<Answer> {
  return (await changeMoney(context, sessions, change, checkTotal)).answer
}

function checkTotal({ leasedNanos }: TenantBudget): void {
  if (!Number.isSafeInteger(leasedNanos))
    throw badInput(`All leases of a tenant together are limited to ${maxUsd} US dollars.`)
}

async function askAll(context: ObjectContext, asks: readonly LeaseAsk[]): Promise<readonly LeaseAnswer[]> {
  const all = (money: TenantMoney): readonly LeaseAnswer[] => asks.map((each) => money.ask(each))
  const { answer, money } = await changeMoney(context, asks, all, checkTotal)
  return answer.map((each) => ({ ...each, waiting: money.queue.length }))
}

function raiseAll(context: ObjectContext, requests: readonly LeaseRequest[]): Promise<readonly number[]> {
  return changeBudget(context, requests, (money) =>
    requests.map(({ turn, nanos, ...session }) => money.raise(session, turn, nanos)),
  )
}

/** Input from the ingress may be anything. @throws TerminalError 400 */
function checkAsk(input: unknown): LeaseAsk {
  const { kind, process, sequence, isOpened } = isJsonObject(input) ? input : {}
  const isPlain = kind === 'open' || kind === 'leave'
  const { nanos, ...session } = checkLeaseRequest(isPlain && isJsonObject(input) ? { ...input, nanos: 0 } : input)
  if (typeof process !== 'string' || process === '' || !isAmount(sequence))
    throw badInput('A lease request of a process needs { process, sequence }.')
  const asking = { ...session, process, sequence, ...(isOpened === true && { isOpened }) }
  if (isPlain) return { ...asking, kind }
  return { ...asking, ...checkAskKind(input, nanos) }
}

type AskOfKind<Kind extends LeaseAsk['kind']> = Omit<
  Extract<LeaseAsk, { readonly kind: Kind }>,
  keyof LeasedSession | 'turn' | 'process' | 'sequence' | 'isOpened'
>

/** @throws TerminalError 400 */
function checkAskKind(input: unknown, nanos: number): AskOfKind<'raise'> | AskOfKind<'join'> | AskOfKind<'report'> {
  const { kind, leastNanos, chunkNanos, isOver, invocation, spent } = isJsonObject(input) ? input : {}
  const chunk = isAmount(chunkNanos) && { chunkNanos }
  const isOfLeast = isAmount(leastNanos) && leastNanos <= nanos
  if (kind === 'raise' && (leastNanos === undefined || isOfLeast))
    return { kind, nanos, ...chunk, ...(isOfLeast && { leastNanos }), ...(isOver === true && { isOver }) }
  if (kind === 'join' && isOfLeast && typeof invocation === 'string' && invocation !== '')
    return { kind, nanos, leastNanos, invocation }
  if (kind === 'report' && isSpent(spent)) return { kind, nanos, spent, ...chunk }
  throw badInput('A lease request needs { kind, nanos }, with the fields of its kind.')
}

function isSpent(value: unknown): value is Spent & JsonObject {
  return isJsonObject(value) && isAmount(value['nanos']) && isAmount(value['unknownNanos'])
}

/** Input from the ingress may be anything. @throws TerminalError 400 */
function checkLeaseRequest(input: unknown): LeaseRequest {
  const { session, began, turn, nanos } = isJsonObject(input) ? input : {}
  const isNamed = typeof session === 'string' && session !== '' && typeof began === 'string' && !began.includes('/')
  // The last turn is reserved for removed sessions.
  if (isNamed && isAmount(nanos) && isAmount(turn) && turn < maxNanos) return { session, began, turn, nanos }
  throw badInput('A lease request needs { session, began, turn, nanos }.')
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
