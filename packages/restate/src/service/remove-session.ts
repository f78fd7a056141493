import { foldSession, runsOf, type StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import type { AttemptsObject } from '../attempts/attempts-object.ts'
import { attemptsObject } from '../attempts/set-aside.ts'
import { wholeRecords } from '../engine/batch.ts'
import type { ServedRecord } from '../engine/packed-record.ts'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { checkedInput, checkedNumber } from './checked.ts'
import { carriedIn } from './conversation.ts'
import { inheritedBy } from './fork.ts'
import { recordsSince } from './kept-records.ts'
import { mailboxObject, sessionObject, type MailboxObject, type RemoveRequest, type SessionObject } from './names.ts'
import type { SessionServiceOptions } from './session-options.ts'
import { spentBeyond, spentIn } from './spent.ts'
import { readStatus } from './status.ts'
import type { Tenancy } from './tenancy.ts'

/** What somebody who removes a session says of it. @throws TerminalError 400 */
export function removeRequestIn(given: unknown): RemoveRequest {
  const { ifRecords, behind } = checkedInput(given, ['ifRecords', 'behind'])
  return {
    ...(ifRecords !== undefined && { ifRecords: checkedNumber(ifRecords) }),
    ...(behind !== undefined && { behind: checkedNumber(behind) }),
  }
}

/**
 * All that is kept of the session goes, when no work goes on. What is asked under its name afterwards is asked of a new one. With `ifRecords` it stays where it has another
 * number of records, or something waits in it. Gives whether it is gone.
 */
export async function removeSession(
  context: ObjectContext,
  { ifRecords, behind }: RemoveRequest,
  { payloads, onRemove }: Pick<SessionServiceOptions, 'payloads' | 'onRemove'>,
): Promise<boolean> {
  const mailbox = context.objectClient<MailboxObject>({ name: mailboxObject }, context.key)
  const { tenancy, isWorking, waiting } = await mailbox.status('')
  if (ifRecords !== undefined || (await carriedIn(context)) !== undefined) {
    const { records, state } = await readStatus(context)
    const isAsSeen = records === ifRecords && !isWorking && waiting === 0 && state === 'idle'
    if (ifRecords !== undefined && !isAsSeen) return false
    // The invocation that goes on with the run is next in line: this waits until that is over, too. If it was there and did nothing, somebody has killed it.
    if (ifRecords === undefined && isWorking && behind !== records) {
      context.objectSendClient<SessionObject>({ name: sessionObject }, context.key).remove({ behind: records })
      return false
    }
  }
  if (tenancy !== undefined) await giveUpLease(context, tenancy, payloads?.of(context.key))
  await mailbox.forget()
  await context.objectClient<AttemptsObject>({ name: attemptsObject }, context.key).forget()
  await context.run('remove payloads', async () => payloads?.of(context.key).remove())
  await context.run('remove what the worker has', async () => onRemove?.(context.key))
  context.clearAll()
  return true
}

/** What a session that is removed has spent stays spent; what it held beyond that is free. */
async function giveUpLease(
  context: ObjectContext,
  { tenant, began }: Tenancy,
  store: PayloadStore | undefined,
): Promise<void> {
  const budget = context.objectClient<BudgetHandlers>({ name: budgetObject }, tenant)
  const whose = { session: context.key, began }
  const isHeld = await budget.isHeld(whose)
  const spent = isHeld
    ? spentBeyond(spentIn(foldSession(runsOf(await allRecords(context, store)))), await inheritedBy(context))
    : null
  await budget.close({ ...whose, spent })
}

async function allRecords(context: ObjectContext, store: PayloadStore | undefined): Promise<readonly StepRecord[]> {
  const kept: ServedRecord[] = []
  for (;;) {
    const { records } = await recordsSince(context, kept.length, store)
    if (records.length === 0) return wholeRecords(kept, store)
    kept.push(...records)
  }
}
