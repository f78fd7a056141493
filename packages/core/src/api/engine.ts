import type { Ledger } from '../limits/ledger.ts'
import { nanosOf, usdOf } from '../model/prices.ts'
import type { AbortCause } from '../values/abort.ts'
import { OrphanedTools } from '../values/orphaned-tools.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  accountOf,
  registerEngineSession,
  resultOf,
  currentRunOf,
  notifyListener,
  type EngineSession,
  type CurrentRun,
  areGoalFilesUnmodified,
} from './engine-session.ts'
import { isName, isPrompt, optional } from '../values/validators.ts'
import { specOf } from '../goals/run-goals.ts'
import { createInbox, inboxIdsOf, type OpenInbox } from '../steps/inbox.ts'
import { leavableGenerator, type Departure } from '../values/leavable-generator.ts'
import { streamRun, type RunStream, type RunSurroundings } from './iterate.ts'
import type { MessageContent } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { pendingCallsOf, pendingOnRecord, type PendingApproval } from '../run/pending-approval.ts'
import { contextOf, settingsOf, type RunOptions } from './options.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { initMessage, createTranslator } from '../sdk/translate.ts'
import type { SdkMessages, SdkPermissionDenial } from '../sdk/sdk-messages.ts'
import { compactCommand, Prompts } from './prompts.ts'
import { resumeOn } from './resume.ts'
import { startOptionsOf, resumeRequest, type RunRequest } from './run-request.ts'
import { completeOptions, runsBeforeOf, sessionIdOf, type QueryOptions } from './query-options.ts'
import { freshSessionId, runsIn } from './run-id.ts'
import { collectDenials } from '../sdk/result-message.ts'
import type { SessionAccount } from './session-account.ts'
import { checkedChange } from '../run/check-change.ts'
import { contextWithSettings } from '../run/context-with-settings.ts'
import {
  carriedSettings,
  settingsAfter,
  sessionSettings,
  type LimitsChange,
  type SettingsChange,
  type SettingsInForce,
} from '../state/settings-change.ts'
import { startRun, type StartOptions } from './start.ts'
import type { LearnedContext, RunProgress } from '../state/state.ts'
import type { InboxMessage } from '../steps/external-input.ts'
import { DurableStepEngine } from '../steps/durable-step-engine.ts'
import { runIdOf, type StoredSession } from '../steps/fold-session.ts'
import { inboxIdsIn } from '../steps/fold.ts'
import type { StepRecord } from '../steps/step-record.ts'
import { systemClock } from '../values/system-clock.ts'
import type { RunResult } from '../endings/run-result.ts'
import { answersByKey } from '../run/answer-shape.ts'
import { calledName } from '../tools/definitions.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { Transcript } from '../conversation/transcript.ts'
import { lastAnswerPrompt } from '../run/turn-texts.ts'

/**
 * Runs several prompts in one session. `maxBudgetUsd` applies to the session; every other limit applies to each run. One
 * run at a time: a new prompt aborts the current run with the cause `interrupt`.
 */
export class QueryEngine<Output = unknown> {
  /** Id of the session. */
  readonly sessionId: string
  readonly #options: QueryOptions<Output>
  readonly #inbox: OpenInbox
  readonly #orphanedTools = new OrphanedTools()
  readonly #prompts: Prompts
  #transcript: Transcript
  #runs: number
  #current: CurrentRun | undefined
  #account: SessionAccount
  /** The session of an earlier process, until a run starts. */
  #previousSession: StoredSession | undefined
  #last: FinishedRun | undefined
  #runId: string | undefined
  #learned: LearnedContext | undefined
  /** Settings that were changed during the session. They replace those of the options. */
  #inForce: SettingsInForce | null = null
  /** The model that was selected for the last run only; undefined if that run used the session's model. */
  #modelOfRun: string | undefined

