import { HaltingError, type SdkResult } from '@halting/core'
import {
  handlers,
  object,
  TerminalError,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { engineTime } from '../http/engine-clock.ts'
import { requireProof } from '../access/guard.ts'
import type { AttemptsObject } from '../attempts/attempts-object.ts'
import { attemptsObject } from '../attempts/set-aside.ts'
import { trackedAttempts } from '../attempts/attempt-tracker.ts'
import { packRecords } from '../engine/batch.ts'
import type { AttemptOptions } from '../engine/attempt.ts'
import { isCut, type RenewAfter } from '../engine/cluster-log.ts'
import { storageFormat, newerFormatMessage } from '../engine/format.ts'
import { restateEngine } from '../engine/restate-engine.ts'
import type { PayloadReference, PayloadStore } from '../payloads/payload-store.ts'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import { LeftError } from '../worker/departure.ts'
import { readAnswer, isFinal, readRunResult, type RequestAnswer } from './answers.ts'
import { sizeLimitWithStore, sizeLimitWithoutStore, type RequestSizeLimit } from './check-request.ts'
import type { Tenancy } from './tenancy.ts'
import type { Spent } from '@halting/core/adapters'
import { longPollPorts, waitForChange } from './long-poll.ts'
import { fullStatus, type FullStatus } from './full-status.ts'
import { checkId, checkFields, checkRecordCount, checkRequest } from './check-input.ts'
import { CarriedStateBuilder } from './carried-run.ts'
import { Conversation, type ObjectState } from './conversation.ts'
import {
  forkPages,
  pageVerdict,
  type AdoptionState,
  type ForkPage,
  adoptionKey,
  readInheritedSpending,
} from './fork.ts'
import { readRecordsPage } from './stored-records.ts'
import type { WaitingPage } from './mailbox-state.ts'
import { moneySignal, type NumberedRequest, type PushRequest } from './messages.ts'
import { namedHandlers } from './named-handlers.ts'
import {
  mailboxObject,
  sessionObject,
  type WorkStart,
  type Listener,
  type MailboxObject,
  type MailboxStatus,
  type SessionObject,
} from './names.ts'
import { parseRemoveRequest, removeSession } from './remove-session.ts'
import { sessionMetadata } from './session-metadata.ts'
import type { SessionServiceOptions } from './session-options.ts'
import type { SessionTurn } from './session-turn.ts'
import { SessionsOfProcess } from './sessions-of-process.ts'
import { noSpending, withoutInherited } from './spending.ts'
import { readStatus, withTenant, type SessionStatus } from './status.ts'
import { WorkRecord } from './work-record.ts'
import type { WorkEnd } from './work.ts'

/** Outcome of the last work at a session. */
export type WorkDone = WorkEnd & {
  /** The results of its runs, in order. */
  readonly results: readonly SdkResult[]
  /** Requests that could not be handled, and why. */
  readonly refused: readonly {
    /** Id of the request. */
    readonly id: string
    /** Why, in a sentence. */
    readonly because: string
  }[]
}

/** A waiting call is suspended soon, so that it uses none of the engine's concurrency. */
const suspendAfter = { seconds: 1 }

/** A call with an idempotency key can be repeated after a lost connection and is then the same call. Nothing of it is retained once it is over. */
const waitingCallOptions = { inactivityTimeout: suspendAfter, idempotencyRetention: 0 }

/** The caller asks again, so a call whose worker is lost is not retried for long. */
const longPollRetries = {
  initialInterval: 200,
  maxInterval: 2_000,
  exponentiationFactor: 2,
  maxAttempts: 10,
  onMaxAttempts: 'kill',
} as const

/** Bounds what a worker reads of an invocation when it takes over a session, and what the engine stores. */
const defaultRenewal: RenewAfter = { records: 20_000, bytes: 20_000_000 }

const doneKey = 'done'

/** Defines the virtual object of a session: one invocation at a time works at it, and anyone may call its shared handlers. */
export function sessionDefinition(options: SessionServiceOptions): VirtualObjectDefinition<string, unknown> {
  const session = new SessionHandlers(options)
  const { push, size } = session
  return object({
    name: sessionObject,
    metadata: sessionMetadata(options.takesOver === true),
    options: {
      ...requireProof(options.tokens, ['work', 'adopt']),
      enableLazyState: true,
      explicitCancellation: true,
      // The records already contain what happened. A retained journal would store the whole conversation again for each prompt.
      journalRetention: 0,
      // The engine restarts its inactivity timer with every batch, and running work writes one at least every 20 s.
      inactivityTimeout: { minutes: 1 },
      abortTimeout: { minutes: 5 },
      // Retrying loses nothing and repeats nothing, so the engine retries until a person intervenes.
      retryPolicy: {
        initialInterval: 200,
        maxInterval: 10_000,
        exponentiationFactor: 2,
        maxAttempts: 1000,
        onMaxAttempts: 'pause',
      },
      onJournalMismatchErrors: 'pause',
    },
    handlers: {
      ...exclusiveHandlers(session),
      ...namedHandlers({ push, status: readStatus, size }),
      ...sharedHandlers(session),
    },
  })
}

/** Handlers that change the session. The engine runs one of them at a time. */
function exclusiveHandlers(session: SessionHandlers) {
  return {
    /** Works at the session until nothing is left to do. Called by its mailbox. */
    work: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext) => session.work(context)),

    /** Deletes everything stored for the session once no work is running. Later requests under its id start a new session. */
    remove: handlers.object.exclusive(
      { idempotencyRetention: 0 },
      async (context: ObjectContext, input: unknown): Promise<boolean> =>
        removeSession(context, parseRemoveRequest(input), session.options),
    ),

    /** Begins as a copy of another session. Returns false if this session is already something else. */
    adopt: handlers.object.exclusive({ ingressPrivate: true }, (context: ObjectContext, page: ForkPage) =>
      session.adopt(context, page),
    ),
  }
}

