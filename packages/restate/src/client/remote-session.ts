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
import { foldSession, splitRuns } from '@halting/core/steps'
import { whenIdle, type Opening, type SessionRequest } from '../service/messages.ts'
import type { FullStatus } from '../service/full-status.ts'
import type { ClusterClient, ClusterClientOptions } from './client.ts'
import { PermissionQuestions, LimitQuestions, recordedQuestions } from './open-questions.ts'
import { RequestedSettings } from './requested-settings.ts'
import { Follower, type ConnectionTrouble, troubleOverText, troubleText } from './follower.ts'
import { PendingRequests } from './pending-requests.ts'
import { rejectGoals } from '../service/check-request.ts'
import { mergeSnapshot, emptySnapshot, withRecordedWaits } from './remote-snapshot.ts'
import { reviveSnapshot } from './revive.ts'
import { SessionEventLog } from './session-event-log.ts'
import { findPersonsMessage } from '../service/persons-message.ts'

export interface RemoteSessionParts {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly opening?: Opening | undefined
  readonly since?: number | undefined
  readonly runId?: string | undefined
  readonly worker: NonNullable<ClusterClientOptions['worker']>
  readonly fetch: typeof fetch
  /** Whether the engine accepts requests, whether or not they are completed. */
  readonly isEngineUp: () => Promise<boolean>
}

/**
 * A session on a cluster, with the interface of a local session. Requests are sent to the cluster in order, each once, however often they have to be retried.
 * R1: a submitted message is pending, in a run, or given back by `failed`.
 * R2: events are those of the worker that has the session; after a lost connection they continue from the records (`SessionEventLog`, `Follower`).
 * R3: `close` releases the session here; on the cluster it continues.
 */
