import { type AbortCause, sharedAbort } from '../values/abort.ts'
import { ConfigurationError } from '../values/errors.ts'
import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { RunEvent } from '../state/events.ts'
import type { LimitAnswer } from '../state/limit-question.ts'
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
import type { SessionParts } from './parts.ts'
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
 * S1: one run at a time. `#running` is set from the time a run is due until its result and everything after it are
 * reported.
 * S2: a submitted message is in the queue, in the conversation, or returned to the caller.
 * S3: a started run reports `run_start` and `system/init` first, its result last, and then `run_end`.
 * S4: after `close` nothing starts, and only `closed` is reported.
 */
class LiveSession implements Session {
  readonly #parts: SessionParts
  readonly #questions: Questions
  readonly #limits: LimitQuestions
  readonly #queue: MessageQueue
  readonly #view: SessionView
  readonly #listeners = new EventListeners()
  /** Requests other than messages, which start before queued messages. */
  #beginnings: readonly Beginning[] = []
  readonly #onSettled: (() => void)[] = []
  #engine: QueryEngine
  #running: Running | undefined
  readonly #stages: StagesAfterRuns
  readonly #tellMessage: (message: SdkMessage) => void
  #hasBegun = false
  #isClosed = false
  #closing: Promise<void> | undefined
  readonly #forgetBackground: (() => void) | undefined
  #snapshot: SessionSnapshot | undefined