/** Handlers that read the session or pass a request on to its mailbox. They run while the session works. */
function sharedHandlers(session: SessionHandlers) {
  const { options, size, push } = session
  return {
    /** Accepts any request. Returns false for a repeated request and for one that has no effect now. */
    request: handlers.object.shared((context: ObjectSharedContext, input: unknown) =>
      push(context, checkRequest(input, size)),
    ),

    status: handlers.object.shared((context: ObjectSharedContext) => session.status(context)),

    /** Long poll: returns the status once it differs from the one that the caller has. A waiting call is suspended soon and then costs nothing. */
    changed: handlers.object.shared(
      { inactivityTimeout: suspendAfter, retryPolicy: longPollRetries },
      (context: ObjectSharedContext, input: unknown): Promise<FullStatus> =>
        waitForChange(
          input,
          () => context.rand.uuidv4(),
          longPollPorts(context, mailboxOf(context), options.stalledOf),
        ),
    ),

    done: handlers.object.shared((context: ObjectSharedContext) => context.get<WorkDone>(doneKey)),

    /** Returns the outcome of a request; with `wait`, only once it is known. */
    result: handlers.object.shared(waitingCallOptions, (context: ObjectSharedContext, input: unknown) =>
      waitForResult(context, mailboxOf(context), input),
    ),

    /** Returns the result of a run, by its id. */
    runResult: handlers.object.shared(
      async (context: ObjectSharedContext, runId: unknown): Promise<SdkResult | null> =>
        (await readRunResult(context, checkId(runId))) ?? null,
    ),

    /** Returns records from this number on, as many as fit into one answer. */
    records: handlers.object.shared((context: ObjectSharedContext, since: unknown) =>
      readRecordsPage(context, checkRecordCount(since), session.storeOf(context)),
    ),

    /** Creates a session with the conversation of the finished runs. Returns its id: `as`, or a new one. */
    fork: handlers.object.shared((context: ObjectSharedContext, input: unknown) => session.fork(context, input)),
  }
}

function mailboxOf(context: ObjectContext | ObjectSharedContext) {
  return context.objectClient<MailboxObject>({ name: mailboxObject }, context.key)
}

/** What the handlers of a session do, with the options that they share. */
class SessionHandlers {
  readonly options: SessionServiceOptions
  /** How large a request may be. */
  readonly size: RequestSizeLimit
  readonly #sessions: SessionsOfProcess
  readonly #attemptAt: ReturnType<typeof trackedAttempts>

  constructor(options: SessionServiceOptions) {
    this.options = options
    this.size = options.payloads === undefined ? sizeLimitWithoutStore : sizeLimitWithStore
    this.#sessions = new SessionsOfProcess(options)
    this.#attemptAt = trackedAttempts(options)
  }

  /** Puts a request into the mailbox of the session. */
  readonly push = (context: ObjectSharedContext, request: PushRequest): Promise<boolean> =>
    mailboxOf(context).push(request)

  storeOf(context: ObjectContext | ObjectSharedContext): PayloadStore | undefined {
    return this.options.payloads?.of(context.key)
  }

  async status(context: ObjectSharedContext): Promise<FullStatus> {
    const mailbox = await mailboxOf(context).status('')
    const session = await readStatus(context)
    return fullStatus({ mailbox, session, stalled: this.options.stalledOf?.(context.key) })
  }

