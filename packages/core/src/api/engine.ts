import type { Ledger } from '../limits/ledger.ts'
import { nanosOf, usdOf } from '../model/prices.ts'
import type { AbortCause } from '../values/abort.ts'
import { OrphanedTools } from '../values/orphaned-tools.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  accountOf,
  keepEngineSession,
  resultOf,
  runningOf,
  tellListener,
  type EngineSession,
  type Running,
  areFilesInOrder,
} from './engine-session.ts'
import { isName, isPrompt, optional } from '../values/given.ts'
import { specOf } from '../goals/run-goals.ts'
import { createInbox, inboxIdsOf, type OpenInbox } from '../steps/inbox.ts'
import { leavable, type Leaving } from '../values/leaving.ts'
import { streamRun, type RunStream, type RunSurroundings } from './iterate.ts'
import type { MessageContent } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { pendingOf, pendingOnRecord, type PendingApproval } from '../run/pending-approval.ts'
import { contextOf, settingsOf, type RunOptions } from './options.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { initMessage, createTranslator } from '../sdk/translate.ts'
import type { SdkMessages, SdkPermissionDenial } from '../sdk/sdk-messages.ts'
import { compactCommand, Prompts } from './prompts.ts'
import { resumeOn } from './resume.ts'
import { asked, wayOn, type RunRequest } from './run-request.ts'
import { completeOptions, runsBeforeOf, sessionIdOf, type QueryOptions } from './query-options.ts'
import { freshSessionId, runsIn } from './run-id.ts'
import { collectDenials } from '../sdk/result-message.ts'
import type { SessionAccount } from './session-account.ts'
import { checkedChange } from '../run/check-change.ts'
import { contextWith } from '../run/context-with.ts'
import {
  carriedOn,
  inForceAfter,
  keptOf,
  type LimitsChange,
  type SettingsChange,
  type SettingsInForce,
} from '../state/settings-change.ts'
import { startRun, type StartOptions } from './start.ts'
import type { LearnedContext, RunProgress } from '../state/state.ts'
import type { InboxMessage } from '../steps/control.ts'
import { DurableStepEngine } from '../steps/driver.ts'
import { runIdOf, type StoredSession } from '../steps/fold-session.ts'
import { inboxIdsIn } from '../steps/fold.ts'
import type { StepRecord } from '../steps/log.ts'
import { systemClock } from '../values/system-clock.ts'
import type { RunResult } from '../endings/terminal.ts'
import { answersByKey } from '../run/answer-shape.ts'
import { calledName } from '../tools/definitions.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { Transcript } from '../conversation/transcript.ts'
import { lastAnswerPrompt } from '../run/turn-texts.ts'

