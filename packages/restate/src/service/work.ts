import { ConfigurationError, type Json, type MessageContent, type RunEvent, type SdkResult } from '@halting/core'
import { compactCommand, messageOf, type PermissionAnswer } from '@halting/core/adapters'
import type { InterruptOptions, QueuedMessage, Question, SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { ClusterLog } from '../engine/cluster-log.ts'
import type { Work } from '../engine/attempt.ts'
import type { Spent } from '@halting/core/adapters'
import { problemOfMessages, type RequestSizeLimit, rejectGoals } from './check-request.ts'
import { moneyMail, whenIdle, type NumberedRequest } from './messages.ts'
import { encodeNote, type WorkNote } from './notes.ts'
import { RequestsInOrder } from './requests-in-order.ts'
import type { PreparedPrompt, WorkerSession } from './session-options.ts'

/** What the work returns. */
export type WorkEnd = {
  /** All requests up to this number are settled. */
  readonly upTo: number
  /** The last snapshot, which is shown while no worker is at work. Null if the session could not be opened. */
  readonly snapshot: SessionSnapshot | null
  /** Total that the session has spent or may have spent, in whole nano-dollars; null if a run is left open. */
  readonly committedNanos: number | null
  /** The part of it charged at the worst case. */
  readonly unknownNanos: number | null
}

export function spendingFields(spent: Spent | null): Pick<WorkEnd, 'committedNanos' | 'unknownNanos'> {
  return { committedNanos: spent?.nanos ?? null, unknownNanos: spent?.unknownNanos ?? null }
}

/** A run on record that did not end. */
export interface OpenRun {
  readonly runId: string
  /** Ids of the messages in it. */
  readonly ids: readonly string[]
  /** Whether the run began without a message: by a request whose outcome may not be on record. */
  readonly isWithoutMessage: boolean
}

export interface SessionWorkOptions {
  readonly session: WorkerSession
  /** Messages that are in runs on record. */
  readonly onRecord?: ReadonlySet<string>
  readonly log: Pick<ClusterLog, 'note' | 'fail' | 'finish'>
  /** Numbers of requests whose outcome is on record. */
  readonly settled: ReadonlySet<number>
  readonly openRun: OpenRun | undefined
  /** Runs that ended on record, and whose result is not on record: a process was lost in between. */
  readonly unreported: readonly { readonly runId: string; readonly result: SdkResult }[]
  readonly onEvent: (event: SessionEvent) => void
  readonly spent: () => Spent | null
  /** Called when the budget of its tenant may have enough money. */
  readonly onMoney?: () => void
  /** Maximum size of the waiting messages, which go into one record. A message that does not fit is refused. */
  readonly size?: RequestSizeLimit
}

/**
 * One session in this process, driven by requests.
 * W1: requests are handled in order, each once in a process. A message counts once by its id, whatever happens. Any other request is handled again in the next process, until its
 * outcome is on record.
 * W2: the work ends when no run is running and every request was handled; later requests are not handled here.
 * W3: the outcome of a request that begins or enters a run is on record: the run whose result answers it, or why no run does.
 */
export class SessionWork implements Work {
  readonly #options: SessionWorkOptions
  #handledUpTo = 0
  /** Requests that each begin a run without a message, before any message does. */
  #beginning: readonly NumberedRequest[] = []
  /** Requests that are settled by the end of the current run. */
  #settledByEnd: readonly number[] = []
  #runId: string | undefined
  /** Answers by call, for permission requests of the current or next run. */
  readonly #answers = new Map<string, PermissionAnswer>()
  /** The latest start of waits for services that are to end, because a person ended them. */
  #retryUpTo = -1
  #mayHaveBegunOpenRun: boolean
  #isEnding = false
  readonly #requests: RequestsInOrder

  constructor(options: SessionWorkOptions) {
    this.#options = options
    const { session, openRun, unreported, onRecord = new Set() } = options
    this.#requests = new RequestsInOrder({
      prepare: session.prepare,
      onRecord,
      hear: (request, prepared) => this.#handle(request, prepared),
      refuse: (request, error) => this.#settleAndRefuse(request, error),
    })
    this.#mayHaveBegunOpenRun = openRun?.isWithoutMessage === true
    for (const { runId, result } of unreported) this.#note({ type: 'result', runId, result })
    session.listen((event) => this.#onEvent(event))
    if (openRun === undefined) return
    this.#noteMessagesInRun(openRun.ids, openRun.runId)
    session.resume()
  }

  #note(note: WorkNote): void {
    this.#options.log.note(encodeNote(note))
  }

  #settle(numbers: readonly number[]): void {
    if (numbers.length > 0) this.#note({ type: 'settled', numbers })
  }

  #noteMessagesInRun(ids: readonly string[], runId: string): void {
    if (ids.length > 0) this.#note({ type: 'into_run', ids, runId })
  }

  /** The current run continues. A person learns of the refusal in words if the request does not begin or enter a run. */
  #refuse({ id, request }: Pick<NumberedRequest, 'id' | 'request'>, error: unknown): void {
    const because = messageOf(error)
    this.#note({ type: 'refused', id, because })
    const { onEvent } = this.#options
    if (whenIdle(request) !== 'begins') return onEvent({ type: 'note', text: because })
    const givenBack = request.type === 'prompt' ? [{ id, content: request.content, when: 'next' } as const] : []
    onEvent({ type: 'failed', error, givenBack })
  }

  #onEvent(event: SessionEvent): void {
    this.#options.onEvent(event)
    if (event.type === 'run_start') {
      this.#onRunStart(event.runId, event.ids)
    } else if (event.type === 'taken') {
      if (this.#runId !== undefined) this.#noteMessagesInRun(event.ids, this.#runId)
    } else if (event.type === 'loop') {
      // The event is emitted while the wait opens.
      if (this.#retryUpTo >= 0 && beginsWait(event.event)) queueMicrotask(() => this.#retry())
    } else if (event.type === 'question') {
      this.#answer(event.question)
    } else if (event.type === 'run_end') {
      const { runId, result } = event
      this.#answers.clear()
      this.#note({ type: 'result', runId, result })
      this.#settle(this.#settledByEnd)
      this.#settledByEnd = []
    } else if (event.type === 'failed' && event.isAfterRun !== true) {
      this.#onFailed(event.error, event.givenBack)
    }
  }

  #onRunStart(runId: string, ids: readonly string[]): void {
    this.#runId = runId
    this.#noteMessagesInRun(ids, runId)
    if (ids.length > 0 || runId === this.#options.openRun?.runId) return
    const [request, ...others] = this.#beginning
    this.#beginning = others
    if (request === undefined) return
    this.#noteMessagesInRun([request.id], runId)
    this.#settle([request.number])
  }

  /** Refuses what cannot begin, and the session continues. After any other error the engine retries, here or elsewhere. */
  #onFailed(error: unknown, givenBack: readonly QueuedMessage[]): void {
    if (!(error instanceof ConfigurationError)) return this.#options.log.fail(error)
    for (const { id } of givenBack) this.#note({ type: 'refused', id, because: messageOf(error) })
    const [request, ...others] = this.#beginning
    if (givenBack.length > 0 || request === undefined) return
    this.#beginning = others
    this.#settle([request.number])
    this.#note({ type: 'refused', id: request.id, because: messageOf(error) })
  }

  deliver(text: string): void {
    // Only the mailbox sends messages.
    const request = JSON.parse(text) as NumberedRequest
    if (text === moneyMail) return this.#options.onMoney?.()
    if (this.#isEnding || request.number <= this.#handledUpTo) return
    this.#handledUpTo = request.number
    if (this.#options.settled.has(request.number)) return
    this.#requests.take(request)
  }

  #handle(request: NumberedRequest, prepared?: PreparedPrompt): void {
    try {
      this.#perform(request, prepared)
    } catch (error) {
      this.#settleAndRefuse(request, error)
    }
  }

  #settleAndRefuse(request: NumberedRequest, error: unknown): void {
    this.#settle([request.number])
    this.#refuse(request, error)
  }

  #perform(numbered: NumberedRequest, prepared?: PreparedPrompt): void {
    const { session, onRecord } = this.#options
    const { number, id, request } = numbered
    switch (request.type) {
      case 'prompt': {
        const { when } = request
        const { content, model }: PreparedPrompt = prepared ?? { content: request.content }
        const compact = typeof content === 'string' ? compactCommand.exec(content) : null
        const how = { id, ...(when !== undefined && { when }), ...(model !== undefined && { model }) }
        if (onRecord?.has(id) !== true) this.#checkSize(content)
        if (compact === null) session.prompt(content, how)
        else this.#begin(numbered, () => session.compact((compact[1] ?? '').trim()))
        return
      }
      case 'compact':
        this.#begin(numbered, () => session.compact(request.instructions))
        return
      case 'retract':
        if (session.retract(request.message)) this.#noteRetracted([request.message])
        return
      case 'interrupt':
        this.#interrupt(number, request)
        return
      case 'close':
        this.#interrupt(number, { queue: 'give_back' })
        return
      case 'stop':
        this.#settledByEnd = [...this.#settledByEnd, number]
        session.stop(request.message)
        return
      case 'retry_now':
        this.#settledByEnd = [...this.#settledByEnd, number]
        // Also before the wait is open in this process: it opens again after a crash and after a rest.
        this.#retryUpTo = Math.max(this.#retryUpTo, request.since)
        this.#retry()
        return
      case 'set':
        rejectGoals(request.change)
        session.set(request.change)
        return
      case 'answer':
        // No question is open.
        if (session.snapshot.status === 'idle') return
        this.#settledByEnd = [...this.#settledByEnd, number]
        // The first answer counts, even before the question is there: it is asked again after a crash.
        if (!this.#answers.has(request.callId)) this.#answers.set(request.callId, request.answer)
        for (const question of session.snapshot.questions) this.#answer(question)
        return
      case 'resume':
        this.#begin(numbered, () => session.resume(request.limits))
        return
      case 'approve':
        this.#begin(numbered, () => session.approve(request.approvals))
        return
      case 'last_answer':
        this.#begin(numbered, () => session.lastAnswer())
        return
      case 'stop_task':
        void session.stopTask(request.taskId)
        return
      case 'rewind':
        void this.#rewind(numbered, request.before)
    }
  }

  /** @throws ConfigurationError */
  #checkSize(content: MessageContent): void {
    const { session, size } = this.#options
    const messages = [...session.snapshot.queue.map((queued) => queued.content), content]
    const problem = size && problemOfMessages(messages, size)
    if (problem !== undefined) throw new ConfigurationError(problem)
  }

  /** Begins a run without a message. It may be the open run on record, whose process was lost before this request's outcome was on record. */
  #begin(numbered: NumberedRequest, begin: () => void): void {
    const { openRun } = this.#options
    if (openRun !== undefined && this.#mayHaveBegunOpenRun) {
      this.#mayHaveBegunOpenRun = false
      this.#noteMessagesInRun([numbered.id], openRun.runId)
      this.#settle([numbered.number])
      return
    }
    begin()
    // The event of the request is emitted in a later turn.
    this.#beginning = [...this.#beginning, numbered]
  }

  #interrupt(number: number, how: InterruptOptions): void {
    this.#settledByEnd = [...this.#settledByEnd, number]
    this.#noteRetracted(this.#options.session.interrupt(how).givenBack.map(({ id }) => id))
  }

  #noteRetracted(ids: readonly string[]): void {
    for (const id of ids) this.#note({ type: 'refused', id, because: 'It was retracted before a run took it.' })
  }

  #answer({ id, callId }: Question): void {
    const answer = this.#answers.get(callId)
    if (answer !== undefined) this.#options.session.answer(id, answer)
  }

  /** Ends the open waits that a person wants to end. */
  #retry(): void {
    const { session } = this.#options
    if (session.snapshot.serviceWaits.some(({ sinceMs }) => sinceMs <= this.#retryUpTo)) session.retryNow()
  }

  async #rewind(numbered: NumberedRequest, before: string): Promise<void> {
    try {
      await this.#options.session.rewind({ before })
    } catch (error) {
      this.#refuse(numbered, error)
    }
    this.#settle([numbered.number])
  }

  cancel(): void {
    this.#requests.abort()
    this.#options.session.interrupt({ queue: 'give_back' })
  }

  /** Runs until nothing is left to do. */
  async run(): Promise<void> {
    const { session, log, spent } = this.#options
    let upTo
    do {
      upTo = this.#handledUpTo
      await this.#requests.over()
      await session.settled()
    } while (upTo !== this.#handledUpTo || this.#requests.isBusy)
    this.#isEnding = true
    const { snapshot } = session
    await session.close()
    const end: WorkEnd = { upTo, snapshot, ...spendingFields(spent()) }
    // This cast is safe: a snapshot is JSON, or has a JSON form.
    log.finish(end as unknown as Json)
  }
}

function beginsWait(event: RunEvent): boolean {
  return event.type === 'agent' ? beginsWait(event.event) : event.type === 'service_wait' && event.isWaiting
}