  constructor(parts: SessionParts) {
    this.#parts = parts
    const tell = (message: SdkMessage): void => this.#tell({ type: 'message', message })
    this.#tellMessage = parts.through?.(tell) ?? tell
    const { options, permissions } = parts
    const onStage = { tell: (event: SessionEvent) => this.#tell(event), changed: () => this.#changed() }
    this.#stages = new StagesAfterRuns(parts.afterRun, onStage)
    const ask = (event: SessionEvent): void => {
      this.#tell(event)
      this.#changed()
    }
    this.#questions = new Questions(ask)
    this.#limits = new LimitQuestions(ask)
    this.#queue = new MessageQueue(() => this.#engine)
    this.#engine = this.#newEngine()
    const last = parts.journal?.open === undefined ? parts.journal?.ended.at(-1)?.terminal : undefined
    this.#view = new SessionView({ options, permissions, last, engine: () => this.#engine })
    // A background command may end while no run is active to report it.
    this.#forgetBackground = options.background?.onEnd(() => this.#changed())
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
    // A run may have taken a message without having reported it yet.
    if (this.#snapshot?.queue !== this.#queue.waiting) this.#snapshot = undefined
    return (this.#snapshot ??= this.#present())
  }

  #present(): SessionSnapshot {
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
    const begins = when === 'now' || (typeof content === 'string' && compactCommand.test(content))
    const own = { id, model, skipIfMet }
    const put = begins ? this.#queue.putOwn(content, own) : { id: this.#queue.put(content, when, own), isNew: true }
    // A duplicate message, such as one that a host sends twice, interrupts nothing.
    if (when === 'now' && put.isNew && this.#running !== undefined) this.#interruptRun('interrupt')
    this.#changed()
    this.#goOn()
    return put.id
  }

  retract(id: string): boolean {
    const isTaken = this.#queue.retract(id)
    if (isTaken) this.#changed()
    return isTaken
  }

  interrupt({ queue = 'keep', because = 'user' }: InterruptOptions = {}): Interrupted {
    const givenBack = queue === 'give_back' ? this.#queue.takeAll() : []
    const wasRunning = this.#running !== undefined
    this.#interruptRun(because)
    if (givenBack.length > 0) this.#changed()
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
    this.#changed()
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
    this.#begin({ begin: (engine) => engine.compact(instructions) })
  }

  resume(limits?: LimitsChange): void {
    this.#checkIdle()
    if (!this.#engine.canResume) throw new ConfigurationError('There is no run to go on with. Give a prompt.')
    if (limits !== undefined) this.set({ limits })
    this.#setShownMode()
    this.#begin({ begin: (engine) => engine.resume() })
  }

  /** A run of an earlier process may have started in another mode. The mode that the person sees applies. */
  #setShownMode(): void {
    const { permissionMode, permissionModes } = this.#view.present
    if (permissionModes.includes(permissionMode)) this.#engine.set({ permissionMode })
  }

  approve(approvals: { readonly [callId: string]: PermissionDecision }): void {
    this.#checkIdle()
    checkApprovals(approvals, this.#engine.transcript)
    this.#begin({ begin: (engine) => engine.approve(approvals) })
  }

  lastAnswer(): void {
    this.#checkIdle()
    this.#begin({ begin: (engine) => engine.lastAnswer() })
  }

  async rewind({ before, what = 'conversation', dryRun: isDryRun = false }: RewindOptions): Promise<Rewound> {
    this.#checkIdle()
    const { journal, takeBackFiles } = this.#parts
    if (journal === undefined) throw notKept()
    const wantsFiles = what !== 'conversation'
    if (wantsFiles && takeBackFiles === undefined) throw new ConfigurationError('File rewinding is not enabled.')
    return this.#whileIdle(async () => {
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
    if (this.#parts.fork === undefined) throw notKept()
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
      // Between runs nothing else reports the change.
      this.#changed()
    }
  }

  /** Does work while no run may start. A message that arrives meanwhile starts a run afterwards. */
  async #whileIdle<T>(work: () => Promise<T>): Promise<T> {
    this.#running = runningOf({})
    try {
      return await work()
    } finally {
      this.#running = undefined
      this.#changed()
      this.#goOn()
    }
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined || this.#stages.isGoing) {
      if (this.#running !== undefined) await new Promise<void>((resolve) => this.#onSettled.push(resolve))
      await this.#stages.settled()
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    this.#isClosed = true
    this.#beginnings = []
    this.#changed()
    this.#interruptRun('user')
    await this.settled()
    const { end, closeJournal } = this.#parts
    try {
      await end()
    } finally {
      await closeJournal?.(this.#hasBegun)
      this.#forgetBackground?.()
      this.#tell({ type: 'closed' })
      this.#listeners.clear()
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new ConfigurationError('The session is closed. Open it again to go on.')
  }

  #checkIdle(): void {
    this.#checkOpen()
    if (this.#running !== undefined) throw new ConfigurationError('A run goes on. Wait for it, or interrupt it.')
  }

  #begin(beginning: Beginning): void {
    this.#beginnings = [...this.#beginnings, beginning]
    this.#goOn()
  }

  /** Starts the next run, unless one is active. */
  #goOn(): void {
    if (this.#running !== undefined) return
    const next = this.#isClosed ? undefined : this.#next()
    if (next === undefined) {
      for (const settle of this.#onSettled.splice(0)) settle()
      return
    }
    const running = runningOf(next)
    this.#running = running
    this.#view.begin()
    this.#changed()
    void this.#run(next, running).then(() => {
      this.#running = undefined
      this.#changed()
      this.#goOn()
    })
  }

  #next(): Beginning | undefined {
    const [first, ...others] = this.#beginnings
    this.#beginnings = others
    if (first !== undefined) return first
    const message = this.#queue.takeFirst()
    return message && { message, begin: (engine) => engine.submit(message.content, message) }
  }

  /** Never rejects. */
  async #run(beginning: Beginning, running: Running): Promise<void> {
    // Lets the caller subscribe during the rest of its turn.
    await Promise.resolve()
    const engine = this.#engine
    const { message } = beginning
    let result: SdkResult | undefined
    let hasBegun = false
    try {
      for await (const told of beginning.begin(engine)) {
        if (!hasBegun) {
          hasBegun = true
          this.#tell({ type: 'run_start', runId: engine.runId ?? '', ids: message === undefined ? [] : [message.id] })
        }
        // Before this point there was no run to interrupt.
        if (running.interruptedBy !== undefined) engine.interrupt(running.interruptedBy)
        if (told.type === 'result') {
          result = told
          this.#view.end(engine.lastTerminal)
          running.hasResult = true
          this.#questions.withdrawAll()
          this.#changed()
        }
        this.#tellMessage(told)
      }
    } catch (error) {
      this.#view.end(undefined)
      this.#questions.withdrawAll()
      this.#tell({ type: 'failed', error, givenBack: hasBegun || message === undefined ? [] : [message] })
      return
    }
    const terminal = engine.lastTerminal
    if (result === undefined || terminal === undefined) return
    this.#tell({ type: 'run_end', runId: engine.runId ?? '', terminal, result })
    this.#stages.begin(engine)
  }

  #onLoopEvent(event: RunEvent): void {
    this.#hasBegun = true
    this.#parts.onEvent?.(event)
    // Listeners then see the new snapshot.
    if (this.#view.onEvent(event)) this.#changed()
    this.#tell({ type: 'loop', event })
    if (event.type !== 'message' || event.entry.kind !== 'user') return
    const { inboxId, origin } = event.entry
    if (inboxId === undefined || origin === 'prompt') return
    this.#changed()
    this.#tell({ type: 'taken', ids: [inboxId], turn: this.#view.turns })
    const { model } = this.#queue.taken(inboxId)
    if (model !== undefined)
      this.#tell({ type: 'note', text: `${model} is not asked: the message came to a run that goes on.` })
  }

  #changed(): void {
    this.#snapshot = undefined
    this.#listeners.tellOfChange()
  }

  #tell(event: SessionEvent): void {
    if (event.type !== 'loop' && event.type !== 'message') this.#snapshot = undefined
    this.#listeners.tell(event)
  }
}

