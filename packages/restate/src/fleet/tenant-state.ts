import type { ObjectContext, ObjectSharedContext } from '@restatedev/restate-sdk'
import { moneyMail, moneySignal } from '../service/messages.ts'
import {
  leaseId,
  TenantMoney,
  type LeasedSession,
  type TenantBudget,
  type TenantLease,
  type Waiter,
} from './tenant-money.ts'

// How the object of a tenant stores its money: the budget, the queue if a session waits, and a key for each lease.

const budgetKey = 'budget'
const queueKey = 'queue'
const leasePrefix = 'lease/'
const holderPrefix = 'holder/'

export async function readBudget(context: ObjectContext | ObjectSharedContext): Promise<TenantBudget | null> {
  return context.get<TenantBudget>(budgetKey)
}

export async function readLease(
  context: ObjectContext | ObjectSharedContext,
  leased: LeasedSession,
): Promise<TenantLease | null> {
  return context.get<TenantLease>(`${leasePrefix}${leaseId(leased)}`)
}

export async function readQueue(context: ObjectContext | ObjectSharedContext): Promise<readonly Waiter[]> {
  return (await context.get<readonly Waiter[]>(queueKey)) ?? []
}

/** Running sessions with a lease, by name. */
export async function leasedSessions(context: ObjectSharedContext): Promise<readonly LeasedSession[]> {
  const keys = (await context.stateKeys()).filter((key) => key.startsWith(holderPrefix))
  return keys.map(parseHolderKey).toSorted((a, b) => (a.session < b.session ? -1 : 1))
}

/** The invocation in which a session began contains no slash. */
function parseHolderKey(key: string): LeasedSession {
  const rest = key.slice(holderPrefix.length)
  const slash = rest.indexOf('/')
  return { began: rest.slice(0, slash), session: rest.slice(slash + 1) }
}

/**
 * Changes the money of the tenant, with the leases of these sessions. Then serves waiting sessions for as long as there is money, and notifies their work.
 * @throws what `check` throws: then nothing is changed.
 */
export async function changeMoney<Answer>(
  context: ObjectContext,
  sessions: readonly LeasedSession[],
  change: (money: TenantMoney) => Answer,
  check: (budget: TenantBudget) => void,
): Promise<{ readonly answer: Answer; readonly money: TenantMoney }> {
  const ids = [...new Set(sessions.map(leaseId))]
  // All are requested before the first is awaited: the engine answers them together, and each wait is for a durable write.
  const budgetToCome = readBudget(context)
  const leasesToCome = ids.map((id) => [id, context.get<TenantLease>(`${leasePrefix}${id}`)] as const)
  const budget = await budgetToCome
  const queue = budget?.waiting === undefined ? null : await readQueue(context)
  const money = new TenantMoney(budget, queue)
  const before = new Map<string, TenantLease | null>()
  const load = (id: string, lease: TenantLease | null): void => {
    before.set(id, lease)
    money.load(id, lease)
  }
  for (const [id, lease] of leasesToCome) load(id, await lease)
  const answer = change(money)
  for (let missing = money.serve(); missing !== undefined; missing = money.serve())
    load(missing, await context.get<TenantLease>(`${leasePrefix}${missing}`))
  check(money.budget)
  context.set(budgetKey, money.budget)
  if (money.queue.length > 0) context.set(queueKey, money.queue)
  else if (queue !== null) context.clear(queueKey)
  for (const [id, lease] of before) writeLease(context, id, lease, money.leaseOf(id))
  for (const { invocation } of money.served)
    context
      .invocation(invocation as Parameters<typeof context.invocation>[0])
      .signal(moneySignal)
      .resolve(moneyMail)
  return { answer, money }
}

function writeLease(context: ObjectContext, id: string, before: TenantLease | null, after: TenantLease | null): void {
  if (after === before) return
  if (after === null) context.clear(`${leasePrefix}${id}`)
  else context.set(`${leasePrefix}${id}`, after)
  const [wasHeld, isHeld] = [before?.isHeld === true, after?.isHeld === true]
  if (isHeld && !wasHeld) context.set(`${holderPrefix}${id}`, true)
  if (!isHeld && wasHeld) context.clear(`${holderPrefix}${id}`)
}
