import { HaltingError, type SdkResult } from '@halting/core'
import { foldSession, runsOf, type StepRecord } from '@halting/core/steps'
import {
  handlers,
  object,
  TerminalError,
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
} from '@restatedev/restate-sdk'
import { guarded } from '../access/guard.ts'
import { attempt } from '../engine/attempt.ts'
import { wholeRecords, type KeptRecord } from '../engine/batch.ts'
import { keptFormat, laterFormat } from '../engine/format.ts'
import { restateEngine } from '../engine/restate-engine.ts'
import type { Spent } from '@halting/core/adapters'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { budgetObject, type BudgetHandlers } from '../fleet/budget-service.ts'
import { LeftError } from '../worker/departure.ts'
import { answerTo, isOver, resultOfRun, type RequestAnswer } from './answers.ts'
import { anyRequest, requestWithoutStore } from './check-request.ts'
import { checkedId, checkedInput, checkedNumber, checkedRequest } from './checked.ts'
import { Conversation, type State } from './conversation.ts'
import { adoptedPages, pageIn, type Adopted, type AdoptedPage } from './fork.ts'
import { recordsSince } from './kept-records.ts'
import type { WaitingPage } from './mailbox-state.ts'
import type { NumberedRequest, PushRequest } from './messages.ts'
import { namedHandlers } from './named-handlers.ts'
import { mailboxObject, sessionObject, type Begun, type MailboxObject, type SessionObject } from './names.ts'
import { sessionMetadata } from './session-metadata.ts'
import type { SessionServiceOptions } from './session-options.ts'
import { SessionsOfProcess } from './sessions-of-process.ts'
import { nothingSpent, spentBeyond, spentIn } from './spent.ts'
import { readStatus, withTenant, type SessionStatus } from './status.ts'
import type { Tenancy } from './tenancy.ts'
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

/** What stands with a session, and with what was asked of it. */
export interface FullStatus extends SessionStatus {
  /** Somebody works at it, or was called to. */
  readonly isWorking: boolean
  /** Whether the session was closed. */
  readonly isClosed: boolean
  /** How many requests the work has not answered for. */
  readonly waiting: number
}

const doneKey = 'done'
const adoptedKey = 'adopted'

