import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { StepRecord } from '@halting/core/steps'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { attempt, mailSignal, watchSignal } from '../../src/engine/attempt.ts'
import { createLiveEvents, type LiveEvents } from '../../src/live/live-events.ts'
import { readAnswer, readRunResult } from '../../src/service/answers.ts'
import { problemOfRequest, sizeLimitWithoutStore } from '../../src/service/check-request.ts'
import { waitForChange } from '../../src/service/long-poll.ts'
import { fullStatus, mailboxVersion, type MailboxState } from '../../src/service/full-status.ts'
import { isCut } from '../../src/engine/cluster-log.ts'
import { CarriedStateBuilder } from '../../src/service/carried-run.ts'
import { Conversation } from '../../src/service/conversation.ts'
import { readRecordsPage } from '../../src/service/stored-records.ts'
import {
  begin,
  push,
  settle,
  withWatchNotice,
  unwatch,
  wakeWatchers,
  watch,
  type Mailbox,
} from '../../src/service/mailbox.ts'
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
} from '../../src/service/mailbox-state.ts'
import { mailboxStateOf } from '../../src/service/mailbox-object.ts'
import type { NumberedRequest, PushRequest } from '../../src/service/messages.ts'
import type { SessionServiceOptions } from '../../src/service/session-options.ts'
import { readStatus } from '../../src/service/status.ts'
import { SessionsOfProcess } from '../../src/service/sessions-of-process.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import type { WorkEnd } from '../../src/service/work.ts'
import { FakeInvocation, type FakeAttempt } from './fake-engine.ts'
import { MemoryState } from './memory-state.ts'

export { SessionRefusedError } from '../../src/service/refused-work.ts'

/** A cluster of one worker, of which only its service is real: requests and live events go over HTTP, and state is in memory. */
export interface FakeCluster {
  /** Where it takes requests, and is administered. */
  readonly url: string
  /** Every request, as it arrived. */
  readonly requests: readonly (PushRequest & { readonly sessionId: string })[]
  records(sessionId: string): Promise<readonly StepRecord[]>
  /** Loses the process that works at the session; another one continues. Returns false if none works. */
  kill(sessionId: string): boolean
  /** While it is cut off, nobody is answered. */
  cutOff(isCutOff: boolean): void
  close(): Promise<void>
}

/** @param open Opens a session in the worker. */
export async function fakeCluster({
  open,
  renewAfter,
}: Pick<SessionServiceOptions, 'open' | 'renewAfter'>): Promise<FakeCluster> {
  const live = await createLiveEvents()
  const sessions = new SessionsOfProcess({ open, listener: live })
  const objects = new Map<string, FakeSession>()
  const requests: (PushRequest & { sessionId: string })[] = []
  let isCutOff = false
  const objectOf = (key: string): FakeSession => {
    const object = objects.get(key) ?? new FakeSession(key, sessions, live, renewAfter)
    objects.set(key, object)
    return object
  }
  /** The two queries that clients make: for the status of sessions, and for the records of one. */
  const rowsFor = (query: string): readonly object[] => {
    const one = /service_key = '([^']+)'/.exec(query)?.[1]
    if (one !== undefined) {
      const since = / <= '(records\/\d+)'/.exec(query)?.[1] ?? ''
      const stored = [...(objects.get(one)?.state.values ?? [])]
        .filter(([key]) => key.startsWith('records/'))
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
      const first = stored.findLastIndex(([key]) => key <= since)
      return stored.slice(Math.max(0, first)).map(([key, value]) => ({ key, value_utf8: value }))
    }
    return [...objects].flatMap(([key, { state, isWorking }]) => {
      const work = isWorking ? { invocation: `inv_${key}`, work: 'running' } : {}
      const status = state.values.get('status')
      return status === undefined ? [] : [{ service_key: key, value_utf8: status, ...work }]
    })
  }
  const answer = async (path: string, input: unknown): Promise<Answer> => {
    if (path === '/query') return { status: 200, body: { rows: rowsFor(String((input as { query?: unknown }).query)) } }
    const [, service, key = '', handler = ''] = path.split('/')
    if (service !== 'halting_session') return { status: 404, body: { message: 'service not found' } }
    const sessionId = decodeURIComponent(key)
    if (handler === 'request') {
      const problem = problemOfRequest(input, sizeLimitWithoutStore)
      if (problem !== undefined) return { status: 400, body: { message: problem } }
      // It was checked.
      requests.push({ ...(input as PushRequest), sessionId })
    }
    return objectOf(sessionId).answer(handler, input)
  }
  const server = createServer((request, response) => {
    void (async () => {
      const text = await textOf(request)
      const { status, body } = isCutOff
        ? { status: 503, body: { message: 'nobody' } }
        : await answer(request.url ?? '/', text === '' ? undefined : JSON.parse(text)).catch((error: unknown) => ({
            status: 500,
            body: { message: String(error) },
          }))
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? null))
    })()
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  return {
    // It listens on a port, so its address has one.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    records: (sessionId) => objectOf(sessionId).records(),
    kill: (sessionId) => objectOf(sessionId).kill(),
    cutOff: (is) => void (isCutOff = is),
    async close() {
      for (const object of objects.values()) object.end()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await Promise.all([closed, live.close()])
    },
  }
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The two objects of a session, and the work at it. */
class FakeSession {
  readonly state = new MemoryState()
  readonly #mailbox = new MemoryState()
  readonly #key: string
  readonly #sessions: SessionsOfProcess
  readonly #live: LiveEvents
  readonly #renewAfter: SessionServiceOptions['renewAfter']
  /** Operations on a mailbox run one after another. */
  #turn: Promise<unknown> = Promise.resolve()
  #invocation: FakeInvocation | undefined
  #attempt: FakeAttempt | undefined
  #lose: () => void = () => {}
  #isOver = false
  /** Resolves when a request is settled. */
  readonly #awake = new Set<() => void>()
  /** Calls that wait for a change, by their awakeables. */
  readonly #watching = new Map<string, (state: MailboxState) => void>()

