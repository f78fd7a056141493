import { randomUUID } from 'node:crypto'
import {
  checkPrompt,
  EventListeners,
  type ContextUsage,
  type Interrupted,
  type InterruptOptions,
  type PromptOptions,
  type RewindOptions,
  type Rewound,
  type Session,
  type SessionEvent,
  type SessionSnapshot,
} from '@halting/core/session'
import {
  ConfigurationError,
  type LimitAnswer,
  type LimitsChange,
  type MessageContent,
  type PermissionDecision,
  type SettingsChange,
} from '@halting/core'
import { checkedLimitAnswer, type PermissionAnswer } from '@halting/core/adapters'
import { foldSession, runsOf } from '@halting/core/steps'
import { whenIdle, type Opening, type SessionRequest } from '../service/messages.ts'
import type { FullStatus } from '../service/full-status.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { AskedQuestions, AskedLimit, recordedQuestions } from './asked-questions.ts'
import { AskedSettings } from './asked-settings.ts'
import { Follower, type Trouble, troubleOver, troubleText } from './follower.ts'
import { OwnRequests } from './own-requests.ts'
import { checkGoals } from '../service/check-request.ts'
import { shownSnapshot, snapshotOfNothing, withRecordedWaits } from './remote-snapshot.ts'
import { revivedSnapshot } from './revived.ts'
import { Told } from './told.ts'
import { personsMessage } from '../service/persons-message.ts'

export interface RemoteParts {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly opening?: Opening | undefined
  readonly since?: number | undefined
  readonly runId?: string | undefined
  readonly worker: NonNullable<ClusterClientOptions['worker']>
  readonly fetch: typeof fetch
  /** Whether the engine takes requests, whatever becomes of them. */
  readonly isEngineUp: () => Promise<boolean>
}

/**
 * A session of a cluster, as a face shows one. What is asked of it goes to the cluster in that order, each once, however often it has to be sent.
 * R1: a message that was handed in is on its way, in a run, or given back by `failed`. R2: events are those of the worker, whichever has the session; after a cut they
 * go on by the records (`Told`, `Follower`). R3: `close` lets go of it here; on the cluster it goes on.
 */
