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
import { guarded } from '../access/guard.ts'
import type { AttemptsObject } from '../attempts/attempts-object.ts'
import { attemptsObject } from '../attempts/set-aside.ts'
import { notedAttempts } from '../attempts/noted-attempts.ts'
import { packedRecords } from '../engine/batch.ts'
import type { AttemptOptions } from '../engine/attempt.ts'
import { isCut, type RenewAfter } from '../engine/cluster-log.ts'
import { keptFormat, laterFormat } from '../engine/format.ts'
import { restateEngine } from '../engine/restate-engine.ts'
import type { PayloadReference, PayloadStore } from '../payloads/payload-store.ts'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import { LeftError } from '../worker/departure.ts'
import { answerTo, isOver, resultOfRun, type RequestAnswer } from './answers.ts'
import { anyRequest, requestWithoutStore } from './check-request.ts'
import { changedPorts, whenChanged } from './changed.ts'
import { fullStatus, type FullStatus } from './full-status.ts'
import { checkedId, checkedInput, checkedNumber, checkedRequest } from './checked.ts'
import { RunSoFar } from './carried-run.ts'
import { Conversation, type State } from './conversation.ts'
import { adoptedPages, pageIn, type Adopted, type AdoptedPage, adoptedKey, inheritedBy } from './fork.ts'
import { recordsSince } from './kept-records.ts'
import type { WaitingPage } from './mailbox-state.ts'
import { moneySignal, type NumberedRequest, type PushRequest } from './messages.ts'
import { missedMail } from './missed-mail.ts'
import { namedHandlers } from './named-handlers.ts'
import {
  mailboxObject,
  sessionObject,
  type Begun,
  type Listener,
  type MailboxObject,
  type MailboxStatus,
  type SessionObject,
} from './names.ts'
import { removeRequestIn, removeSession } from './remove-session.ts'
import { sessionMetadata } from './session-metadata.ts'
import type { SessionServiceOptions } from './session-options.ts'
import type { SessionTurn } from './session-turn.ts'
import { SessionsOfProcess } from './sessions-of-process.ts'
import { nothingSpent, spentBeyond } from './spent.ts'
import { readStatus, withTenant, type SessionStatus } from './status.ts'
import { WorkRecord } from './work-record.ts'
import type { WorkEnd } from './work.ts'

/** What came of the work at a session, the last time that there was some. */
export type WorkDone = WorkEnd & {
  /** The results of its runs, in their order. */
  readonly results: readonly SdkResult[]
  /** Requests that could not be done, and why. */
  readonly refused: readonly {
    /** Id of the request. */
    readonly id: string
    /** Why, in a sentence. */
    readonly because: string
  }[]
}

/** A call that waits for a change takes none of the places that the engine has for calls at work. */
const soonSuspended = { seconds: 1 }

/** A call with an idempotency key can be made again where its connection was lost: it is the same one then, and nothing of it is kept once it is over. */
const waitingCall = { inactivityTimeout: soonSuspended, idempotencyRetention: 0 }

/** Who waits asks again: a call whose worker is lost is not kept for long. */
const lookRetries = {
  initialInterval: 200,
  maxInterval: 2_000,
  exponentiationFactor: 2,
  maxAttempts: 10,
  onMaxAttempts: 'kill',
} as const

/** So that a worker that takes a session up reads at most so much of the invocation, and the engine holds no more of it. */
const defaultRenewal: RenewAfter = { records: 20_000, bytes: 20_000_000 }

const doneKey = 'done'

