import { foldSession, splitRuns, type StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import type { AttemptsObject } from '../attempts/attempts-object.ts'
import { attemptsObject } from '../attempts/set-aside.ts'
import { unpackRecords } from '../engine/batch.ts'
import type { ServedRecord } from '../engine/packed-record.ts'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { checkFields, checkRecordCount } from './check-input.ts'
import { readCarriedState } from './conversation.ts'
import { readInheritedSpending } from './fork.ts'
import { readRecordsPage } from './stored-records.ts'
import { mailboxObject, sessionObject, type MailboxObject, type RemoveRequest, type SessionObject } from './names.ts'
import type { SessionServiceOptions } from './session-options.ts'
import { withoutInherited, sessionSpending } from './spending.ts'
import { readStatus } from './status.ts'
import type { Tenancy } from './tenancy.ts'

/** Parses a removal request. @throws TerminalError 400 */
export function parseRemoveRequest(input: unknown): RemoveRequest {
  const { ifRecords, behind } = checkFields(input, ['ifRecords', 'behind'])
  return {
    ...(ifRecords !== undefined && { ifRecords: checkRecordCount(ifRecords) }),
    ...(behind !== undefined && { behind: checkRecordCount(behind) }),
  }
}

/**
 * Deletes everything stored for the session once no work is running. Later requests under its id start a new session. With `ifRecords`, keeps the session if it has another
 * number of records or anything waits in it. Returns whether it was removed.
 */
export async function removeSession(
  context: ObjectContext,
  { ifRecords, behind }: RemoveRequest,
  { payloads, onRemove }: Pick<SessionServiceOptions, 'payloads' | 'onRemove'>,
): Promise<boolean> {
  const mailbox = context.objectClient<MailboxObject>({ name: mailboxObject }, context.key)
  const { tenancy, isWorking, waiting } = await mailbox.status('')
  if (ifRecords !== undefined || (await readCarriedState(context)) !== undefined) {
    const { records, state } = await readStatus(context)
    const isAsSeen = records === ifRecords && !isWorking && waiting === 0 && state === 'idle'
    if (ifRecords !== undefined && !isAsSeen) return false
    // The invocation that continues the run is next in line, so the removal also waits for that invocation. If it was
    // there and did nothing, it was killed.
    if (ifRecords === undefined && isWorking && behind !== records) {
      context.objectSendClient<SessionObject>({ name: sessionObject }, context.key).remove({ behind: records })
      return false
    }
  }
  if (tenancy !== undefined) await closeLease(context, tenancy, payloads?.of(context.key))
  await mailbox.forget()
  await context.objectClient<AttemptsObject>({ name: attemptsObject }, context.key).forget()
  await context.run('remove payloads', async () => payloads?.of(context.key).remove())
  await context.run('remove what the worker has', async () => onRemove?.(context.key))
  context.clearAll()
  return true
}

/** The spending of a removed session stays in the budget; what it had leased beyond that becomes free. */
async function closeLease(
  context: ObjectContext,
  { tenant, began }: Tenancy,
  store: PayloadStore | undefined,
): Promise<void> {
  const budget = context.objectClient<BudgetHandlers>({ name: budgetObject }, tenant)
  const session = { session: context.key, began }
  const isHeld = await budget.isHeld(session)
  const spent = isHeld
    ? withoutInherited(
        sessionSpending(foldSession(splitRuns(await allRecords(context, store)))),
        await readInheritedSpending(context),
      )
    : null
  await budget.close({ ...session, spent })
}

async function allRecords(context: ObjectContext, store: PayloadStore | undefined): Promise<readonly StepRecord[]> {
  const all: ServedRecord[] = []
  for (;;) {
    const { records } = await readRecordsPage(context, all.length, store)
    if (records.length === 0) return unpackRecords(all, store)
    all.push(...records)
  }
}