  constructor(
    key: string,
    sessions: SessionsOfProcess,
    live: LiveEvents,
    renewAfter: SessionServiceOptions['renewAfter'],
  ) {
    this.#renewAfter = renewAfter
    this.#key = key
    this.#sessions = sessions
    this.#live = live
  }

  get isWorking(): boolean {
    return this.#invocation !== undefined
  }

  #exclusive<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act)
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async answer(handler: string, input: unknown): Promise<Answer> {
    // As the handlers of the session object read it.
    const query = (input ?? {}) as { readonly id?: string; readonly wait?: boolean }
    const ok = (body: unknown): Answer => ({ status: 200, body })
    const context = this.#contextOf({ sets: 0 })
    switch (handler) {
      case 'request':
        return this.#push(query as PushRequest)
      case 'close':
        return this.#push({ id: query.id ?? crypto.randomUUID(), request: { type: 'close' } })
      case 'status': {
        const mailbox = mailboxStateOf(await readMailbox(this.#mailbox))
        return ok(fullStatus({ session: await readStatus(this.state), mailbox, stalled: undefined }))
      }
      case 'changed':
        return ok(await this.#changed(input))
      case 'records':
        return ok(await readRecordsPage(this.state, typeof input === 'number' ? input : 0, undefined))
      case 'remove':
        this.state.values.clear()
        this.#mailbox.values.clear()
        return ok(null)
      case 'done':
        return ok(await this.state.get('done'))
      case 'runResult':
        return ok((await readRunResult(context, String(input))) ?? null)
      case 'result': {
        const { id = '', wait = false } = query
        for (;;) {
          const mailbox = await readMailbox(this.#mailbox)
          const answer = await readAnswer(context, id, await isWaiting(this.#mailbox, mailbox, id))
          const isOpen = answer.state === 'waiting' || answer.state === 'running'
          if (!wait || !isOpen || this.#isOver) return ok(answer)
          await new Promise<void>((resolve) => this.#awake.add(resolve))
        }
      }
      default:
        return { status: 404, body: { message: `no handler ${handler}` } }
    }
  }

  #changed(input: unknown): Promise<unknown> {
    const awakeable = crypto.randomUUID()
    const woken = new Promise<MailboxState>((resolve) => this.#watching.set(awakeable, resolve))
    return waitForChange(input, () => awakeable, {
      stalled: () => undefined,
      session: () => readStatus(this.state),
      mailbox: async () => mailboxStateOf(await readMailbox(this.#mailbox)),
      watch: ({ by, ifStill, seen }) =>
        this.#exclusive(async () => {
          const before = await readMailbox(this.#mailbox)
          const state = mailboxStateOf(before)
          if (mailboxVersion(state) !== ifStill) return { ...state, isWatching: false }
          const { mailbox, notify } = watch(before, { by, awakeable })
          writeMailbox(this.#mailbox, mailbox)
          if (notify !== undefined) this.#invocation?.signal(watchSignal, JSON.stringify(seen))
          return { ...state, isWatching: true }
        }),
      unwatch: (by) =>
        this.#exclusive(async () => writeMailbox(this.#mailbox, unwatch(await readMailbox(this.#mailbox), by))),
      woken: (ms) => {
        const over = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms).unref())
        return Promise.race([woken, over])
      },
    })
  }

  #wakeWatching(mailbox: Mailbox): Mailbox {
    const { mailbox: awake, awakeables } = wakeWatchers(mailbox)
    for (const awakeable of awakeables) this.#watching.get(awakeable)?.(mailboxStateOf(awake))
    return awake
  }

  #push({ opening, ...named }: PushRequest): Promise<Answer> {
    return this.#exclusive(async () => {
      if (opening !== undefined) await storeOpening(this.#mailbox, opening)
      const pushed = push(await readMailbox(this.#mailbox), named, await isKnown(this.#mailbox, named.id))
      if (pushed.kind === 'closed') return { status: 409, body: { message: 'The session is closed.' } }
      if (pushed.kind === 'again') return { status: 200, body: false }
      await writePushOutcome(this.#mailbox, named.id, { ...pushed, mailbox: this.#wakeWatching(pushed.mailbox) })
      if (pushed.kind === 'new' && pushed.call) void this.#work()
      else if (pushed.kind === 'new') this.#invocation?.signal(mailSignal, JSON.stringify(pushed.request))
      return { status: 200, body: pushed.kind === 'new' }
    })
  }

  /** Works until nothing is left to do. */
  async #work(): Promise<void> {
    let page = await this.#exclusive(async () => {
      const { mailbox, notify } = withWatchNotice(begin(await readMailbox(this.#mailbox), this.#key))
      writeMailbox(this.#mailbox, mailbox)
      this.#invocation = new FakeInvocation()
      if (notify !== undefined) this.#invocation.signal(watchSignal, 'null')
      return readWaitingAfter(this.#mailbox, mailbox, 0)
    })
    while (page.requests.length > 0) {
      const end = await this.#workOn(page.requests)
      if (end === undefined) return
      // Requests that arrive meanwhile wait for the next invocation.
      if (end === 'goes on elsewhere') return void this.#work()
      page = await this.#exclusive(async () => {
        const before = await readMailbox(this.#mailbox)
        const mailbox = this.#wakeWatching(settle(before, end.upTo))
        writeSettled(this.#mailbox, before, mailbox)
        this.#wakeAll()
        this.#invocation = mailbox.worker === undefined ? undefined : new FakeInvocation()
        return mailbox.worker === undefined
          ? { requests: [], hasMore: false }
          : readWaitingAfter(this.#mailbox, mailbox, 0)
      })
    }
  }

  /** Runs as many attempts as it takes. Undefined if everything is over. */
  async #workOn(requests: readonly NumberedRequest[]): Promise<WorkEnd | 'goes on elsewhere' | undefined> {
    const invocation = this.#invocation
    if (invocation === undefined) return undefined
    const status = await readStatus(this.state)
    const opening = (await readOpening(this.#mailbox)) ?? {}
    const journal = { sets: 0 }
    while (!this.#isOver) {
      const engine = invocation.attempt()
      this.#attempt = engine
      const lost = new Promise<undefined>((resolve) => {
        this.#lose = () => {
          engine.kill()
          resolve(undefined)
        }
      })
      const context = this.#contextOf(journal)
      const conversation = await Conversation.read(this.state, undefined)
      const record = new WorkRecord(context, status, {
        listener: this.#live,
        carried: conversation.carried,
        run: new CarriedStateBuilder(conversation.carried, await conversation.agents()),
      })
      const done = attempt({
        engine,
        texts: conversation.texts,
        renewAfter: this.#renewAfter,
        mail: requests.map((request) => JSON.stringify(request)),
        begin: async (found) =>
          this.#sessions.begin({
            sessionId: this.#key,
            opening,
            tenancy: undefined,
            inherited: { nanos: 0, unknownNanos: 0 },
            refusal: undefined,
            turn: requests[0]?.number ?? 0,
            before: await conversation.records(),
            carried: conversation.carried,
            record,
            attempt: found,
          }),
        onBatch: (batch) => record.onBatch(batch),
        onWatch: (message) => record.onWatch(message),
      }).catch(() => undefined)
      // The work wrote it.
      const outcome = await Promise.race([done, lost])
      if (outcome === undefined) continue
      engine.kill()
      this.#attempt = undefined
      if (isCut(outcome)) {
        await conversation.append(record.conversation, (put) => put(), record.handover)
        record.leave()
        return 'goes on elsewhere'
      }
      const end = outcome as unknown as WorkEnd
      await conversation.append(record.conversation, (put) => put())
      const { results, refused } = record
      this.state.set('done', { ...end, results, refused })
      record.leave()
      return end
    }
    return undefined
  }

  /** What an attempt repeats of an earlier one is already on record. */
  #contextOf(journal: { sets: number }): ObjectContext {
    let made = 0
    const write = (act: () => void): void => {
      if (++made <= journal.sets) return
      journal.sets = made
      act()
    }
    // What the work and the answers use of it.
    return {
      key: this.#key,
      get: (key: string) => this.state.get(key),
      set: (key: string, value: unknown) => write(() => this.state.set(key, value)),
      clear: (key: string) => write(() => this.state.clear(key)),
      objectSendClient: () => ({ wake: (only?: 'watchers') => write(() => this.#wake(only)) }),
    } as unknown as ObjectContext
  }

  #wake(only: 'watchers' | undefined): void {
    void this.#exclusive(async () => writeMailbox(this.#mailbox, this.#wakeWatching(await readMailbox(this.#mailbox))))
    if (only === undefined) this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#awake) wake()
    this.#awake.clear()
  }

  async records(): Promise<readonly StepRecord[]> {
    const records: StepRecord[] = []
    for (;;) {
      const page = await readRecordsPage(this.state, records.length, undefined)
      if (page.records.length === 0) return records
      // Without a payload store nothing is stored elsewhere.
      records.push(...(page.records as readonly StepRecord[]))
    }
  }

  kill(): boolean {
    if (this.#attempt === undefined) return false
    this.#lose()
    return true
  }

  end(): void {
    this.#isOver = true
    this.#lose()
    this.#wakeAll()
  }
}