export function sessionDefinition(options: SessionServiceOptions): VirtualObjectDefinition<string, unknown> {
  const sessions = new SessionsOfProcess(options)
  const attemptAt = notedAttempts(options)
  const mailboxOf = (context: ObjectContext | ObjectSharedContext) =>
    context.objectClient<MailboxObject>({ name: mailboxObject }, context.key)
  const push = (context: ObjectSharedContext, request: PushRequest): Promise<boolean> =>
    mailboxOf(context).push(request)
  const size = options.payloads === undefined ? requestWithoutStore : anyRequest
  const storeOf = (context: ObjectContext | ObjectSharedContext) => options.payloads?.of(context.key)

  return object({
    name: sessionObject,
    metadata: sessionMetadata(options.takesOver === true),
    options: {
      ...guarded(options.tokens, ['work', 'adopt']),
      enableLazyState: true,
      explicitCancellation: true,
      // The records tell what happened. A journal that is kept beside them would hold all that was said before once more, for each prompt.
      journalRetention: 0,
      // The clock of the engine's patience starts anew with every batch, and one comes at least every 20 s while something goes on.
      inactivityTimeout: { minutes: 1 },
      abortTimeout: { minutes: 5 },
      // Nothing is lost, nothing is done twice: it may be tried again until somebody looks.
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
      /** Works at the session until nothing is left to do. Called by its mailbox. */
      work: handlers.object.exclusive({ ingressPrivate: true }, async (context: ObjectContext): Promise<void> => {
        if (options.departure?.soon.aborted === true) throw new LeftError()
        const mailbox = mailboxOf(context)
        const begun = await mailbox.begin(context.request().id)
        for (let page: WaitingPage = begun; page.requests.length > 0;) {
          const end = await workOn(context, begun, await allOf(page, mailbox))
          if (end === 'goes on elsewhere') {
            // What is known of attempts is of this invocation: the next one has other attempts, and counts its laps anew.
            context.objectSendClient<AttemptsObject>({ name: attemptsObject }, context.key).forget()
            context.objectSendClient<SessionObject>({ name: sessionObject }, context.key).work()
            return
          }
          page = await mailbox.settle(end.upTo)
        }
      }),

      ...namedHandlers({ push, status: readStatus, size }),

      /** Any request. False for one that came before, or that means nothing now. */
      request: handlers.object.shared((context: ObjectSharedContext, given: unknown) =>
        push(context, checkedRequest(given, size)),
      ),

      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<FullStatus> => {
        const mailbox = await mailboxOf(context).status('')
        return fullStatus({ mailbox, session: await readStatus(context), stalled: options.stalledOf?.(context.key) })
      }),

      /** The same, when it is another one than the caller has seen. A call that waits is out of this process after a moment, and costs nothing. */
      changed: handlers.object.shared(
        { inactivityTimeout: soonSuspended, retryPolicy: lookRetries },
        (context: ObjectSharedContext, given: unknown): Promise<FullStatus> =>
          whenChanged(given, () => context.rand.uuidv4(), changedPorts(context, mailboxOf(context), options.stalledOf)),
      ),

      /** All that is kept of the session goes, when no work goes on. What is asked under its name afterwards is asked of a new one. */
      remove: handlers.object.exclusive(
        { idempotencyRetention: 0 },
        async (context: ObjectContext, given: unknown): Promise<boolean> =>
          removeSession(context, removeRequestIn(given), options),
      ),

      done: handlers.object.shared((context: ObjectSharedContext) => context.get<WorkDone>(doneKey)),

      /** What became of a request; with `wait` it is answered when that is known. */
      result: handlers.object.shared(waitingCall, (context: ObjectSharedContext, given: unknown) =>
        resultFor(context, mailboxOf(context), given),
      ),

      /** The result of a run, by its name. */
      runResult: handlers.object.shared(
        async (context: ObjectSharedContext, runId: unknown): Promise<SdkResult | null> =>
          (await resultOfRun(context, checkedId(runId))) ?? null,
      ),

      /** Records from this number on, as many as one answer takes. */
      records: handlers.object.shared((context: ObjectSharedContext, since: unknown) =>
        recordsSince(context, checkedNumber(since), storeOf(context)),
      ),

      /** A new session with the conversation of the runs that ended. Gives its key: `as`, or a new one. */
      fork: handlers.object.shared(async (context: ObjectSharedContext, given: unknown): Promise<{ id: string }> => {
        const { as = context.rand.uuidv4() } = checkedInput(given, ['as'])
        const id = checkedId(as)
        const { opening } = await mailboxOf(context).status('')
        const conversation = await Conversation.read(readOnly(context), storeOf(context))
        const copy = context.objectClient<SessionObject>({ name: sessionObject }, id)
        const now = await engineTime(context)
        for (const page of adoptedPages(context.key, opening, (await conversation.records()).ended, now))
          if (id === context.key || !(await copy.adopt(page)))
            throw new TerminalError(`There is a session ${id.slice(0, 100)} already.`, { errorCode: 409 })
        return { id }
      }),

      /** Begins as a copy of another session. False where it is something else. */
      adopt: handlers.object.exclusive(
        { ingressPrivate: true },
        async (context: ObjectContext, page: AdoptedPage): Promise<boolean> => {
          const adopted = await context.get<Adopted>(adoptedKey)
          const { isWorking, waiting } = await mailboxOf(context).status('')
          const status = await readStatus(context)
          const hasBegun = isWorking || waiting > 0 || (adopted === null && status.records > 0)
          const came = pageIn(adopted, page, hasBegun)
          if (came !== 'new') return came === 'again'
          await mailboxOf(context).adopt(page.opening)
          await keepPage(context, { page, status, store: storeOf(context) })
          context.set<Adopted>(adoptedKey, { from: page.from, pages: page.number + 1, spent: page.spent })
          return true
        },
      ),
    },
  })

  async function workOn(
    context: ObjectContext,
    { opening, tenancy, refusal, sinceMs }: Omit<Begun, keyof WaitingPage>,
    requests: readonly NumberedRequest[],
  ): Promise<WorkEnd | 'goes on elsewhere'> {
    const [{ key: sessionId }, { id: invocation }] = [context, context.request()]
    const [{ number: turn } = { number: 0 }] = requests
    const store = storeOf(context)
    const inherited = tenancy === undefined ? nothingSpent : await inheritedBy(context)
    const conversation = await Conversation.read(context, store)
    // Nothing is asked of the engine that a worker of that version would not ask for here.
    if (conversation.format > keptFormat) throw new HaltingError('driver', laterFormat(conversation.format))
    const { carried, texts } = conversation
    const run = new RunSoFar(carried, await conversation.agents())
    const status = withTenant(await readStatus(context), tenancy)
    const record = new WorkRecord(context, status, { listener: options.listener, carried, run })
    const whose = { sessionId, tenant: tenancy?.tenant }
    const work = { sessionId, opening, tenancy, inherited, refusal, turn, carried, record, invocation }
    const end = await attemptAt({ ...whose, turn }, (onOpen) => ({
      engine: restateEngine(context),
      store,
      texts,
      renewAfter: options.renewAfter ?? defaultRenewal,
      ...mailFor(requests, mailboxOf(context), tenancy !== undefined),
      turn: (gone) => sessions.arrive({ ...whose, sinceMs, gone, settled: record.settled }),
      begin: async (found, granted?: SessionTurn) =>
        sessions.begin({ ...work, found, before: await conversation.records(), onOpen }, granted),
      onBatch: (batch) => record.onBatch(batch),
      onWatch: (message) => record.onWatch(message),
      departure: options.departure,
    }))
    const once = async (put: () => Promise<PayloadReference>): Promise<PayloadReference> => context.run('put', put)
    if (isCut(end)) {
      await conversation.append(record.said, once, record.handover)
      record.leave()
      return 'goes on elsewhere'
    }
    await conversation.append(record.said, once)
    // `SessionWork` wrote it.
    const done = end as unknown as WorkEnd
    const { results, refused } = record
    context.set<WorkDone>(doneKey, { ...done, results, refused })
    record.leave()
    const { committedNanos, unknownNanos } = done
    // What is open goes on in the next turn, which takes its lease over.
    if (tenancy !== undefined && committedNanos !== null) {
      const spent = spentBeyond({ nanos: committedNanos, unknownNanos: unknownNanos ?? 0 }, inherited)
      const { tenant, began, isOpened } = tenancy
      await context
        .objectClient<BudgetHandlers>({ name: budgetObject }, tenant)
        .release({ session: sessionId, began, turn, ...spent, ...(isOpened && { isOpened }) })
    }
    return done
  }
}

