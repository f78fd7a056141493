import { type AbortCause, sharedAbort } from '../values/abort.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { RunEvent } from '../state/events.ts'
import type { LimitAnswer } from '../state/limit-request.ts'
import type { MessageContent } from '../model/messages.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { QueryEngine } from '../api/engine.ts'
import type { SdkMessage, SdkResult } from '../sdk/sdk-messages.ts'
import { checkApprovals } from '../run/answer-shape.ts'
import { compactCommand } from '../api/prompts.ts'
import type { PermissionAnswer } from '../run/can-use-tool.ts'
import { EventListeners } from './event-listeners.ts'
import { checkPrompt } from './check-prompt.ts'
import { MessageQueue } from './message-queue.ts'
import type { SessionParts } from './session-parts.ts'
import { LimitQuestions, Questions } from './questions.ts'
import { SessionView } from './session-view.ts'
import type {
  ContextUsage,
  Interrupted,
  InterruptOptions,
  PromptOptions,
  RewindOptions,
  Rewound,
  Session,
  SessionEvent,
  SessionSnapshot,
  QueuedMessage,
} from './session.ts'

/**
 * Creates a live session: one conversation with its runs, queue and questions.
 * @throws ConfigurationError for invalid options.
 */
export function createSession(parts: SessionParts): Session {
  return new LiveSession(parts)
}

/**
 * S1: one run at a time. `#running` is set from the time at which a run is due until its result and everything after it
 * are reported. S2: a submitted message is in the queue, in the conversation, or returned to the caller. S3: a started
 * run reports `run_start` and `system/init` first, its result last, and then `run_end`. S4: after `close` nothing
 * starts, and only `closed` is reported.
 */
class LiveSession implements Session {
  readonly #parts: SessionParts
  readonly #questions: Questions
  readonly #limits: LimitQuestions
  readonly #queue: MessageQueue
  readonly #view: SessionView
  readonly #listeners = new EventListeners()
  /** Requests other than messages, which start before queued messages. */
  #starts: readonly RunStarter[] = []
  readonly #onSettled: (() => void)[] = []
  #engine: QueryEngine
  #running: ActiveWork | undefined
  readonly #stages: StagesAfterRuns
  readonly #emitMessage: (message: SdkMessage) => void
  #hasStarted = false
  #isClosed = false
  #closing: Promise<void> | undefined
  readonly #unsubscribeBackground: (() => void) | undefined
  #snapshot: SessionSnapshot | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    const emit = (message: SdkMessage): void => this.#emit({ type: 'message', message })
    this.#emitMessage = parts.through?.(emit) ?? emit
    const { options, permissions } = parts
    const stageListener = { emit: (event: SessionEvent) => this.#emit(event), changed: () => this.#markChanged() }
    this.#stages = new StagesAfterRuns(parts.afterRun, stageListener)
    const emitQuestion = (event: SessionEvent): void => {
      this.#emit(event)
      this.#markChanged()
    }
    this.#questions = new Questions(emitQuestion)
    this.#limits = new LimitQuestions(emitQuestion)
    this.#queue = new MessageQueue(() => this.#engine)
    this.#engine = this.#newEngine()
    const last = parts.journal?.open === undefined ? parts.journal?.ended.at(-1)?.terminal : undefined
    this.#view = new SessionView({ options, permissions, last, engine: () => this.#engine })
    // A background command may end while no run is active that could report its end.
    this.#unsubscribeBackground = options.background?.onEnd(() => this.#markChanged())
  }