export class RemoteSession implements Session {
  readonly id: string
  readonly #options: RemoteParts
  readonly #listeners = new EventListeners()
  readonly #follower: Follower
  readonly #own: OwnRequests
  readonly #questions = new AskedQuestions((event) => this.#tell(event))
  readonly #limit = new AskedLimit((event) => {
    this.#tell(event)
    this.#listeners.tellOfChange()
  })
  readonly #settings = new AskedSettings()
  /** Messages that were taken back, or given back. */
  readonly #takenBack = new Set<string>()
  readonly #onSettled: (() => void)[] = []
  #told: SessionSnapshot
  #status: FullStatus | undefined
  #isClosed = false
  #hasTrouble = false
  #isTroubleTold = false
  /** Told once, as long as it is the reason. */
  #whyStalled: string | undefined
  #isDoneRead = false
  /** What happened since the records that the caller has, until somebody listens. */
  #held: SessionEvent[] | undefined
  /** Runs whose end was told. */
  readonly #ended = new Set<string>()

  constructor(options: RemoteParts) {
    const { client, sessionId, worker, fetch, since, runId = '', opening } = options
    this.id = sessionId
    this.#options = options
    this.#told = snapshotOfNothing(sessionId)
    this.#held = since === undefined ? undefined : []
    const told = new Told(
      sessionId,
      (event) => this.#onEvent(event),
      () => this.snapshot,
    )
    told.begin(runId)
    this.#follower = new Follower({
      client,
      sessionId,
      worker,
      fetch,
      since,
      told,
      onStatus: (status) => this.#onStatus(status),
      onSnapshot: (snapshot) => {
        this.#told = snapshot
        this.#isDoneRead = false
        this.#settings.hear(snapshot)
        for (const question of snapshot.questions) this.#questions.ask(question)
        if (snapshot.limitQuestion !== null) this.#limit.ask(snapshot.limitQuestion)
        this.#listeners.tellOfChange()
      },
      onUnread: (status) => this.#onUnread(status),
      onLeft: () => this.#onLeft(),
      onIdle: () => this.#onIdle(),
      onTrouble: (trouble) => void this.#onTrouble(trouble),
    })
    this.#own = new OwnRequests({
      client,
      sessionId,
      opening,
      // What comes of it is told: whoever tells it has to know where to begin.
      ready: this.#follower.begun,
      onSent: () => this.#follower.poke(),
      hasToldEnd: (runId) => this.#ended.has(runId),
      onRefused: (error, givenBack) => this.#tell({ type: 'failed', error, givenBack }),
    })
  }

  get snapshot(): SessionSnapshot {
    return shownSnapshot(this.#settings.over(this.#told), {
      status: this.#status,
      own: this.#own.messages,
      isAsking: this.#own.isAsking,
      questions: this.#questions.shown(this.#told.questions),
      limitQuestion: this.#limit.shown(this.#told.limitQuestion),
      takenBack: this.#takenBack,
      isClosed: this.#isClosed,
    })
  }

  listen(listener: (event: SessionEvent) => void): () => void {
    const stop = this.#listeners.add(listener)
    // Whoever listens in this turn hears it, too.
    if (this.#held !== undefined) setImmediate(() => this.#tellHeld())
    return stop
  }

  #tell(event: SessionEvent): void {
    if (this.#isClosed) return
    if (this.#held === undefined) this.#listeners.tell(event)
    else this.#held.push(event)
  }

  #tellHeld(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const event of held) this.#tell(event)
  }

  #onEvent(event: SessionEvent): void {
    if (event.type === 'run_start' || event.type === 'taken') this.#own.taken(event.ids)
    if (event.type === 'question') return this.#questions.ask(event.question)
    if (event.type === 'question_closed') return this.#questions.close(event.id, event.because)
    if (event.type === 'limit_question') return this.#limit.ask(event.request)
    if (event.type === 'limit_question_closed') return this.#limit.close(event.because)
    if (event.type === 'run_end') {
      this.#questions.end()
      this.#limit.end()
      this.#settings.end()
      this.#ended.add(event.runId)
    }
    this.#tell(event)
  }

  #onStatus(status: FullStatus): void {
    if (this.#isTroubleTold) this.#tell({ type: 'note', text: troubleOver })
    this.#hasTrouble = false
    this.#isTroubleTold = false
    const why = status.stalled?.message
    if (why !== undefined && why !== this.#whyStalled) this.#tell({ type: 'note', text: why })
    this.#whyStalled = why
    if (status.isWorking) this.#isDoneRead = false
    if (this.#status?.isWorking !== status.isWorking) this.#listeners.tellOfChange()
    this.#status = status
  }

  /** What a worker asks is on record, too. */
  async #onUnread(status: FullStatus): Promise<void> {
    const { client, sessionId } = this.#options
    this.#onUnreadLimit(status.limitQuestion ?? null)
    this.#showWaits(status)
    const { questions: told } = this.#told
    const open = new Set(status.questions.map(({ callId }) => callId))
    const isSame = told.length === open.size && told.every(({ callId }) => open.has(callId))
    if (isSame) return
    const questions = open.size === 0 ? [] : await recordedQuestions(client, sessionId, status)
    this.#told = { ...this.#told, questions }
    for (const { callId, id } of told) if (!open.has(callId)) this.#questions.close(id, 'answered')
    for (const question of questions) this.#questions.ask(question)
    this.#listeners.tellOfChange()
  }

  #onUnreadLimit(limitQuestion: SessionSnapshot['limitQuestion']): void {
    if (this.#told.limitQuestion?.id === limitQuestion?.id) return
    this.#told = { ...this.#told, limitQuestion }
    if (limitQuestion === null) this.#limit.close('answered')
    else this.#limit.ask(limitQuestion)
    this.#listeners.tellOfChange()
  }

  /** Waits for services that are on record: a worker at rest tells nothing of them. */
  #showWaits({ waits = [] }: FullStatus): void {
    const shown = withRecordedWaits(this.#told, waits)
    if (shown === this.#told) return
    this.#told = shown
    this.#listeners.tellOfChange()
  }

  /** Before the end is told that records tell: with it, it is known whether there is something to go on with. */
  async #onLeft(): Promise<void> {
    if (this.#isDoneRead) return
    const { client, sessionId } = this.#options
    const done = await client.done(sessionId)
    if (done !== undefined && done.snapshot !== null) this.#told = revivedSnapshot(done.snapshot)
    this.#isDoneRead = true
    this.#listeners.tellOfChange()
  }

  async #onIdle(): Promise<void> {
    await this.#own.look()
    // A run may have come and gone since the status was asked for: it is told first.
    if (this.#own.isAsking) return this.#follower.poke()
    for (const settle of this.#onSettled.splice(0)) settle()
  }

  /** Told once, as long as it lasts. */
  async #onTrouble(trouble: Trouble): Promise<void> {
    if (this.#hasTrouble) return
    this.#hasTrouble = true
    const isEngineUp = trouble.type === 'silent' && (await this.#options.isEngineUp())
    // It may be over by now.
    if (!this.#hasTrouble || this.#isTroubleTold) return
    this.#isTroubleTold = true
    this.#tell({ type: 'note', text: troubleText(trouble, isEngineUp) })
  }

  #send(request: SessionRequest, id: string = randomUUID()): void {
    this.#checkOpen()
    const again = whenIdle(request) === 'begins' && this.snapshot.status === 'idle' ? this.#settings.again() : undefined
    if (again !== undefined) this.#own.send({ type: 'set', change: again }, randomUUID())
    this.#own.send(request, id)
    this.#listeners.tellOfChange()
  }

  prompt(content: MessageContent, { id = randomUUID(), when }: PromptOptions = {}): string {
    checkPrompt(content)
    this.#send({ type: 'prompt', content, ...(when !== undefined && { when }) }, id)
    return id
  }

  retract(id: string): boolean {
    const isThere = this.snapshot.queue.some((message) => message.id === id)
    if (!isThere) return false
    this.#send({ type: 'retract', message: id })
    this.#takeBack([id])
    return true
  }

  interrupt(options: InterruptOptions = {}): Interrupted {
    const { queue, status } = this.snapshot
    this.#send({ type: 'interrupt', ...options })
    const isKept = options.queue !== 'give_back'
    if (!isKept) this.#takeBack(queue.map(({ id }) => id))
    return { wasRunning: status !== 'idle', stillQueued: isKept ? queue : [], givenBack: isKept ? [] : queue }
  }

  #takeBack(ids: readonly string[]): void {
    for (const id of ids) this.#takenBack.add(id)
    this.#own.taken(ids)
  }

  stop(message?: string): void {
    this.#send({ type: 'stop', ...(message !== undefined && { message }) })
  }

  retryNow(): boolean {
    const begun = this.snapshot.serviceWaits.map(({ sinceMs }) => sinceMs)
    if (begun.length === 0) return false
    this.#send({ type: 'retry_now', since: Math.max(...begun) })
    return true
  }

  set(change: SettingsChange): void {
    this.#checkOpen()
    checkGoals(change)
    this.#settings.ask(change)
    this.#send({ type: 'set', change })
  }

  answer(questionId: string, answer: PermissionAnswer): boolean {
    const question = this.snapshot.questions.find(({ id }) => id === questionId)
    if (question === undefined || this.#isClosed) return false
    this.#questions.answer(question.callId)
    this.#send({ type: 'answer', callId: question.callId, answer })
    return true
  }

  /** By what is asked of a worker in any case: a limit that is set, or a stop. */
  answerLimit(id: string, given: LimitAnswer): boolean {
    const { limitQuestion } = this.snapshot
    if (limitQuestion?.id !== id || this.#isClosed) return false
    const { raise } = checkedLimitAnswer(limitQuestion, given)
    this.#limit.close('answered')
    if (raise === undefined) this.stop('The limit was not raised')
    else this.set({ limits: raise })
    return true
  }

  compact(instructions?: string): void {
    this.#send({ type: 'compact', ...(instructions !== undefined && { instructions }) })
  }

  resume(limits?: LimitsChange): void {
    this.#checkIdle()
    this.#send({ type: 'resume', ...(limits !== undefined && { limits }) })
  }

  lastAnswer(): void {
    this.#checkIdle()
    this.#send({ type: 'last_answer' })
  }

  approve(approvals: { readonly [callId: string]: PermissionDecision }): void {
    this.#checkIdle()
    this.#send({ type: 'approve', approvals })
  }

  async rewind({ before, what = 'conversation', dryRun: isDryRun = false }: RewindOptions): Promise<Rewound> {
    this.#checkIdle()
    if (what !== 'conversation')
      throw new ConfigurationError(
        'Files of a session on a cluster stay as they are. Take back the conversation alone.',
      )
    const { client, sessionId } = this.#options
    const { transcript } = foldSession(runsOf(await client.records(sessionId)))
    const { content } = personsMessage(transcript, sessionId, before)
    if (!isDryRun) {
      this.#send({ type: 'rewind', before })
      await this.settled()
    }
    return { content, files: [], insertions: 0, deletions: 0, left: [] }
  }

  async fork(): Promise<string> {
    this.#checkOpen()
    return this.#options.client.fork(this.id)
  }

  async contextUsage(): Promise<ContextUsage> {
    const { contextTokens: totalTokens, contextWindow: maxTokens, compactsAt } = this.snapshot.figures
    return { totalTokens, maxTokens, compactsAt, categories: [], tools: [], lastUsage: null }
  }

  async stopTask(taskId: string): Promise<boolean> {
    const isThere = this.snapshot.tasks.some(({ id, status }) => id === taskId && status === 'running')
    if (isThere) this.#send({ type: 'stop_task', taskId })
    return isThere
  }

  settled(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onSettled.push(resolve)
      this.#follower.poke()
    })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#own.sent()
    // They wait on the cluster, and not here.
    this.#questions.end()
    this.#limit.end()
    this.#listeners.tell({ type: 'closed' })
    this.#isClosed = true
    this.#listeners.clear()
    this.#follower.stop()
    for (const settle of this.#onSettled.splice(0)) settle()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new ConfigurationError('The session is closed. Open it again to go on.')
  }

  #checkIdle(): void {
    this.#checkOpen()
    if (this.snapshot.status !== 'idle') throw new ConfigurationError('A run goes on. Wait for it, or interrupt it.')
  }
}