/** Records of another session are packed as those of its own: they came whole. */
async function keepPage(
  context: ObjectContext,
  {
    page,
    status,
    store,
  }: { readonly page: AdoptedPage; readonly status: SessionStatus; readonly store: PayloadStore | undefined },
): Promise<void> {
  const record = new WorkRecord(context, status)
  const { kept, texts } = await context.run('pack', () => packedRecords(page.records, store))
  record.keepTexts(texts)
  record.keep(page.records, kept, page.atMs)
  const conversation = await Conversation.read(context, store)
  await conversation.append(record.said, async (put) => context.run('put', put))
}

/** A shared handler reads alone. */
function readOnly(context: ObjectSharedContext): State {
  const refuse = (): never => {
    throw new HaltingError('internal', 'A shared handler writes nothing.')
  }
  return { get: (key) => context.get(key), set: refuse, clear: refuse }
}

type Waiting = { waiting(after: number): Promise<WaitingPage> }

/** All that waits, when it is more than one answer takes. They are there before the work begins: what comes meanwhile is behind them. */
async function allOf(first: WaitingPage, mailbox: Waiting): Promise<readonly NumberedRequest[]> {
  const all = [...first.requests]
  for (let { hasMore } = first; hasMore;) {
    const page = await mailbox.waiting(all.at(-1)?.number ?? 0)
    all.push(...page.requests)
    hasMore = page.hasMore
  }
  return all
}

/** What comes to the work, and may be missed on its way. */
function mailFor(
  requests: readonly NumberedRequest[],
  mailbox: Waiting,
  hasTenant: boolean,
): Pick<AttemptOptions, 'mail' | 'missedBefore' | 'bells'> {
  return {
    mail: requests.map((request) => JSON.stringify(request)),
    missedBefore: missedMail(requests, async (after) => allOf(await mailbox.waiting(after), mailbox)),
    bells: hasTenant ? [moneySignal] : [],
  }
}

interface AskedMailbox {
  status(id: string): Promise<MailboxStatus>
  listen(listener: Listener): Promise<boolean>
}

async function resultFor(context: ObjectSharedContext, mailbox: AskedMailbox, given: unknown): Promise<RequestAnswer> {
  const { id: name, wait = false } = checkedInput(given, ['id', 'wait'])
  const id = checkedId(name)
  for (;;) {
    const answer = await answerTo(context, id, false)
    if (isOver(answer)) return answer
    if (wait !== true) {
      const { isWaiting } = await mailbox.status(id)
      return answerTo(context, id, isWaiting)
    }
    const { id: awakeable, promise } = context.awakeable<void>()
    const ifWaiting = answer.state === 'unknown' && { ifWaiting: id }
    if (!(await mailbox.listen({ awakeable, ...ifWaiting }))) return answerTo(context, id, false)
    // It may have been answered for before anybody listened.
    if (!isOver(await answerTo(context, id, false))) await promise
  }
}