export function sessionDefinition(options: SessionServiceOptions): VirtualObjectDefinition<string, unknown> {
  const sessions = new SessionsOfProcess(options)
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
          const { upTo } = await workOn(context, begun, await allOf(page, (after) => mailbox.waiting(after)))
          page = await mailbox.settle(upTo)
        }
      }),

      ...namedHandlers({ push, status: readStatus, size }),

      /** Any request. False for one that came before, or that means nothing now. */
      request: handlers.object.shared((context: ObjectSharedContext, given: unknown) =>
        push(context, checkedRequest(given, size)),
      ),

      status: handlers.object.shared(async (context: ObjectSharedContext): Promise<FullStatus> => {
        const { isWorking, isClosed, waiting } = await mailboxOf(context).status('')
        const status = { ...(await readStatus(context)), isWorking, isClosed, waiting }
        const stall = options.stalledOf?.(context.key)
        return stall === undefined ? status : { ...status, state: 'paused', stalled: stall }
      }),

      /** All that is kept of the session goes, when no work goes on. What is asked under its name afterwards is asked of a new one. */
      remove: handlers.object.exclusive(async (context: ObjectContext): Promise<void> => {
        const { tenancy } = await mailboxOf(context).status('')
        if (tenancy !== undefined) await giveUpLease(context, tenancy)
        await mailboxOf(context).forget()
        await context.run('remove payloads', async () => options.payloads?.of(context.key).remove())
        await context.run('remove what the worker has', async () => options.onRemove?.(context.key))
        context.clearAll()
      }),

      done: handlers.object.shared((context: ObjectSharedContext) => context.get<WorkDone>(doneKey)),

      /** What became of a request; with `wait` it is answered when that is known. */
      result: handlers.object.shared(async (context: ObjectSharedContext, given: unknown): Promise<RequestAnswer> => {
        const { id: name, wait = false } = checkedInput(given, ['id', 'wait'])
        const id = checkedId(name)
        for (;;) {
          const answer = await answerTo(context, id, false)
          if (isOver(answer)) return answer
          if (wait !== true) {
            const { isWaiting } = await mailboxOf(context).status(id)
            return answerTo(context, id, isWaiting)
          }
          const { id: awakeable, promise } = context.awakeable<void>()
          const ifWaiting = answer.state === 'unknown' && { ifWaiting: id }
          if (!(await mailboxOf(context).listen({ awakeable, ...ifWaiting }))) return answerTo(context, id, false)
          // It may have been answered for before anybody listened.
          if (!isOver(await answerTo(context, id, false))) await promise
        }
      }),

      /** The result of a run, by its name. */
      runResult: handlers.object.shared(
        async (context: ObjectSharedContext, runId: unknown): Promise<SdkResult | null> =>
          (await resultOfRun(context, checkedId(runId))) ?? null,
      ),

      /** Records from this number on, as many as one answer takes. */
      records: handlers.object.shared((context: ObjectSharedContext, since: unknown) =>
        recordsSince(context, checkedNumber(since)),
      ),

      /** A new session with the conversation of the runs that ended. Gives its key: `as`, or a new one. */
      fork: handlers.object.shared(async (context: ObjectSharedContext, given: unknown): Promise<{ id: string }> => {
        const { as = context.rand.uuidv4() } = checkedInput(given, ['as'])
        const id = checkedId(as)
        const { opening } = await mailboxOf(context).status('')
        const conversation = await Conversation.read(readOnly(context), storeOf(context))
        const copy = context.objectClient<SessionObject>({ name: sessionObject }, id)
        const now = await context.date.now()
        for (const page of adoptedPages(context.key, opening, await conversation.records(), now))
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
          const record = new WorkRecord(context, status)
          record.keep(page.records, page.records, page.atMs)
          const conversation = await Conversation.read(context, storeOf(context))
          await conversation.append(record.said, async (put) => context.run('put', put))
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
  ): Promise<WorkEnd> {
    const { key: sessionId } = context
    const [{ number: turn } = { number: 0 }] = requests
    const store = storeOf(context)
    const inherited = tenancy === undefined ? nothingSpent : await inheritedBy(context)
    const conversation = await Conversation.read(context, store)
    // Nothing is asked of the engine that a worker of that version would not ask for here.
    if (conversation.format > keptFormat) throw new HaltingError('driver', laterFormat(conversation.format))
    const record = new WorkRecord(context, withTenant(await readStatus(context), tenancy), options.listener)
    const whose = { sessionId, tenant: tenancy?.tenant }
    const work = { sessionId, opening, tenancy, inherited, refusal, turn, record, invocation: context.request().id }
    const end = await attempt({
      engine: restateEngine(context),
      store,
      mail: requests.map((request) => JSON.stringify(request)),
      turn: (gone) => sessions.arrive({ ...whose, sinceMs, gone, settled: record.settled }),
      begin: async (found, granted) =>
        sessions.begin({ ...work, found, before: await conversation.records() }, granted),
      onBatch: (batch) => record.onBatch(batch),
      departure: options.departure,
    })
    await conversation.append(record.said, async (put) => context.run('put', put))
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

  /** What a session that is removed has spent stays spent; what it held beyond that is free. */
  async function giveUpLease(context: ObjectContext, { tenant, began }: Tenancy): Promise<void> {
    const budget = context.objectClient<BudgetHandlers>({ name: budgetObject }, tenant)
    const whose = { session: context.key, began }
    const isHeld = await budget.isHeld(whose)
    const spent = isHeld
      ? spentBeyond(
          spentIn(foldSession(runsOf(await allRecords(context, storeOf(context))))),
          await inheritedBy(context),
        )
      : null
    await budget.close({ ...whose, spent })
  }
}

async function allRecords(context: ObjectContext, store: PayloadStore | undefined): Promise<readonly StepRecord[]> {
  const kept: KeptRecord[] = []
  for (;;) {
    const { records } = await recordsSince(context, kept.length)
    if (records.length === 0) return wholeRecords(kept, store)
    kept.push(...records)
  }
}

/** A shared handler reads alone. */
function readOnly(context: ObjectSharedContext): State {
  const refuse = (): never => {
    throw new HaltingError('internal', 'A shared handler writes nothing.')
  }
  return { get: (key) => context.get(key), set: refuse, clear: refuse }
}

/** All that waits, when it is more than one answer takes. They are there before the work begins: what comes meanwhile is behind them. */
async function allOf(
  first: WaitingPage,
  next: (after: number) => Promise<WaitingPage>,
): Promise<readonly NumberedRequest[]> {
  const all = [...first.requests]
  for (let { hasMore } = first; hasMore;) {
    const page = await next(all.at(-1)?.number ?? 0)
    all.push(...page.requests)
    hasMore = page.hasMore
  }
  return all
}

async function inheritedBy(context: ObjectContext): Promise<Spent> {
  return (await context.get<Adopted>(adoptedKey))?.spent ?? nothingSpent
}