  /** @throws ConfigurationError for options that cannot be run. */
  constructor(options: QueryOptions<Output>) {
    // Rejects a value that is not an object before any field is read.
    settingsOf(options)
    this.#options = completeOptions(options)
    // Plain JavaScript may pass `steps`, which would mix the records of all runs.
    if ((options as RunOptions).steps !== undefined)
      throw new ConfigurationError('An engine needs a step engine for each run. Pass stepsFor: (runId) => steps.')
    const { session } = options
    const transcript = options.transcript ?? session?.transcript ?? Transcript.empty()
    this.#transcript = transcript
    this.#previousSession = session
    this.#learned = session?.ended.at(-1)?.spent
    this.#inForce = sessionSettings(session?.ended.at(-1)?.spent.settings)
    this.#inbox = createInbox(() => [...inboxIdsOf(transcript), ...inboxIdsIn(session?.open ?? [])])
    this.#runs = Math.max(runsBeforeOf(options), runsIn(transcript))
    this.sessionId = sessionIdOf(options) ?? freshSessionId(options.clock ?? systemClock)
    this.#account = accountOf(this.#options)
    this.#prompts = new Prompts(options.prepareContent)
    registerEngineSession(this, () => this.#session)
  }

  /** The conversation so far. */
  get transcript(): Transcript {
    return this.#transcript
  }

  /** Settled cost of the session in US dollars: `spentBeforeUsd` and all runs since. */
  get totalCostUsd(): number {
    return this.#account.costUsd
  }

  /** How the last run ended. */
  get lastTerminal(): RunResult | undefined {
    return this.#last?.terminal
  }

  /** The name of the current run, or of the last run in this process. */
  get runId(): string | undefined {
    return this.#runId
  }

  /** Settings that were changed during the session. They replace those of the options. */
  get inForce(): SettingsInForce | null {
    return this.#inForce
  }

  /** The model of the current run, or else the model of the next run. */
  get model(): Model {
    return contextWithSettings(
      contextOf(this.#options),
      this.#current === undefined ? this.#inForce : this.#settingsOfRun,
    ).model
  }

  /** The settings of the session, with the model that was selected only for this run. */
  get #settingsOfRun(): SettingsInForce | null {
    const model = this.#modelOfRun
    return model === undefined ? this.#inForce : settingsAfter(this.#inForce, { model }, false)
  }

  /** Aborts the current run, or a prompt in preparation, on behalf of a person. */
  interrupt(cause: AbortCause = 'user'): void {
    if (this.#current === undefined) this.#prompts.interrupt(cause)
    else this.#current.loop.abort(cause)
  }

  /** Ends the run at its next cancellation point. */
  stop(message?: string): void {
    this.#current?.loop.stop(message)
  }

  /** Answers an `approval_needed` event of the current run on behalf of a person (`onAsk: 'wait'`). `key` is the key of that event. */
  answer(key: string, decision: PermissionDecision): void {
    this.#current?.loop.answer(key, decision)
  }

  /** Stops a background subagent of the current run, as `RunStream.stopAgent` does. */
  async stopAgent(id: string): Promise<boolean> {
    return (await this.#current?.loop.stopAgent(id)) ?? false
  }

  /** Ends the current run's waits for services, as `RunStream.retryNow` does. */
  retryNow(): boolean {
    return this.#current?.loop.retryNow() ?? false
  }

  /** Sends a message to the current run, or to the next one. Returns its id, as `RunStream.steer` does. */
  steer(content: MessageContent, id?: string): string {
    return this.#inbox.put({ kind: 'steer', content, ...(id !== undefined && { id }) })
  }

  /** Sends a message for when the current run would end, or for the next run. */
  followUp(content: MessageContent, id?: string): string {
    return this.#inbox.put({ kind: 'follow_up', content, ...(id !== undefined && { id }) })
  }

  /** Withdraws a message that no run has received yet. Returns false when a run has already received the message, or when no message has this id. */
  retract(id: string): boolean {
    return this.#inbox.retract(id)
  }

  /** Messages that were submitted and are not in the conversation yet. */
  get waiting(): readonly InboxMessage[] {
    return this.#inbox.waiting
  }

  /**
   * Changes model, permission mode, thinking and limits for the current run, as `RunStream.set` does, and for later
   * runs.
   * @throws ConfigurationError for an invalid setting; then the whole change is rejected.
   */
  set(change: SettingsChange): void {
    const isRunning = this.#current !== undefined
    const checked = checkedChange(contextOf(this.#options), isRunning ? this.#settingsOfRun : this.#inForce, change)
    this.#current?.loop.set(checked)
    if (checked.model !== undefined) this.#modelOfRun = undefined
    const untilBefore = contextOf(this.#options).goals.configured.map(specOf)
    this.#inForce = settingsAfter(this.#inForce, { ...checked, untilBefore }, false)
    // The change also applies to stages after a run. A current run applies it at its next request.
    if (this.#current === undefined)
      this.#account.limit(contextWithSettings(contextOf(this.#options), this.#inForce).settings)
  }

  /**
   * Selects another model of the options, by its id or a name that `modelNamed` knows. Without an id: the engine's
   * initial model.
   * @throws ConfigurationError
   */
  setModel(id?: string): void {
    this.set({ model: id ?? null })
  }

  /** Selects a permission mode that the permissions define. @throws ConfigurationError */
  setPermissionMode(mode: string): void {
    this.set({ permissionMode: mode })
  }

  /** Maximum thinking tokens of a reply; 0 for none, null for the model's default. @throws ConfigurationError */
  setMaxThinkingTokens(tokens: number | null): void {
    if (tokens === null) return this.set({ thinking: null })
    this.set({ thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens } })
  }

  /** Changes limits of the current run and of later runs; `maxBudgetUsd` applies to the session. @throws ConfigurationError */
  setLimits(limits: LimitsChange): void {
    this.set({ limits })
  }

  /**
   * Runs one prompt. The last message is always the result; leaving early aborts the run. `id` is the caller's name for
   * the message, as for `steer`: later messages with this id are ignored. `model` and `skipIfMet` apply to this run
   * only.
   * @throws ConfigurationError for an invalid prompt, and for a model that cannot be set.
   */
  submit(
    prompt: MessageContent,
    {
      id,
      model,
      skipIfMet,
    }: {
      /** Name of the message. A message whose name was submitted before is ignored. */
      id?: string
      /** Id of the model of this run. Default: the model of the options. */
      model?: string
      /** Ends without a request if the goals are already met at the start. */
      skipIfMet?: boolean
    } = {},
  ): SdkMessages<Output> {
    isPrompt('prompt', prompt)
    optional(isName)('The id of a prompt', id)
    const command = typeof prompt === 'string' ? compactCommand.exec(prompt) : null
    if (model !== undefined) checkedChange(contextOf(this.#options), this.#inForce, { model })
    const overrides = {
      ...(id !== undefined && { promptId: id }),
      ...(model !== undefined && { model }),
      ...(skipIfMet !== undefined && { skipIfMet }),
    }
    if (command !== null) return this.#run({ compact: { instructions: (command[1] ?? '').trim() }, ...overrides })
    return this.#run({ prompt, ...overrides })
  }

  /**
   * Compacts the conversation in a separate run, with a result like any other. `instructions` describe what the summary
   * should contain. Equivalent to the prompt `/compact INSTRUCTIONS`. Rejects with a `ConfigurationError` if there is
   * nothing to compact, or calls are pending.
   */
  compact(instructions = ''): SdkMessages<Output> {
    return this.#run({ compact: { instructions: instructions.trim() } })
  }

  /** Requests a last answer: a run of one request without tools, which accepts no other input. Rejects if the conversation is empty. */
  lastAnswer(): SdkMessages<Output> {
    return this.#run({ prompt: lastAnswerPrompt, lastAnswer: true })
  }

  /**
   * Tool calls that wait for a person's approval. If a run is in progress, they are its calls, and `answer` accepts
   * their `key`. Otherwise they are calls of the last run, including one of an earlier process (`session`). That run
   * ended as `needs_approval`, or did not end and still waits. `approve` answers them.
   */
  pending(): readonly PendingApproval[] {
    if (this.#current !== undefined) return this.#current.loop.pending
    const session = this.#previousSession
    if (session?.isRewound === true) return []
    if (session?.open !== undefined) return this.#pendingOnRecord(session.open)
    return pendingCallsOf(session?.ended.at(-1)?.terminal ?? this.#last?.terminal, this.#transcript)
  }

  /**
   * Continues with a person's answers to the pending calls (`pending()`), by their ids. After `needs_approval` this
   * starts a new run; an unfinished run of an earlier process continues. Unanswered calls stay pending. If two calls of
   * subagents have the same id, answer each by its `key`.
   * @throws ConfigurationError for an answer to a call that is not pending, and for an invalid answer. After
   * `needs_approval` the messages reject with this error.
   */
  approve(approvals: { readonly [callId: string]: PermissionDecision }): SdkMessages<Output> {
    const open =
      this.#current === undefined && this.#previousSession?.isRewound !== true ? this.#previousSession : undefined
    if (open?.open === undefined) return this.#run({ approvals })
    return this.#run({ open, answers: answersByKey(approvals, this.pending()) })
  }

  /** Replaces aliases by the names of the tools that run. */
  #pendingOnRecord(records: readonly StepRecord[]): readonly PendingApproval[] {
    const context = contextOf(this.#options)
    return pendingOnRecord(records).map((call) => ({ ...call, tool: calledName(call.tool, context) }))
  }

  /** Whether `resume` can continue a run. */
  get canResume(): boolean {
    return this.#current === undefined && this.#resumeRequest() !== undefined
  }

  /**
   * Continues without a new prompt. If a run of `session` did not end, it continues from its last record. Otherwise a
   * new run continues the last one that ended, with its counters and its name. If that run ended at a limit, raise the
   * limit first: otherwise the new run ends at once.
   * @throws ConfigurationError when no run can be continued, or a run is in progress.
   */
  resume(): SdkMessages<Output> {
    const request = this.#current === undefined ? this.#resumeRequest() : undefined
    if (request === undefined) throw new ConfigurationError('There is no run to continue. Pass a prompt.')
    return this.#run(request)
  }

  #resumeRequest(): RunRequest | undefined {
    return resumeRequest({ previous: this.#previousSession, last: this.#last, transcript: this.#transcript })
  }

  readonly #run = (request: RunRequest): SdkMessages<Output> =>
    leavableGenerator((leaving) => this.#messages(request, leaving))

  async *#messages(request: RunRequest, leaving: Departure): SdkMessages<Output> {
    const ready = this.#prompts.ready(request.prompt)
    const prompt = ready instanceof Promise ? await leaving.until(ready) : ready // The preparation may never finish.
    if (leaving.hasLeft) return
    if (request.open === undefined && this.#previousSession?.open !== undefined)
      await this.#closeOpen(this.#previousSession)
    // Another prompt may have arrived during the wait.
    while (this.#current !== undefined) {
      this.#current.loop.abort('interrupt')
      await this.#current.settle()
    }
    // A stop request that arrived after the last run's final cancellation point was meant for that run.
    this.#inbox.takeSignals()
    // Settings that were changed before this run apply to it from the start.
    this.#inbox.takeSettings()
    const { sessionId } = this
    if (request.carried !== undefined) this.#carry(request.carried.continues)
    this.#previousSession = undefined
    this.#modelOfRun = request.model
    const runId = (this.#runId = request.open === undefined ? `run${++this.#runs}` : runIdOf(request.open.open))
    const running = request.open === undefined ? this.#begin(request, prompt, runId) : this.#resumeOpen(request.open)
    if (request.open !== undefined) this.#reapplySettings(running)
    // The first answer to a key applies, even if it arrives before the call waits.
    for (const [key, decision] of request.answers ?? []) running.answer(key, decision)
    const current = (this.#current = this.#trackRun(running))
    this.#prompts.passInterruption(running)
    const stopListening = leaving.onLeave(() => running.abort('abandoned'))
    const { includePartialMessages, includeHookEvents } = this.#options
    const translator = createTranslator({ sessionId, runId, includePartialMessages, includeHookEvents })
    const denials: SdkPermissionDenial[] = []
    try {
      const context = contextWithSettings(contextOf(this.#options), this.#settingsOfRun)
      yield initMessage(context, this.#options.init, { sessionId, runId })
      for await (const event of running) {
        notifyListener(this.#options, event)
        collectDenials(event, denials)
        for (const message of translator.messages(event)) {
          yield message
          // Checked after every message. The ledger has already limited the cost (spec R-BUD-8).
          if (this.#account.isSpent) running.abort('budget')
        }
      }
    } finally {
      stopListening()
      // If the caller leaves before the run starts, the session contains neither the run nor its prompt.
      if (running.hasStarted) await current.settle()
      else if (this.#current === current) this.#current = undefined
    }
    yield resultOf(this.#options, { sessionId, runId, denials, ...(await current.settle()) })
  }

  #trackRun(loop: RunStream): CurrentRun {
    return currentRunOf(loop, (ended, current) => {
      const { terminal, state } = ended
      if (this.#current === current) this.#current = undefined
      this.#transcript = state.transcript
      this.#last = ended
      const { tokenRatio, windows, sharedWindows, settings } = state.spent
      this.#inForce = carriedSettings(this.#inForce, settings)
      this.#learned = { tokenRatio, windows, sharedWindows }
      this.#account.add(terminal)
      const { costUsd: sessionCostUsd, usage: sessionUsage } = this.#account
      return { ...ended, sessionCostUsd, sessionUsage }
    })
  }

  /** Excludes the cost of the continued run from the sums: the run that continues it includes that cost. */
  #carry(continues: string): void {
    if (this.#previousSession !== undefined || this.#last === undefined)
      this.#account = accountOf(this.#options, continues)
    else this.#account.removeLast(this.#last.state.spent)
  }

  #begin(request: RunRequest, prompt: MessageContent | undefined, runId: string): RunStream {
    const { promptId } = request
    const start = startRun({
      ...startOptionsOf(request),
      ...this.#progressOfLast,
      ...(prompt !== undefined && { prompt }),
      transcript: this.#transcript,
      sessionId: this.sessionId,
      runId,
      settings: this.#settingsOfRun,
      executionCount: this.#runs,
      ...(this.#learned !== undefined && { learned: this.#learned }),
    })
    if (promptId !== undefined) this.#inbox.markTaken([{ id: promptId, kind: 'steer', content: prompt ?? '' }])
    const { session, clock } = this.#options
    const driver =
      session === undefined
        ? undefined
        : new DurableStepEngine({ log: session.log, sessionId: this.sessionId, ...(clock !== undefined && { clock }) })
    const steps = this.#options.stepsFor?.(runId) ?? driver
    const { options, owner } = this.#shared()
    const { nanos, unknownNanos, totalTokens } = start.spent
    owner.ledger.restore({ nanos: nanos + unknownNanos, tokens: totalTokens }, { nanos: unknownNanos, tokens: 0 })
    const { goal } = start.spent
    const surroundings = { ...owner, filesInOrder: goal === undefined && this.#filesInOrder }
    const { skipIfMet } = request
    const overrides = { ...(steps !== undefined && { steps }), ...(skipIfMet !== undefined && { skipIfMet }) }
    return streamRun(start, { ...options, ...overrides }, surroundings)
  }

  /** The figures of the last run, of this process or an earlier one. */
  get #spentOfLast(): RunProgress | undefined {
    return this.#last?.state.spent ?? this.#options.session?.ended.at(-1)?.spent
  }

  /** After a run that ended for an approval, the next run continues its goals and its verification state. */
  get #progressOfLast(): Pick<StartOptions, 'goals' | 'verification'> {
    const { goal, changes, verification } = this.#spentOfLast ?? {}
    return {
      ...(goal !== undefined && { goals: { goal, changes } }),
      ...(verification !== undefined && { verification }),
    }
  }

  /** Whether a person is responsible for file changes between two prompts, so that the agent need not revert them. */
  get #filesInOrder(): boolean {
    const spent = this.#spentOfLast
    return spent?.goal !== undefined && areGoalFilesUnmodified(spent, this.#transcript)
  }

  #resumeOpen({ open = [], log, transcript }: StoredSession): RunStream {
    const { options, owner } = this.#shared()
    return resumeOn(open, options, transcript, (turn) => new DurableStepEngine({ ...turn, log }), owner).loop
  }

  /** Settings that were changed in this process also apply to a run of an earlier process. They replace the recorded ones. */
  #reapplySettings(running: RunStream): void {
    const { permissionUpdates: _, isPastFallback: __, untilBefore: ___, ...changed } = this.#inForce ?? {}
    if (Object.keys(changed).length > 0) running.set(changed)
  }

  // Spec R-SESS-4.
  /** Closes a run that did not end before a new prompt starts. Its pending calls get results, and no new request is made. */
  async #closeOpen(session: StoredSession): Promise<void> {
    this.#previousSession = undefined
    const running = this.#resumeOpen(session)
    running.abort('interrupt')
    this.#current = this.#trackRun(running)
    await this.#current.settle()
  }

  /** The options of each run, and the objects that the runs of the engine share. */
  #shared(): { readonly options: RunOptions; readonly owner: RunSurroundings & { readonly ledger: Ledger } } {
    const { stepsFor: _stepsFor, session: _session, ...options } = this.#options
    const { ledger } = this.#account
    // The ledger already includes earlier spending.
    const { maxTotalTokens, maxRunUsd } = settingsOf(options)
    const spentBeforeUsd = usdOf(ledger.figures().settled.nanos)
    const runLedger = ledger.branch({ tokens: maxTotalTokens, nanos: nanosOf(maxRunUsd) })
    const owner = { inbox: this.#inbox, ledger: runLedger, sessionLedger: ledger, orphanedTools: this.#orphanedTools }
    return { options: { ...options, spentBeforeUsd }, owner }
  }

  get #session(): EngineSession {
    return {
      options: this.#options,
      account: this.#account,
      last: this.#last,
      isRunning: this.#current !== undefined,
      log: this.#options.session?.log,
    }
  }
}