/**
 * Many runs over one session. `maxBudgetUsd` is the session's; every other limit is each run's.
 * One run at a time: submitting in mid-run aborts the run that goes on, with the cause `interrupt`.
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
  #current: Running | undefined
  #account: SessionAccount
  /** What an earlier process left, until a run begins. */
  #left: StoredSession | undefined
  #last: FinishedRun | undefined
  #runId: string | undefined
  #learned: LearnedContext | undefined
  /** What was set for the session, in place of the options. */
  #inForce: SettingsInForce | null = null
  /** The model of the last run alone; undefined where it had that of the session. */
  #ownModel: string | undefined

  /** @throws ConfigurationError for options that cannot be run. */
  constructor(options: QueryOptions<Output>) {
    // Refuses what is no object, before anything is read of it.
    settingsOf(options)
    this.#options = completeOptions(options)
    // Plain JavaScript may give it: the records of all runs would be one.
    if ((options as RunOptions).steps !== undefined)
      throw new ConfigurationError('An engine has a driver for each run. Give stepsFor: (runId) => steps.')
    const { session } = options
    const transcript = options.transcript ?? session?.transcript ?? Transcript.empty()
    this.#transcript = transcript
    this.#left = session
    this.#learned = session?.ended.at(-1)?.spent
    this.#inForce = keptOf(session?.ended.at(-1)?.spent.settings)
    this.#inbox = createInbox(() => [...inboxIdsOf(transcript), ...inboxIdsIn(session?.open ?? [])])
    this.#runs = Math.max(runsBeforeOf(options), runsIn(transcript))
    this.sessionId = sessionIdOf(options) ?? freshSessionId(options.clock ?? systemClock)
    this.#account = accountOf(this.#options)
    this.#prompts = new Prompts(options.prepareContent)
    keepEngineSession(this, () => this.#session)
  }

  /** The conversation so far. */
  get transcript(): Transcript {
    return this.#transcript
  }

  /** What the session has cost, settled, in US dollars: `spentBeforeUsd` and all runs since. */
  get totalCostUsd(): number {
    return this.#account.costUsd
  }

  /** How the last run ended. */
  get lastTerminal(): RunResult | undefined {
    return this.#last?.terminal
  }

  /** The name of the run that goes on, or of the last one of this process. */
  get runId(): string | undefined {
    return this.#runId
  }

  /** What was set for the session, in place of the options. */
  get inForce(): SettingsInForce | null {
    return this.#inForce
  }

  /** That of the run that goes on, or else the one that the next begins with. */
  get model(): Model {
    return contextWith(contextOf(this.#options), this.#current === undefined ? this.#inForce : this.#ofRun).model
  }

  /** What was set for the session, with the model that the run has for itself. */
  get #ofRun(): SettingsInForce | null {
    const model = this.#ownModel
    return model === undefined ? this.#inForce : inForceAfter(this.#inForce, { model }, false)
  }

  /** Aborts what goes on, as a person would. */
  interrupt(cause: AbortCause = 'user'): void {
    if (this.#current === undefined) this.#prompts.interrupt(cause)
    else this.#current.loop.abort(cause)
  }

  /** Ends the run at its next checkpoint. */
  stop(message?: string): void {
    this.#current?.loop.stop(message)
  }

  /** A person's answer to an `approval_needed` event of the run that goes on (`onAsk: 'wait'`); `key` is the event's. */
  answer(key: string, decision: PermissionDecision): void {
    this.#current?.loop.answer(key, decision)
  }

  /** Stops a subagent that works in the background of the run that goes on, as `RunStream.stopAgent` does. */
  async stopAgent(id: string): Promise<boolean> {
    return (await this.#current?.loop.stopAgent(id)) ?? false
  }

  /** Ends the waits for services of the run that goes on, as `RunStream.retryNow` does. */
  retryNow(): boolean {
    return this.#current?.loop.retryNow() ?? false
  }

  /** A message for the run that goes on; without one it waits for the next. Gives its id, as `RunStream.steer` does. */
  steer(content: MessageContent, id?: string): string {
    return this.#inbox.put({ kind: 'steer', content, ...(id !== undefined && { id }) })
  }

  /** A message that is taken when the run that goes on would end, or the next one. */
  followUp(content: MessageContent, id?: string): string {
    return this.#inbox.put({ kind: 'follow_up', content, ...(id !== undefined && { id }) })
  }

  /** Takes a message back that no run has taken. False when it is too late, or when there is none of this id. */
  retract(id: string): boolean {
    return this.#inbox.retract(id)
  }

  /** Messages that were handed in and are not in the conversation yet. */
  get waiting(): readonly InboxMessage[] {
    return this.#inbox.waiting
  }

  /**
   * Sets model, permission mode, thinking and limits for the run that goes on, as `RunStream.set` does, and for those after it.
   * @throws ConfigurationError for what cannot be set; then nothing is.
   */
  set(change: SettingsChange): void {
    const isRunning = this.#current !== undefined
    const checked = checkedChange(contextOf(this.#options), isRunning ? this.#ofRun : this.#inForce, change)
    this.#current?.loop.set(checked)
    if (checked.model !== undefined) this.#ownModel = undefined
    const untilBefore = contextOf(this.#options).goals.given.map(specOf)
    this.#inForce = inForceAfter(this.#inForce, { ...checked, untilBefore }, false)
    // Stages after a run heed it too. A run that goes on sets it with its next request.
    if (this.#current === undefined) this.#account.limit(contextWith(contextOf(this.#options), this.#inForce).settings)
  }

  /** Another model of the options, by its id or a name that `modelNamed` knows; without one the model that the engine began with. @throws ConfigurationError */
  setModel(id?: string): void {
    this.set({ model: id ?? null })
  }

  /** A mode that the permissions know. @throws ConfigurationError */
  setPermissionMode(mode: string): void {
    this.set({ permissionMode: mode })
  }

  /** Most tokens of a reply that may go to thinking; 0 for none, null for what the model was made with. @throws ConfigurationError */
  setMaxThinkingTokens(tokens: number | null): void {
    if (tokens === null) return this.set({ thinking: null })
    this.set({ thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens } })
  }

  /** Limits of the run that goes on and of those after it; `maxBudgetUsd` is the session's. @throws ConfigurationError */
  setLimits(limits: LimitsChange): void {
    this.set({ limits })
  }

  /**
   * Runs one prompt. The last message is the result, always; leaving early aborts the run. `id` is a name of your own for it, as for `steer`: a message
   * that is handed in under it later is passed over. `model` and `skipIfMet` are of this run alone.
   * @throws ConfigurationError for what is no prompt, and for a model that cannot be set.
   */
  submit(
    prompt: MessageContent,
    {
      id,
      model,
      skipIfMet,
    }: {
      /** Name of the message. A message with a name that was submitted before is passed over. */
      id?: string
      /** Id of the model of this run. Default: the model of the options. */
      model?: string
      /** End at once, without a request, where the goals hold at the start. */
      skipIfMet?: boolean
    } = {},
  ): SdkMessages<Output> {
    isPrompt('prompt', prompt)
    optional(isName)('The id of a prompt', id)
    const command = typeof prompt === 'string' ? compactCommand.exec(prompt) : null
    if (model !== undefined) checkedChange(contextOf(this.#options), this.#inForce, { model })
    const own = {
      ...(id !== undefined && { promptId: id }),
      ...(model !== undefined && { model }),
      ...(skipIfMet !== undefined && { skipIfMet }),
    }
    if (command !== null) return this.#run({ compact: { instructions: (command[1] ?? '').trim() }, ...own })
    return this.#run({ prompt, ...own })
  }

  /**
   * Makes the conversation shorter: a run of its own, with a result like any other. `instructions` say what the summary should hold. The same as
   * the prompt `/compact INSTRUCTIONS`. It rejects with a `ConfigurationError` where there is nothing to compact, or calls wait.
   */
  compact(instructions = ''): SdkMessages<Output> {
    return this.#run({ compact: { instructions: instructions.trim() } })
  }

  /** Asks for a last answer: a run of one request without tools, into which nothing else is taken. It rejects where nothing was said before. */
  lastAnswer(): SdkMessages<Output> {
    return this.#run({ prompt: lastAnswerPrompt, lastAnswer: true })
  }

  /**
   * Tool calls that wait for a person: of the run that goes on (`answer` takes their `key`), else of the last run, also where an earlier process has left it
   * (`session`): one that ended as `needs_approval`, or one that is open and waits. `approve` answers them.
   */
  pending(): readonly PendingApproval[] {
    if (this.#current !== undefined) return this.#current.loop.pending
    const left = this.#left
    if (left?.isRewound === true) return []
    if (left?.open !== undefined) return this.#pendingOnRecord(left.open)
    return pendingOf(left?.ended.at(-1)?.terminal ?? this.#last?.terminal, this.#transcript)
  }

  /**
   * Goes on with what a person said to the calls that wait (`pending()`), by their ids: after `needs_approval` in a new run, and in a run that an earlier process left
   * open while it waited. What is left out waits again. Two calls of subagents may have one id: then each is answered by its `key`.
   * @throws ConfigurationError for an answer to a call that does not wait, and for what is no answer. After `needs_approval` the messages reject with it.
   */
  approve(approvals: { readonly [callId: string]: PermissionDecision }): SdkMessages<Output> {
    const open = this.#current === undefined && this.#left?.isRewound !== true ? this.#left : undefined
    if (open?.open === undefined) return this.#run({ approvals })
    return this.#run({ open, answers: answersByKey(approvals, this.pending()) })
  }

  /** By the name of the tool that runs. */
  #pendingOnRecord(records: readonly StepRecord[]): readonly PendingApproval[] {
    const context = contextOf(this.#options)
    return pendingOnRecord(records).map((call) => ({ ...call, tool: calledName(call.tool, context) }))
  }

  /** Whether there is something that `resume` would go on with. */
  get canResume(): boolean {
    return this.#current === undefined && this.#wayOn() !== undefined
  }

  /**
   * Goes on with what was left, without a new prompt: a run of `session` that did not end, from its last record; the last one that ended, in a new run
   * that carries its counters and names it. The latter is for other limits: at the old ones it ends where it was.
   * @throws ConfigurationError where there is nothing to go on with, or a run goes on.
   */
  resume(): SdkMessages<Output> {
    const way = this.#current === undefined ? this.#wayOn() : undefined
    if (way === undefined) throw new ConfigurationError('There is no run to go on with. Give a prompt.')
    return this.#run(way)
  }

  #wayOn(): RunRequest | undefined {
    return wayOn({ left: this.#left, last: this.#last, transcript: this.#transcript })
  }

  readonly #run = (what: RunRequest): SdkMessages<Output> => leavable((leaving) => this.#messages(what, leaving))

  async *#messages(what: RunRequest, leaving: Leaving): SdkMessages<Output> {
    const ready = this.#prompts.ready(what.prompt)
    const prompt = ready instanceof Promise ? await leaving.until(ready) : ready // may never be made ready
    if (leaving.hasLeft) return
    if (what.open === undefined && this.#left?.open !== undefined) await this.#closeOpen(this.#left)
    // Another prompt may have come while this one waited.
    while (this.#current !== undefined) {
      this.#current.loop.abort('interrupt')
      await this.#current.settle()
    }
    // A stop that came after the last run's last checkpoint was meant for that run.
    this.#inbox.takeSignals()
    // What was set for it holds for this one from the start.
    this.#inbox.takeSettings()
    const { sessionId } = this
    if (what.carried !== undefined) this.#carry(what.carried.continues)
    this.#left = undefined
    this.#ownModel = what.model
    const runId = (this.#runId = what.open === undefined ? `run${++this.#runs}` : runIdOf(what.open.open))
    const running = what.open === undefined ? this.#begin(what, prompt, runId) : this.#goOn(what.open)
    if (what.open !== undefined) this.#setAgain(running)
    // The first answer to a key counts, also before anybody waits for it.
    for (const [key, decision] of what.answers ?? []) running.answer(key, decision)
    const current = (this.#current = this.#currentOf(running))
    this.#prompts.passInterruption(running)
    const stopListening = leaving.onLeave(() => running.abort('abandoned'))
    const { includePartialMessages, includeHookEvents } = this.#options
    const translator = createTranslator({ sessionId, runId, includePartialMessages, includeHookEvents })
    const denials: SdkPermissionDenial[] = []
    try {
      const context = contextWith(contextOf(this.#options), this.#ofRun)
      yield initMessage(context, this.#options.init, { sessionId, runId })
      for await (const event of running) {
        tellListener(this.#options, event)
        collectDenials(event, denials)
        for (const message of translator.messages(event)) {
          yield message
          // After every message that was yielded; the ledger has kept the cost in bounds before (spec R-BUD-8).
          if (this.#account.isSpent) running.abort('budget')
        }
      }
    } finally {
      stopListening()
      // Who leaves before the run began leaves nothing behind: no run, no prompt in the session.
      if (running.hasStarted) await current.settle()
      else if (this.#current === current) this.#current = undefined
    }
    yield resultOf(this.#options, { sessionId, runId, denials, ...(await current.settle()) })
  }

  #currentOf(loop: RunStream): Running {
    return runningOf(loop, (ended, current) => {
      const { terminal, state } = ended
      if (this.#current === current) this.#current = undefined
      this.#transcript = state.transcript
      this.#last = ended
      const { tokenRatio, windows, sharedWindows, settings } = state.spent
      this.#inForce = carriedOn(this.#inForce, settings)
      this.#learned = { tokenRatio, windows, sharedWindows }
      this.#account.add(terminal)
      const { costUsd: sessionCostUsd, usage: sessionUsage } = this.#account
      return { ...ended, sessionCostUsd, sessionUsage }
    })
  }

  /** What the run spent that is gone on from counts once: with the run that carries it. */
  #carry(continues: string): void {
    if (this.#left !== undefined || this.#last === undefined) this.#account = accountOf(this.#options, continues)
    else this.#account.takeBackLast(this.#last.state.spent)
  }

  #begin(what: RunRequest, prompt: MessageContent | undefined, runId: string): RunStream {
    const { promptId } = what
    const start = startRun({
      ...asked(what),
      ...this.#progressOfLast,
      ...(prompt !== undefined && { prompt }),
      transcript: this.#transcript,
      sessionId: this.sessionId,
      runId,
      settings: this.#ofRun,
      executionCount: this.#runs,
      ...(this.#learned !== undefined && { learned: this.#learned }),
    })
    if (promptId !== undefined) this.#inbox.enterTaken([{ id: promptId, kind: 'steer', content: prompt ?? '' }])
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
    const around = { ...owner, filesInOrder: goal === undefined && this.#filesInOrder }
    const { skipIfMet } = what
    const own = { ...(steps !== undefined && { steps }), ...(skipIfMet !== undefined && { skipIfMet }) }
    return streamRun(start, { ...options, ...own }, around)
  }

  /** Of the last run, of this process or of one before it. */
  get #spentOfLast(): RunProgress | undefined {
    return this.#last?.state.spent ?? this.#options.session?.ended.at(-1)?.spent
  }

  /** Of a run that ended to ask for approval its goals are in force in the one that was answered, and what it changed is checked or not as before. */
  get #progressOfLast(): Pick<StartOptions, 'goals' | 'verification'> {
    const { goal, changes, verification } = this.#spentOfLast ?? {}
    return {
      ...(goal !== undefined && { goals: { goal, changes } }),
      ...(verification !== undefined && { verification }),
    }
  }

  /** What a person changed between two prompts is not asked back of the agent. */
  get #filesInOrder(): boolean {
    const spent = this.#spentOfLast
    return spent?.goal !== undefined && areFilesInOrder(spent, this.#transcript)
  }

  #goOn({ open = [], log, transcript }: StoredSession): RunStream {
    const { options, owner } = this.#shared()
    return resumeOn(open, options, transcript, (turn) => new DurableStepEngine({ ...turn, log }), owner).loop
  }

  /** What was set in this process holds for a run of an earlier one too, in place of what is on its record. */
  #setAgain(running: RunStream): void {
    const { permissionUpdates: _, isPastFallback: __, untilBefore: ___, ...set } = this.#inForce ?? {}
    if (Object.keys(set).length > 0) running.set(set)
  }

  // Spec R-SESS-4.
  /** A new prompt on a run that did not end closes that one first: calls get results, and nothing new is asked. */
  async #closeOpen(left: StoredSession): Promise<void> {
    this.#left = undefined
    const running = this.#goOn(left)
    running.abort('interrupt')
    this.#current = this.#currentOf(running)
    await this.#current.settle()
  }

  /** Options of each run, and what it shares with the others. */
  #shared(): { readonly options: RunOptions; readonly owner: RunSurroundings & { readonly ledger: Ledger } } {
    const { stepsFor: _stepsFor, session: _session, ...options } = this.#options
    const { ledger } = this.#account
    // What was spent before is on the ledger already.
    const { maxTotalTokens, maxRunUsd } = settingsOf(options)
    const spentBeforeUsd = usdOf(ledger.figures().settled.nanos)
    const own = ledger.branch({ tokens: maxTotalTokens, nanos: nanosOf(maxRunUsd) })
    const owner = { inbox: this.#inbox, ledger: own, sessionLedger: ledger, orphanedTools: this.#orphanedTools }
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