  async fork(context: ObjectSharedContext, input: unknown): Promise<{ id: string }> {
    const { as = context.rand.uuidv4() } = checkFields(input, ['as'])
    const id = checkId(as)
    const { opening } = await mailboxOf(context).status('')
    const conversation = await Conversation.read(readOnlyState(context), this.storeOf(context))
    const copy = context.objectClient<SessionObject>({ name: sessionObject }, id)
    const now = await engineTime(context)
    for (const page of forkPages(context.key, opening, (await conversation.records()).ended, now))
      if (id === context.key || !(await copy.adopt(page)))
        throw new TerminalError(`The session ${id.slice(0, 100)} already exists.`, { errorCode: 409 })
    return { id }
  }

  async adopt(context: ObjectContext, page: ForkPage): Promise<boolean> {
    const adopted = await context.get<AdoptionState>(adoptionKey)
    const { isWorking, waiting } = await mailboxOf(context).status('')
    const status = await readStatus(context)
    const hasBegun = isWorking || waiting > 0 || (adopted === null && status.records > 0)
    const verdict = pageVerdict(adopted, page, hasBegun)
    if (verdict !== 'new') return verdict === 'again'
    await mailboxOf(context).adopt(page.opening)
    await storeForkPage(context, { page, status, store: this.storeOf(context) })
    context.set<AdoptionState>(adoptionKey, { from: page.from, pages: page.number + 1, spent: page.spent })
    return true
  }

  async work(context: ObjectContext): Promise<void> {
    if (this.options.departure?.soon.aborted === true) throw new LeftError()
    const mailbox = mailboxOf(context)
    const begun = await mailbox.begin(context.request().id)
    for (let page: WaitingPage = begun; page.requests.length > 0;) {
      const end = await this.#workTurn(context, begun, await readAllWaiting(page, mailbox))
      if (end === 'continues elsewhere') {
        // Attempts are counted per invocation: the next one has other attempts, and counts its iterations anew.
        context.objectSendClient<AttemptsObject>({ name: attemptsObject }, context.key).forget()
        context.objectSendClient<SessionObject>({ name: sessionObject }, context.key).work()
        return
      }
      page = await mailbox.settle(end.upTo)
    }
  }

  async #workTurn(
    context: ObjectContext,
    { opening, tenancy, refusal, sinceMs }: Omit<WorkStart, keyof WaitingPage>,
    requests: readonly NumberedRequest[],
  ): Promise<WorkEnd | 'continues elsewhere'> {
    const { options } = this
    const sessions = this.#sessions
    const [{ key: sessionId }, { id: invocation }] = [context, context.request()]
    const [{ number: turn } = { number: 0 }] = requests
    const store = this.storeOf(context)
    const inherited = tenancy === undefined ? noSpending : await readInheritedSpending(context)
    const conversation = await Conversation.read(context, store)
    // Up to this line, every call to the engine is one that a worker of the newer version makes too.
    if (conversation.format > storageFormat) throw new HaltingError('driver', newerFormatMessage(conversation.format))
    const { carried, texts } = conversation
    const run = new CarriedStateBuilder(carried, await conversation.agents())
    const status = withTenant(await readStatus(context), tenancy)
    const record = new WorkRecord(context, status, { listener: options.listener, carried, run })
    const identity = { sessionId, tenant: tenancy?.tenant }
    const work = { sessionId, opening, tenancy, inherited, refusal, turn, carried, record, invocation }
    const end = await this.#attemptAt({ ...identity, turn }, (onOpen) => ({
      engine: restateEngine(context),
      store,
      texts,
      renewAfter: options.renewAfter ?? defaultRenewal,
      ...mailOptions(requests, mailboxOf(context), tenancy !== undefined),
      turn: (gone) => sessions.register({ ...identity, sinceMs, gone, settled: record.settled }),
      begin: async (found, granted?: SessionTurn) =>
        sessions.begin({ ...work, attempt: found, before: await conversation.records(), onOpen }, granted),
      onBatch: (batch) => record.onBatch(batch),
      onWatch: (message) => record.onWatch(message),
      departure: options.departure,
    }))
    const once = async (put: () => Promise<PayloadReference>): Promise<PayloadReference> => context.run('put', put)
    if (isCut(end)) {
      await conversation.append(record.conversation, once, record.handover)
      record.leave()
      return 'continues elsewhere'
    }
    await conversation.append(record.conversation, once)
    // This cast is safe: `SessionWork` wrote the value.
    const done = end as unknown as WorkEnd
    const { results, refused } = record
    context.set<WorkDone>(doneKey, { ...done, results, refused })
    record.leave()
    if (tenancy !== undefined) await releaseLease(context, { tenancy, turn, done, inherited })
    return done
  }
}