  #newEngine(): QueryEngine {
    const { options, journal, answersQuestions, attach } = this.#parts
    const engine = new QueryEngine({
      ...options,
      ...(journal !== undefined && { session: journal }),
      ...(answersQuestions && { canUseTool: this.#questions.canUseTool }),
      ...(options.askLimit === undefined && { askLimit: this.#limits.askLimit }),
      onEvent: (event) => this.#onLoopEvent(event),
    })
    attach?.(engine)
    return engine
  }

  get id(): string {
    return this.#engine.sessionId
  }

  get snapshot(): SessionSnapshot {
    // A run may have received a message without having reported it yet.
    if (this.#snapshot?.queue !== this.#queue.waiting) this.#snapshot = undefined
    return (this.#snapshot ??= this.#buildSnapshot())
  }

  #buildSnapshot(): SessionSnapshot {
    const { cwd, journal } = this.#parts
    const questions = this.#questions.open
    const limitQuestion = this.#limits.open
    const isAsking = questions.length > 0 || limitQuestion !== null
    const { activity, ...view } = this.#view.present
    const isRunning = this.#running !== undefined
    const status = isAsking ? 'requires_action' : isRunning ? 'running' : 'idle'
    return {
      ...view,
      status: this.#isClosed ? 'closed' : status,
      activity: isAsking ? { type: 'question' } : activity,
      queue: this.#queue.waiting,
      questions,
      limitQuestion,
      canResume: !this.#isClosed && this.#running?.hasResult !== false && this.#engine.canResume,
      cwd,
      file: journal?.path,
    }
  }

  listen(listener: (event: SessionEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  prompt(content: MessageContent, { id, when = 'next', model, skipIfMet }: PromptOptions = {}): string {
    this.#checkOpen()
    // Invalid content is rejected here, not when its run starts.
    checkPrompt(content)
    if (id !== undefined && this.#running?.messageId === id) return id
    const startsRun = when === 'now' || (typeof content === 'string' && compactCommand.test(content))
    const messageOptions = { id, model, skipIfMet }
    const put = startsRun
      ? this.#queue.putForOwnRun(content, messageOptions)
      : { id: this.#queue.put(content, when, messageOptions), isNew: true }
    // A duplicate message, for example one that a host sends twice, interrupts nothing.
    if (when === 'now' && put.isNew && this.#running !== undefined) this.#interruptRun('interrupt')
    this.#markChanged()
    this.#startNext()
    return put.id
  }

  retract(id: string): boolean {
    const isTaken = this.#queue.retract(id)
    if (isTaken) this.#markChanged()
    return isTaken
  }

  interrupt({ queue = 'keep', because = 'user' }: InterruptOptions = {}): Interrupted {
    const givenBack = queue === 'give_back' ? this.#queue.takeAll() : []
    const wasRunning = this.#running !== undefined
    this.#interruptRun(because)
    if (givenBack.length > 0) this.#markChanged()
    return { wasRunning, stillQueued: this.#queue.waiting, givenBack }
  }

  #interruptRun(because: AbortCause): void {
    void this.#stages.end()
    if (this.#running === undefined) return
    this.#running.interruptedBy ??= because
    this.#engine.interrupt(because)
  }

  stop(message?: string): void {
    this.#engine.stop(message)
  }

  retryNow(): boolean {
    return this.#engine.retryNow()
  }

  set(change: SettingsChange): void {
    this.#checkOpen()
    this.#engine.set(change)
    this.#view.set(change)
    this.#markChanged()
  }

  answer(questionId: string, answer: PermissionAnswer): boolean {
    return this.#questions.answer(questionId, answer)
  }

  answerLimit(id: string, answer: LimitAnswer): boolean {
    return this.#limits.answer(id, answer, (limits) => this.set({ limits }))
  }

  compact(instructions?: string): void {
    this.#checkOpen()
    if (this.#running === undefined && this.#engine.transcript.messages().length === 0)
      throw new ConfigurationError('There is no conversation to compact yet.')
    this.#enqueue({ start: (engine) => engine.compact(instructions) })
  }

  resume(limits?: LimitsChange): void {
    this.#checkIdle()
    if (!this.#engine.canResume) throw new ConfigurationError('There is no run to continue. Pass a prompt.')
    if (limits !== undefined) this.set({ limits })
    this.#setShownMode()
    this.#enqueue({ start: (engine) => engine.resume() })
  }

  /** A run of an earlier process may have started in another mode. The mode that is displayed to the person applies. */
  #setShownMode(): void {
    const { permissionMode, permissionModes } = this.#view.present
    if (permissionModes.includes(permissionMode)) this.#engine.set({ permissionMode })
  }

  approve(approvals: { readonly [callId: string]: PermissionDecision }): void {
    this.#checkIdle()
    checkApprovals(approvals, this.#engine.transcript)
    this.#enqueue({ start: (engine) => engine.approve(approvals) })
  }

  lastAnswer(): void {
    this.#checkIdle()
    this.#enqueue({ start: (engine) => engine.lastAnswer() })
  }

  async rewind({ before, what = 'conversation', dryRun: isDryRun = false }: RewindOptions): Promise<Rewound> {
    this.#checkIdle()
    const { journal, takeBackFiles } = this.#parts
    if (journal === undefined) throw notStoredError()
    const wantsFiles = what !== 'conversation'
    if (wantsFiles && takeBackFiles === undefined) throw new ConfigurationError('File rewinding is not enabled.')
    return this.#runWhileIdle(async () => {
      const message = await journal.messageOf(before)
      const change =
        wantsFiles && takeBackFiles !== undefined ? await takeBackFiles(message, { isDryRun }) : nothingChanged
      if (!isDryRun && what !== 'files') {
        await this.#stages.end()
        await journal.rewind(before)
        const { permissionUpdates: _, isPastFallback: __, ...set } = this.#engine.inForce ?? {}
        const engine = this.#engine
        this.#engine = this.#newEngine()
        this.#queue.moveFrom(engine)
        this.#view.rewound()
        this.#engine.set(set)
      }
      return { content: message.content, ...change }
    })
  }

  async fork(): Promise<string> {
    this.#checkOpen()
    if (this.#parts.fork === undefined) throw notStoredError()
    return this.#parts.fork()
  }

  async contextUsage(): Promise<ContextUsage> {
    const { contextUsageOf } = await import('./context-usage.ts')
    const { model, transcript, inForce } = this.#engine
    return contextUsageOf({ ...this.#parts.options, model }, transcript, inForce?.tools)
  }

  async stopTask(taskId: string): Promise<boolean> {
    try {
      return (await this.#parts.stopTask?.(taskId)) === true || (await this.#engine.stopAgent(taskId))
    } finally {
      // Between runs, no other event reports the change.
      this.#markChanged()
    }
  }

  /** Does work while no run may start. A message that arrives meanwhile starts a run after the work. */
  async #runWhileIdle<T>(work: () => Promise<T>): Promise<T> {
    this.#running = newActiveWork({})
    try {
      return await work()
    } finally {
      this.#running = undefined
      this.#markChanged()
      this.#startNext()
    }
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined || this.#stages.isActive) {
      if (this.#running !== undefined) await new Promise<void>((resolve) => this.#onSettled.push(resolve))
      await this.#stages.settled()
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    this.#isClosed = true
    this.#starts = []
    this.#markChanged()
    this.#interruptRun('user')
    await this.settled()
    const { end, closeJournal } = this.#parts
    try {
      await end()
    } finally {
      await closeJournal?.(this.#hasStarted)
      this.#unsubscribeBackground?.()
      this.#emit({ type: 'closed' })
      this.#listeners.clear()
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new ConfigurationError('The session is closed. Open it again to continue.')
  }

  #checkIdle(): void {
    this.#checkOpen()
    if (this.#running !== undefined) throw new ConfigurationError('A run is active. Wait for it, or interrupt it.')
  }

  #enqueue(starter: RunStarter): void {
    this.#starts = [...this.#starts, starter]
    this.#startNext()
  }

  /** Starts the next run, unless one is active. */
  #startNext(): void {
    if (this.#running !== undefined) return
    const next = this.#isClosed ? undefined : this.#takeNext()
    if (next === undefined) {
      for (const settle of this.#onSettled.splice(0)) settle()
      return
    }
    const activity = newActiveWork(next)
    this.#running = activity
    this.#view.begin()
    this.#markChanged()
    void this.#run(next, activity).then(() => {
      this.#running = undefined
      this.#markChanged()
      this.#startNext()
    })
  }

  #takeNext(): RunStarter | undefined {
    const [first, ...others] = this.#starts
    this.#starts = others
    if (first !== undefined) return first
    const message = this.#queue.takeFirst()
    return message && { message, start: (engine) => engine.submit(message.content, message) }
  }

  /** Never rejects. */
  async #run(starter: RunStarter, activity: ActiveWork): Promise<void> {
    // Lets the caller subscribe before the first event is emitted.
    await Promise.resolve()
    const engine = this.#engine
    const { message } = starter
    let result: SdkResult | undefined
    let hasStarted = false
    try {
      for await (const sdkMessage of starter.start(engine)) {
        if (!hasStarted) {
          hasStarted = true
          this.#emit({ type: 'run_start', runId: engine.runId ?? '', ids: message === undefined ? [] : [message.id] })
        }
        // Earlier there was no run that could be interrupted.
        if (activity.interruptedBy !== undefined) engine.interrupt(activity.interruptedBy)
        if (sdkMessage.type === 'result') {
          result = sdkMessage
          this.#view.end(engine.lastTerminal)
          activity.hasResult = true
          this.#questions.withdrawAll()
          this.#markChanged()
        }
        this.#emitMessage(sdkMessage)
      }
    } catch (error) {
      this.#view.end(undefined)
      this.#questions.withdrawAll()
      this.#emit({ type: 'failed', error, givenBack: hasStarted || message === undefined ? [] : [message] })
      return
    }
    const terminal = engine.lastTerminal
    if (result === undefined || terminal === undefined) return
    this.#emit({ type: 'run_end', runId: engine.runId ?? '', terminal, result })
    this.#stages.begin(engine)
  }

  #onLoopEvent(event: RunEvent): void {
    this.#hasStarted = true
    this.#parts.onEvent?.(event)
    // Listeners then see the new snapshot.
    if (this.#view.onEvent(event)) this.#markChanged()
    this.#emit({ type: 'loop', event })
    if (event.type !== 'message' || event.entry.kind !== 'user') return
    const { inboxId, origin } = event.entry
    if (inboxId === undefined || origin === 'prompt') return
    this.#markChanged()
    this.#emit({ type: 'taken', ids: [inboxId], turn: this.#view.turns })
    const { model } = this.#queue.taken(inboxId)
    if (model !== undefined)
      this.#emit({ type: 'note', text: `${model} is not used: the current run took the message.` })
  }

  #markChanged(): void {
    this.#snapshot = undefined
    this.#listeners.emitChange()
  }

  #emit(event: SessionEvent): void {
    if (event.type !== 'loop' && event.type !== 'message') this.#snapshot = undefined
    this.#listeners.emit(event)
  }
}

/** The input that a run starts with. */
interface RunStarter {
  /** The message that the run starts with, already removed from the queue. */
  readonly message?: QueuedMessage
  start(engine: QueryEngine): AsyncIterable<SdkMessage>
}

/** An active run, from before its start until its result is reported, or work during which no run may start. */
interface ActiveWork {
  /** The message that the run starts with. Until the engine has received it, only this record contains its id. */
  readonly messageId?: string
  interruptedBy: AbortCause | undefined
  /** Whether the run has its result, which only has to be reported. */
  hasResult: boolean
}

/** The initial state of an activity. */
function newActiveWork({ message }: Pick<RunStarter, 'message'>): ActiveWork {
  return { interruptedBy: undefined, hasResult: false, ...(message !== undefined && { messageId: message.id }) }
}

/** Result of a rewind that changed no files. */
const nothingChanged: Omit<Rewound, 'content'> = Object.freeze({
  files: [],
  insertions: 0,
  deletions: 0,
  left: [],
})

function notStoredError(): ConfigurationError {
  return new ConfigurationError('This session is not stored on disk, so it cannot be rewound or copied.')
}

interface StageListener {
  emit(event: SessionEvent): void
  /** The spending of stages may have changed. */
  changed(): void
}

/** Stages after the runs of a session. They may run in parallel with the next run. */
class StagesAfterRuns {
  readonly #afterRun: SessionParts['afterRun']
  readonly #listener: StageListener
  readonly #active = new Set<Promise<void>>()
  #controller = sharedAbort()

  constructor(afterRun: SessionParts['afterRun'], listener: StageListener) {
    this.#afterRun = afterRun
    this.#listener = listener
  }

  get isActive(): boolean {
    return this.#active.size > 0
  }

  /** Starts the stages after a run with a result. */
  begin(engine: QueryEngine): void {
    const promise = this.#run(engine)
    this.#active.add(promise)
    void promise.then(() => this.#active.delete(promise))
  }

  /** Ends the running stages. Resolves when their spending is recorded. */
  async end(): Promise<void> {
    this.#controller.abort()
    this.#controller = sharedAbort()
    await this.settled()
  }

  async settled(): Promise<void> {
    await Promise.all(this.#active)
  }

  /** Never rejects. */
  async #run(engine: QueryEngine): Promise<void> {
    try {
      await this.#afterRun?.(engine, this.#controller.signal, (message) => {
        this.#listener.changed()
        this.#listener.emit({ type: 'message', message })
      })
    } catch (error) {
      this.#listener.emit({ type: 'failed', error, givenBack: [], isAfterRun: true })
    } finally {
      this.#listener.changed()
    }
  }
}
