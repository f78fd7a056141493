import {
  handlers,
  object,
  TerminalError,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import { engineTime } from '../http/engine-clock.ts'
import { mailSignal, watchSignal } from '../engine/attempt.ts'
import { mailboxVersion, type MailboxState } from './full-status.ts'
import {
  begin,
  listen,
  push,
  settle,
  withWatchNotice,
  unwatch,
  wake,
  wakeWatchers,
  watch,
  type Mailbox,
} from './mailbox.ts'
import {
  isKnown,
  isWaiting,
  storeOpening,
  readMailbox,
  readOpening,
  readWaitingAfter,
  writeMailbox,
  writePushOutcome,
  writeSettled,
  type WaitingPage,
} from './mailbox-state.ts'
import type { Opening, PushRequest } from './messages.ts'
import {
  mailboxObject,
  sessionObject,
  type WorkStart,
  type Listener,
  type MailboxObject,
  type MailboxStatus,
  type SeenState,
  type SessionObject,
  type Watch,
  type WatchResult,
} from './names.ts'
import { assignTenancy, readTenancy } from './tenancy.ts'
import type { SessionServiceOptions } from './session-options.ts'

function defaultTenant({ tenant }: Opening): string | undefined {
  return typeof tenant === 'string' && tenant !== '' ? tenant : undefined
}

/** Wakes all callers that wait. Returns the mailbox without them. */
function wakeListenersAndWatchers(context: ObjectContext, mailbox: Mailbox): Mailbox {
  const { mailbox: awake, listeners } = wake(mailbox)
  for (const listener of listeners) context.resolveAwakeable(listener)
  return wakeAllWatchers(context, awake)
}

/** Wakes all watchers. Returns the mailbox without them. */
function wakeAllWatchers(context: ObjectContext, mailbox: Mailbox): Mailbox {
  const { mailbox: awake, awakeables } = wakeWatchers(mailbox)
  for (const awakeable of awakeables) context.resolveAwakeable(awakeable, mailboxStateOf(awake))
  return awake
}

function signal(context: ObjectContext, invocation: string, name: string, text: string): void {
  context
    .invocation(invocation as Parameters<typeof context.invocation>[0])
    .signal(name)
    .resolve(text)
}

/** Notifies the work that there are watchers, if it has to know. `seen`: the state that they have seen; null if unknown. */
function notifyWork(context: ObjectContext, invocation: string | undefined, seen: SeenState | null): void {
  if (invocation !== undefined) signal(context, invocation, watchSignal, JSON.stringify(seen))
}

/** Wakes those that wait for a change and, unless `only` is given, the work that listens for settled requests. */
async function wakeMailbox(context: ObjectContext, only?: 'watchers'): Promise<void> {
  const mailbox = await readMailbox(context)
  const isWatched = mailbox.watchers !== undefined || mailbox.watched !== undefined
  if (only === 'watchers') {
    if (isWatched) writeMailbox(context, wakeAllWatchers(context, mailbox))
  } else if (isWatched || mailbox.listeners !== undefined)
    writeMailbox(context, wakeListenersAndWatchers(context, mailbox))
}

/** The requests of a session, as an object of the engine. Its handlers are short, so it accepts requests while the session works. */
export function mailboxDefinition({
  tenantOf = defaultTenant,
}: Pick<SessionServiceOptions, 'tenantOf'> = {}): VirtualObjectDefinition<string, MailboxObject> {
  return object({
    name: mailboxObject,
    // Only sessions call it: requests from the ingress go through the handlers of a session.
    options: { enableLazyState: true, journalRetention: 0, ingressPrivate: true },
    handlers: {
      push: pushRequest,

      begin: (context: ObjectContext, invocation: string): Promise<WorkStart> =>
        beginWork(context, invocation, tenantOf),

      /** Deletes everything. Callers that wait are woken. */
      forget: async (context: ObjectContext): Promise<void> => {
        wakeListenersAndWatchers(context, await readMailbox(context))
        context.clearAll()
      },

      waiting: async (context: ObjectContext, after: number): Promise<WaitingPage> =>
        readWaitingAfter(context, await readMailbox(context), after),

      settle: async (context: ObjectContext, upTo: number): Promise<WaitingPage> => {
        const before = await readMailbox(context)
        const mailbox = wakeListenersAndWatchers(context, settle(before, upTo))
        writeSettled(context, before, mailbox)
        await dropLeaseIfClosed(context, mailbox)
        return mailbox.worker === undefined ? { requests: [], hasMore: false } : readWaitingAfter(context, mailbox, 0)
      },

      /** Registers an awakeable that is resolved when a request is settled. Returns false if none will be. */
      listen: async (context: ObjectContext, { awakeable, ifWaiting }: Listener): Promise<boolean> => {
        const mailbox = await readMailbox(context)
        if (mailbox.worker === undefined) return false
        if (ifWaiting !== undefined && !(await isWaiting(context, mailbox, ifWaiting))) return false
        writeMailbox(context, listen(mailbox, awakeable))
        return true
      },

      wake: wakeMailbox,

      /** Registers an awakeable that is resolved with the state of the mailbox when anything changes. Refused if the state differs already. */
      watch: registerWatch,

      unwatch: async (context: ObjectContext, by: string): Promise<void> =>
        writeMailbox(context, unwatch(await readMailbox(context), by)),

      /** Stores the opening of another session for a new one. */
      adopt: (context: ObjectContext, opening: Opening): Promise<void> => storeOpening(context, opening),

      /** `id`: the id of the request in question, or empty. */
      status: handlers.object.shared(async (context: ObjectSharedContext, id: string): Promise<MailboxStatus> => {
        const mailbox = await readMailbox(context)
        const tenancy = await readTenancy(context)
        return {
          ...mailboxStateOf(mailbox),
          isWaiting: id !== '' && (await isWaiting(context, mailbox, id)),
          opening: (await readOpening(context)) ?? {},
          ...(tenancy !== undefined && { tenancy }),
        }
      }),
    },
  })
}

/** A closed session receives no more requests: the tenant's budget drops its lease and keeps its spending. */
async function dropLeaseIfClosed(context: ObjectContext, { worker, isClosed }: Mailbox): Promise<void> {
  if (isClosed !== true || worker !== undefined) return
  const tenancy = await readTenancy(context)
  if (tenancy?.isOpened !== true) return
  const { tenant, began } = tenancy
  context.objectSendClient<BudgetHandlers>({ name: budgetObject }, tenant).drop({ session: context.key, began })
}

export function mailboxStateOf({ worker, isClosed, waiting, next }: Mailbox): MailboxState {
  return { isWorking: worker !== undefined, isClosed: isClosed === true, waiting: waiting.length, asked: next }
}

async function pushRequest(context: ObjectContext, { opening, ...named }: PushRequest): Promise<boolean> {
  if (opening !== undefined) await storeOpening(context, opening)
  const pushed = push(await readMailbox(context), named, await isKnown(context, named.id))
  if (pushed.kind === 'closed')
    throw new TerminalError('The session is closed. Fork it to continue its conversation.', { errorCode: 409 })
  if (pushed.kind === 'again') return false
  const mailbox = wakeAllWatchers(context, pushed.mailbox)
  await writePushOutcome(context, named.id, { ...pushed, mailbox })
  if (pushed.kind === 'moot') {
    await dropLeaseIfClosed(context, mailbox)
    return false
  }
  const { request, call } = pushed
  const { worker } = mailbox
  if (call) context.objectSendClient<SessionObject>({ name: sessionObject }, context.key).work()
  else if (typeof worker === 'string') signal(context, worker, mailSignal, JSON.stringify(request))
  return true
}

async function registerWatch(context: ObjectContext, { awakeable, by, ifStill, seen }: Watch): Promise<WatchResult> {
  const before = await readMailbox(context)
  const state = mailboxStateOf(before)
  if (mailboxVersion(state) !== ifStill) return { ...state, isWatching: false }
  const { mailbox, notify } = watch(before, { by, awakeable })
  writeMailbox(context, mailbox)
  notifyWork(context, notify, seen)
  return { ...state, isWatching: true }
}

async function beginWork(
  context: ObjectContext,
  invocation: string,
  tenantOf: (opening: Opening) => string | undefined,
): Promise<WorkStart> {
  const { mailbox, notify } = withWatchNotice(begin(await readMailbox(context), invocation))
  writeMailbox(context, mailbox)
  // What each watcher has seen is not stored, so they are woken at once.
  notifyWork(context, notify, null)
  const opening = (await readOpening(context)) ?? {}
  const page = await readWaitingAfter(context, mailbox, 0)
  // A session that was removed leaves no state.
  if (page.requests.length === 0) return { ...page, opening }
  const { isNew, ...tenancy } = await assignTenancy(context, invocation, () => tenantOf(opening))
  // This is the last call to the engine, so that attempts of a version without it can be continued.
  const sinceMs = await engineTime(context)
  if (isNew === true && tenancy.tenancy !== undefined) {
    const { tenant, began } = tenancy.tenancy
    await context.objectClient<BudgetHandlers>({ name: budgetObject }, tenant).open({ session: context.key, began })
  }
  return { ...page, opening, ...tenancy, sinceMs }
}