/** Returns to the tenant's budget what the session did not spend. A run that is still open keeps its lease: the next turn takes it over. */
async function releaseLease(
  context: ObjectContext,
  {
    tenancy: { tenant, began, isOpened },
    turn,
    done: { committedNanos, unknownNanos },
    inherited,
  }: { readonly tenancy: Tenancy; readonly turn: number; readonly done: WorkEnd; readonly inherited: Spent },
): Promise<void> {
  if (committedNanos === null) return
  const spent = withoutInherited({ nanos: committedNanos, unknownNanos: unknownNanos ?? 0 }, inherited)
  await context
    .objectClient<BudgetHandlers>({ name: budgetObject }, tenant)
    .release({ session: context.key, began, turn, ...spent, ...(isOpened && { isOpened }) })
}

/** Stores the records of another session, which arrive unpacked, like the session's own. */
async function storeForkPage(
  context: ObjectContext,
  {
    page,
    status,
    store,
  }: { readonly page: ForkPage; readonly status: SessionStatus; readonly store: PayloadStore | undefined },
): Promise<void> {
  const record = new WorkRecord(context, status)
  const { kept: stored, texts } = await context.run('pack', () => packRecords(page.records, store))
  record.storeTexts(texts)
  record.storeRecords(page.records, stored, page.atMs)
  const conversation = await Conversation.read(context, store)
  await conversation.append(record.conversation, async (put) => context.run('put', put))
}

/** A shared handler must not write. */
function readOnlyState(context: ObjectSharedContext): ObjectState {
  const refuse = (): never => {
    throw new HaltingError('internal', 'A shared handler writes nothing.')
  }
  return { get: (key) => context.get(key), set: refuse, clear: refuse }
}

type WaitingRequests = { waiting(after: number): Promise<WaitingPage> }

/** All waiting requests, if they do not fit into one answer. They are complete before the work begins: later ones come after them. */
async function readAllWaiting(first: WaitingPage, mailbox: WaitingRequests): Promise<readonly NumberedRequest[]> {
  const all = [...first.requests]
  for (let { hasMore } = first; hasMore;) {
    const page = await mailbox.waiting(all.at(-1)?.number ?? 0)
    all.push(...page.requests)
    hasMore = page.hasMore
  }
  return all
}

/** How requests reach the work, including those that the engine does not deliver. */
function mailOptions(
  requests: readonly NumberedRequest[],
  mailbox: WaitingRequests,
  hasTenant: boolean,
): Pick<AttemptOptions, 'mail' | 'missedBefore' | 'bells'> {
  return {
    mail: requests.map((request) => JSON.stringify(request)),
    missedBefore: missedMailReader(requests, async (after) => readAllWaiting(await mailbox.waiting(after), mailbox)),
    bells: hasTenant ? [moneySignal] : [],
  }
}

interface ResultMailbox {
  status(id: string): Promise<MailboxStatus>
  listen(listener: Listener): Promise<boolean>
}

async function waitForResult(
  context: ObjectSharedContext,
  mailbox: ResultMailbox,
  input: unknown,
): Promise<RequestAnswer> {
  const { id: name, wait = false } = checkFields(input, ['id', 'wait'])
  const id = checkId(name)
  for (;;) {
    const answer = await readAnswer(context, id, false)
    if (isFinal(answer)) return answer
    if (wait !== true) {
      const { isWaiting } = await mailbox.status(id)
      return readAnswer(context, id, isWaiting)
    }
    const { id: awakeable, promise } = context.awakeable<void>()
    const ifWaiting = answer.state === 'unknown' && { ifWaiting: id }
    if (!(await mailbox.listen({ awakeable, ...ifWaiting }))) return readAnswer(context, id, false)
    // It may have been settled before the listener was registered.
    if (!isFinal(await readAnswer(context, id, false))) await promise
  }
}

/**
 * Returns a reader for requests that arrived while the invocation awaited something else, such as its state: the engine delivers only the last of them. Numbers increase by one
 * (M3 of mailbox.ts), so a gap reveals the earlier ones, which still wait in the mailbox.
 * @param mail Requests that the invocation has already.
 * @param waiting Reads the requests that wait after a number.
 */
export function missedMailReader(
  mail: readonly NumberedRequest[],
  waiting: (after: number) => Promise<readonly NumberedRequest[]>,
): (message: string) => Promise<readonly string[]> {
  let upTo = mail.at(-1)?.number ?? 0
  return async (message) => {
    // Only the mailbox sends messages.
    const { number } = JSON.parse(message) as NumberedRequest
    const after = upTo
    upTo = Math.max(upTo, number)
    if (number <= after + 1) return []
    const all = await waiting(after)
    return all.filter((request) => request.number < number).map((request) => JSON.stringify(request))
  }
}