/** What a run starts with. */
interface Beginning {
  /** The message that the run starts with, already removed from the queue. */
  readonly message?: QueuedMessage
  begin(engine: QueryEngine): AsyncIterable<SdkMessage>
}

/** An active run, from before it starts until its result is reported, or work during which no run may start. */
interface Running {
  /** The message that the run starts with: only this record has it until the engine does. */
  readonly messageId?: string
  interruptedBy: AbortCause | undefined
  /** The run has its result, which only has to be reported. */
  hasResult: boolean
}

/** The initial state of an activity. */
function runningOf({ message }: Pick<Beginning, 'message'>): Running {
  return { interruptedBy: undefined, hasResult: false, ...(message !== undefined && { messageId: message.id }) }
}

/** Result of a rewind that changed no files. */
const nothingChanged: Omit<Rewound, 'content'> = Object.freeze({
  files: [],
  insertions: 0,
  deletions: 0,
  left: [],
})

function notKept(): ConfigurationError {
  return new ConfigurationError('This session is not kept on disk, so there is nothing to go back to or to copy.')
}

interface StageListener {
  tell(event: SessionEvent): void
  /** The spending of stages may have changed. */
  changed(): void
}

/** Stages after the runs of a session. They may run in parallel with the next run. */
class StagesAfterRuns {
  readonly #afterRun: SessionParts['afterRun']
  readonly #on: StageListener
  readonly #going = new Set<Promise<void>>()
  #controller = sharedAbort()

  constructor(afterRun: SessionParts['afterRun'], on: StageListener) {
    this.#afterRun = afterRun
    this.#on = on
  }

  get isGoing(): boolean {
    return this.#going.size > 0
  }

  /** Starts the stages after a run with a result. */
  begin(engine: QueryEngine): void {
    const going = this.#run(engine)
    this.#going.add(going)
    void going.then(() => this.#going.delete(going))
  }

  /** Ends the running stages. Resolves when their spending is recorded. */
  async end(): Promise<void> {
    this.#controller.abort()
    this.#controller = sharedAbort()
    await this.settled()
  }

  async settled(): Promise<void> {
    await Promise.all(this.#going)
  }

  /** Never rejects. */
  async #run(engine: QueryEngine): Promise<void> {
    try {
      await this.#afterRun?.(engine, this.#controller.signal, (message) => {
        this.#on.changed()
        this.#on.tell({ type: 'message', message })
      })
    } catch (error) {
      this.#on.tell({ type: 'failed', error, givenBack: [], isAfterRun: true })
    } finally {
      this.#on.changed()
    }
  }
}