export class RemoteSession implements Session {
  readonly id: string
  readonly #options: RemoteSessionParts
  readonly #listeners = new EventListeners()
  readonly #follower: Follower
  readonly #pending: PendingRequests
  readonly #questions = new PermissionQuestions((event) => this.#emit(event))
  readonly #limitQuestions = new LimitQuestions((event) => {
    this.#emit(event)
    this.#listeners.emitChange()
  })
  readonly #settings = new RequestedSettings()
  /** Messages that were retracted or given back. */
  readonly #retracted = new Set<string>()
  readonly #onSettled: (() => void)[] = []
  #workerSnapshot: SessionSnapshot
  #status: FullStatus | undefined
  #isClosed = false
  #hasTrouble = false
  #isTroubleReported = false
  /** The message about stalled work, emitted once as long as its reason lasts. */
  #stallMessage: string | undefined
  #hasReadOutcome = false
  /** Events since the records that the caller has, until someone listens. */
  #buffered: SessionEvent[] | undefined
  /** Runs whose ending was emitted. */
  readonly #reportedEndings = new Set<string>()

  constructor(options: RemoteSessionParts) {
    const { client, sessionId, worker, fetch, since, runId = '', opening } = options
    this.id = sessionId
    this.#options = options
    this.#workerSnapshot = emptySnapshot(sessionId)
    this.#buffered = since === undefined ? undefined : []
    const eventLog = new SessionEventLog(
      sessionId,
      (event) => this.#onEvent(event),
      () => this.snapshot,
    )
    eventLog.begin(runId)
    this.#follower = new Follower({
      client,
      sessionId,
      worker,
      fetch,
      since,
      eventLog,
      onStatus: (status) => this.#onStatus(status),
      onSnapshot: (snapshot) => {
        this.#workerSnapshot = snapshot
        this.#hasReadOutcome = false
        this.#settings.onWorkerSettings(snapshot)
        for (const question of snapshot.questions) this.#questions.ask(question)
        if (snapshot.limitQuestion !== null) this.#limitQuestions.ask(snapshot.limitQuestion)
        this.#listeners.emitChange()
      },
      onUnread: (status) => this.#onUnreadable(status),
      onLeft: () => this.#onLeft(),
      onIdle: () => this.#onIdle(),
      onTrouble: (trouble) => void this.#onTrouble(trouble),
    })
    this.#pending = new PendingRequests({
      client,
      sessionId,
      opening,
      // Requests are sent only once the follower knows its position, so that their outcome is emitted.
      ready: this.#follower.begun,
      onSent: () => this.#follower.checkNow(),
      isEndReported: (runId) => this.#reportedEndings.has(runId),
      onRefused: (error, givenBack) => this.#emit({ type: 'failed', error, givenBack }),
    })
  }

  get snapshot(): SessionSnapshot {
    return mergeSnapshot(this.#settings.applyTo(this.#workerSnapshot), {
      status: this.#status,
      own: this.#pending.messages,
      isAsking: this.#pending.isAsking,
      questions: this.#questions.visible(this.#workerSnapshot.questions),
      limitQuestion: this.#limitQuestions.visible(this.#workerSnapshot.limitQuestion),
      takenBack: this.#retracted,
      isClosed: this.#isClosed,
    })
  }

  listen(listener: (event: SessionEvent) => void): () => void {
    const stop = this.#listeners.add(listener)
    // Listeners that are added in the same turn receive the events, too.
    if (this.#buffered !== undefined) setImmediate(() => this.#emitBuffered())
    return stop
  }

  #emit(event: SessionEvent): void {
    if (this.#isClosed) return
    if (this.#buffered === undefined) this.#listeners.emit(event)
    else this.#buffered.push(event)
  }

  #emitBuffered(): void {
    const buffered = this.#buffered ?? []
    this.#buffered = undefined
    for (const event of buffered) this.#emit(event)
  }

  #onEvent(event: SessionEvent): void {
    if (event.type === 'run_start' || event.type === 'taken') this.#pending.forget(event.ids)
    if (event.type === 'question') return this.#questions.ask(event.question)
    if (event.type === 'question_closed') return this.#questions.close(event.id, event.because)
    if (event.type === 'limit_question') return this.#limitQuestions.ask(event.request)
    if (event.type === 'limit_question_closed') return this.#limitQuestions.close(event.because)
    if (event.type === 'run_end') {
      this.#questions.end()
      this.#limitQuestions.end()
      this.#settings.end()
      this.#reportedEndings.add(event.runId)
    }
    this.#emit(event)
  }

  #onStatus(status: FullStatus): void {
    if (this.#isTroubleReported) this.#emit({ type: 'note', text: troubleOverText })
    this.#hasTrouble = false
    this.#isTroubleReported = false
    const reason = status.stalled?.message
    if (reason !== undefined && reason !== this.#stallMessage) this.#emit({ type: 'note', text: reason })
    this.#stallMessage = reason
    if (status.isWorking) this.#hasReadOutcome = false
    if (this.#status?.isWorking !== status.isWorking) this.#listeners.emitChange()
    this.#status = status
  }

  /** Emits the questions of a worker, which are also on record. */
  async #onUnreadable(status: FullStatus): Promise<void> {
    const { client, sessionId } = this.#options
    this.#onUnreadLimit(status.limitQuestion ?? null)
    this.#updateWaits(status)
    const { questions: known } = this.#workerSnapshot
    const open = new Set(status.questions.map(({ callId }) => callId))
    const isSame = known.length === open.size && known.every(({ callId }) => open.has(callId))
    if (isSame) return
    const questions = open.size === 0 ? [] : await recordedQuestions(client, sessionId, status)
    this.#workerSnapshot = { ...this.#workerSnapshot, questions }
    for (const { callId, id } of known) if (!open.has(callId)) this.#questions.close(id, 'answered')
    for (const question of questions) this.#questions.ask(question)
    this.#listeners.emitChange()
  }

  #onUnreadLimit(limitQuestion: SessionSnapshot['limitQuestion']): void {
    if (this.#workerSnapshot.limitQuestion?.id === limitQuestion?.id) return
    this.#workerSnapshot = { ...this.#workerSnapshot, limitQuestion }
    if (limitQuestion === null) this.#limitQuestions.close('answered')
    else this.#limitQuestions.ask(limitQuestion)
    this.#listeners.emitChange()
  }

  /** Shows waits for services that are on record: a worker at rest does not report them. */
  #updateWaits({ waits = [] }: FullStatus): void {
    const snapshot = withRecordedWaits(this.#workerSnapshot, waits)
    if (snapshot === this.#workerSnapshot) return
    this.#workerSnapshot = snapshot
    this.#listeners.emitChange()
  }

  /** Reads the outcome before the ending is emitted from records, because it says whether the run can be resumed. */
  async #onLeft(): Promise<void> {
    if (this.#hasReadOutcome) return
    const { client, sessionId } = this.#options
    const done = await client.done(sessionId)
    if (done !== undefined && done.snapshot !== null) this.#workerSnapshot = reviveSnapshot(done.snapshot)
    this.#hasReadOutcome = true
    this.#listeners.emitChange()
  }

  async #onIdle(): Promise<void> {
    await this.#pending.checkOutcomes()
    // A run may have begun and ended since the status was requested. Its events must be emitted first.
    if (this.#pending.isAsking) return this.#follower.checkNow()
    for (const settle of this.#onSettled.splice(0)) settle()
  }

  /** Emits trouble once, as long as it lasts. */
  async #onTrouble(trouble: ConnectionTrouble): Promise<void> {
    if (this.#hasTrouble) return
    this.#hasTrouble = true
    const isEngineUp = trouble.type === 'silent' && (await this.#options.isEngineUp())
    // The trouble may be over by now.
    if (!this.#hasTrouble || this.#isTroubleReported) return
    this.#isTroubleReported = true
    this.#emit({ type: 'note', text: troubleText(trouble, isEngineUp) })
  }

  #send(request: SessionRequest, id: string = randomUUID()): void {
    this.#checkOpen()
    const resent =
      whenIdle(request) === 'begins' && this.snapshot.status === 'idle' ? this.#settings.settingsToResend() : undefined
    if (resent !== undefined) this.#pending.send({ type: 'set', change: resent }, randomUUID())
    this.#pending.send(request, id)
    this.#listeners.emitChange()
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
    this.#markRetracted([id])
    return true
  }

  interrupt(options: InterruptOptions = {}): Interrupted {
    const { queue, status } = this.snapshot
    this.#send({ type: 'interrupt', ...options })
    const isKept = options.queue !== 'give_back'
    if (!isKept) this.#markRetracted(queue.map(({ id }) => id))
    return { wasRunning: status !== 'idle', stillQueued: isKept ? queue : [], givenBack: isKept ? [] : queue }
  }

  #markRetracted(ids: readonly string[]): void {
    for (const id of ids) this.#retracted.add(id)
    this.#pending.forget(ids)
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
    rejectGoals(change)
    this.#settings.request(change)
    this.#send({ type: 'set', change })
  }

  answer(questionId: string, answer: PermissionAnswer): boolean {
    const question = this.snapshot.questions.find(({ id }) => id === questionId)
    if (question === undefined || this.#isClosed) return false
    this.#questions.answer(question.callId)
    this.#send({ type: 'answer', callId: question.callId, answer })
    return true
  }

  /** Answers by the usual requests: sets a limit, or stops the run. */
  answerLimit(id: string, answer: LimitAnswer): boolean {
    const { limitQuestion } = this.snapshot
    if (limitQuestion?.id !== id || this.#isClosed) return false
    const { raise } = checkedLimitAnswer(limitQuestion, answer)
    this.#limitQuestions.close('answered')
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
      throw new ConfigurationError('A session on a cluster cannot rewind its files. Rewind only the conversation.')
    const { client, sessionId } = this.#options
    const { transcript } = foldSession(splitRuns(await client.records(sessionId)))
    const { content } = findPersonsMessage(transcript, sessionId, before)
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
      this.#follower.checkNow()
    })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#pending.sent()
    // The questions stay open on the cluster.
    this.#questions.end()
    this.#limitQuestions.end()
    this.#listeners.emit({ type: 'closed' })
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
