import { AgentState, AgentExecution } from '../hooks/agent-state.ts'
import {
  transitionRules,
  retriesLeft,
  rankingOf,
  chargeIteration,
  type SpentIterations,
  type IterationReason,
} from '../limits/transition-rules.ts'
import { settleWithin, type GracePeriod, type Settled } from '../values/settle.ts'
import { HaltingError } from '../values/errors.ts'
import type { Emit } from '../state/events.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import { freshGoal } from '../verification/goal-progress.ts'
import { specOf } from '../goals/run-goals.ts'
import type { CancellationPoint } from '../limits/guard.ts'
import type { MediaSeen } from '../model/media/too-much.ts'
import type { MessageContent, ToolUseBlock } from '../model/messages.ts'
import type { RunContext, RunPorts } from './run-context.ts'
import {
  copyOfProgress,
  type Iteration,
  type RunEnd,
  type RunIdentity,
  type RunProgress,
  type RunState,
  type PromptCount,
  type OpenAgent,
} from '../state/state.ts'
import { contextWithSettings } from './context-with-settings.ts'
import { settingsAfter, type RunChange, type SettingsInForce } from '../state/settings-change.ts'
import type { InboxMessage } from '../steps/external-input.ts'
import type { SideEffectScope, StepKey, StepOptions, StepResult } from '../steps/step-engine.ts'
import { ExecutionContinuation } from '../endings/continuation.ts'
import type { StopSignal } from '../endings/signal.ts'
import type { StopSignals } from '../endings/signals.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { Attachment, Transcript, TranscriptEntry, UserOrigin } from '../conversation/transcript.ts'
import type { ToolPhase, RecordPosition, RecordedCall } from './tool-phase.ts'
import type { Model } from '../model/model.ts'
import { usdOf } from '../model/prices.ts'
import type { TaskLeft } from '../verification/background.ts'
import type { AgentEnd, AgentResult } from '../state/agent-figures.ts'
import type { AgentsInBackground } from '../tools/tool.ts'

/** Options of a step. The run adds its signal and its events. A step with an intent has a digest too. */
export type RunStepOptions<T> = Pick<StepOptions<T>, 'onUnfinished' | 'sync' | 'composite'> &
  ({ readonly digest?: never; readonly intent?: never } | Required<Pick<StepOptions<T>, 'digest' | 'intent'>>)

/** A step that has no intent and may simply run again. */
const plainStep: RunStepOptions<never> = Object.freeze({ onUnfinished: 'rerun', sync: 'none' } as const)

/** The properties of an iteration in addition to its transition. */
export interface IterationDetails {
  /** Set for a `token_budget_continuation` that made enough progress to refill the other retry limits. */
  readonly madeProgress?: boolean
  readonly overridden?: NonNullable<Iteration['overridden']>
}

/**
 * The run in progress: the one handle that all phases take. W1: only the methods of this class write. W2: `state` is an
 * immutable snapshot; read `spent` immediately, and never retain it across a write or an await. W3: `step` moves the
 * run's clock; a concurrent step writes nothing, and concurrent results are entered in call order. W4: an iteration is
 * recorded before the run changes. W5: the run owns the log of the transcript.
 */
export class Run {
  readonly ports: RunPorts
  readonly identity: RunIdentity
  /** Length of the transcript when the run began. */
  readonly startLength: number
  readonly emit: Emit
  // A turn reads the following three fields hundreds of times, so they are fields, not getters.
  /** Tools, hooks, settings and limits of the options, with all later changes of settings. */
  readonly context: RunContext
  /** The live figures. Read them immediately: the next write changes them. */
  readonly spent: RunProgress
  readonly transcript: Transcript
  /** The tool calls of this turn. When the run breaks, they provide the results for open calls. */
  tools: ToolPhase | undefined
  /** A summary that is requested in parallel with this turn. */
  staging: Staging | undefined
  /** The last estimate of the conversation's size. */
  estimate: ContextEstimate | undefined
  /** How far the transcript was scanned for images and documents. */
  scannedMedia: MediaSeen | undefined
  /** Subagents that work in the background, in this process. */
  agents: RunBackgroundAgents | undefined
  /** Whether the run has searched for tasks that an earlier process left running. */
  hasSearchedTasks: boolean
  readonly #baseContext: RunContext
  #continuation: ExecutionContinuation
  /** A snapshot or a record references `spent`: copy it before the next write. */
  #isShared = true
  #snapshot: RunState | undefined
  #agentState: AgentState | undefined
  #lengthAtIteration: number
  #writes = 0
  readonly #prefix: string
  #plainStep: StepOptions<never>
  #grace: GracePeriod | undefined

  constructor(context: RunContext, ports: RunPorts, start: RunState, emit: Emit) {
    this.#baseContext = context
    this.context = this.#contextOf(start.spent)
    this.ports = ports
    this.identity = start.run
    this.startLength = start.startLength
    this.emit = emit
    this.tools = undefined
    this.staging = undefined
    this.estimate = undefined
    this.scannedMedia = undefined
    this.agents = undefined
    this.hasSearchedTasks = false
    // The caller may start another run from the same state at the same time, so the transcript is forked.
    this.transcript = start.transcript.fork()
    this.#continuation = start.continuation
    this.spent = start.spent
    this.#snapshot = undefined
    this.#lengthAtIteration = start.transcript.length
    this.#prefix = `${start.run.runId}/${start.run.agentPath}`
    this.#plainStep = Object.freeze(this.#stepOptions<never>(plainStep))
  }

  #contextOf({ settings, goal }: Pick<RunProgress, 'settings' | 'goal'>): RunContext {
    const context = contextWithSettings(this.#baseContext, settings)
    if (goal === undefined) return context
    return { ...context, limits: { ...context.limits, goalTries: context.settings.maxGoalTries } }
  }

  /** The context under other settings. */
  contextUnder(settings: SettingsInForce | null): RunContext {
    return contextWithSettings(this.#baseContext, settings)
  }

  /** Whether the model replied, or calls were executed, since the last iteration. If so, the next iteration counts as a separate turn. */
  get hasReplied(): boolean {
    return this.transcript
      .since(this.#lengthAtIteration)
      .some((entry) => entry.kind === 'assistant' || (entry.kind === 'user' && entry.origin === 'tool_results'))
  }

  /** Creates a new abort scope, so that the time limit that aborted earlier steps does not abort later ones. No step may be in progress. */
  renewAbort(): void {
    this.ports.abort.renew()
    this.#plainStep = Object.freeze(this.#stepOptions<never>(plainStep))
  }

  /** The subagent's type; null for the main loop. */
  get agentType(): string | null {
    return this.identity.depth === 0 ? null : this.context.settings.querySource
  }

  /** An immutable snapshot of the run. Use it for everything that is read later. */
  get state(): RunState {
    if (this.#snapshot !== undefined) return this.#snapshot
    this.#isShared = true
    this.#snapshot = {
      run: this.identity,
      transcript: this.transcript.copyOnAppend(),
      startLength: this.startLength,
      spent: this.spent,
      continuation: this.#continuation,
    }
    return this.#snapshot
  }

  /** The current snapshot, as hooks, tools and cancellation sources see it. */
  get agentState(): AgentState {
    return (this.#agentState ??= agentStateOf(this.state))
  }

  /** A snapshot of the run, as hooks and tools see it. */
  agentStateIn(snapshot: RunState): AgentState {
    return snapshot === this.#snapshot ? this.agentState : agentStateOf(snapshot)
  }

  /** The stop signals that are raised and not overridden. */
  get signals(): StopSignals {
    return this.#continuation.stopSignals()
  }

  get continuation(): ExecutionContinuation {
    return this.#continuation
  }

  /** A counter that increases with every write. A route that declines must leave it unchanged. */
  get writes(): number {
    return this.#writes
  }

  /** Appends an entry to the transcript and emits its event. */
  append(entry: TranscriptEntry): void {
    this.emit({ type: 'message', entry })
    this.#fields().transcript = this.transcript.append(entry)
    this.#markWritten()
  }

  appendUser(content: MessageContent, origin: UserOrigin): void {
    this.append({ kind: 'user', id: this.entryId(origin), message: { role: 'user', content }, origin })
  }

  /** Appends a message from the inbox. Its event contains the inbox id, so that the sender knows that it was taken. */
  appendInboxMessage({ id: inboxId, kind, content }: InboxMessage): void {
    const message = { role: 'user', content } as const
    this.append({ kind: 'user', id: this.entryId(kind), message, origin: kind, inboxId })
  }

  attach(attachment: Attachment): void {
    this.append({ kind: 'attachment', id: this.entryId(attachment.type), attachment })
  }

  update(change: Partial<RunProgress>): void {
    Object.assign(this.#ownProgress(), change)
    this.#markWritten()
  }

  /** The progress, copied first if a snapshot or a record shares it. */
  #ownProgress(): Writable<RunProgress> {
    if (this.#isShared) {
      this.#setSpent(copyOfProgress(this.spent))
      this.#isShared = false
    }
    return this.spent
  }

  #setSpent(spent: RunProgress): void {
    this.#fields().spent = spent
  }

  /** Write access: these fields are read-only for all other code. */
  #fields(): Writable<Pick<Run, 'context' | 'spent' | 'transcript'>> {
    return this
  }

  /** Raises a stop signal and emits its event. */
  raise(signal: StopSignal, cancellationPoint: CancellationPoint): void {
    this.emit({ type: 'signal', signal, checkpoint: cancellationPoint })
    this.setContinuation(this.#continuation.withNewStopSignal(signal))
  }

  /** Applies a change of settings, which is recorded already. */
  set(change: RunChange): void {
    const hasFallenBack = (this.spent.laps.inRun.model_fallback ?? 0) > 0
    const untilBefore = this.#baseContext.goals.configured.map(specOf)
    const settings = settingsAfter(this.spent.settings, { ...change, untilBefore }, hasFallenBack)
    const goals = change.until === undefined ? undefined : this.#goalsAfter(settings)
    this.#fields().context = this.#contextOf({ settings, goal: goals === undefined ? this.spent.goal : goals.goal })
    this.#grace = undefined
    this.update({ settings, ...goals })
    // Answers to a subagent's calls do not change limits of the run.
    if (this.identity.depth === 0) this.ports.onSettings(settings, this.context.settings)
    this.emit({ type: 'settings', change })
  }

  /** The state for new goals, or for the same goals if they were set again. Their tries start again. */
  #goalsAfter(settings: SettingsInForce): Pick<RunProgress, 'goal' | 'laps'> {
    const { laps: iterations, toolResults } = this.spent
    const goal = freshGoal(settings.until ?? this.#baseContext.goals.configured.map(specOf), toolResults)
    const { goal_unmet: triesBefore } = iterations.inRun
    return { goal, laps: triesBefore === undefined ? iterations : { ...iterations, triesBefore } }
  }

  setContinuation(continuation: ExecutionContinuation): void {
    if (continuation === this.#continuation) return
    this.#continuation = continuation
    this.#markWritten()
  }

  /** Moves the run's clock to the end of a step; never back. */
  advanceClock({ at, durationMs }: Pick<StepResult<unknown>, 'at' | 'durationMs'>): void {
    const now = at + durationMs
    if (now > this.spent.now) this.#setNow(now)
  }

  /** Every step calls this method, so it avoids allocating an object for the change. */
  #setNow(now: number): void {
    this.#ownProgress().now = now
    this.#markWritten()
  }

  #markWritten(): void {
    this.#writes++
    this.#snapshot = undefined
    this.#agentState = undefined
  }

  /** A name for the next entry that is the same in every replay. */
  entryId(name: string): string {
    return `${this.#prefix}${name}:${this.transcript.length}`
  }

  /** The full key of a step. It is unique in the session, even if the service uses a call id twice. */
  key(name: string): StepKey {
    return this.#prefix + name
  }

  /** True when a resumed run has an unread record of this step, begun or done. */
  isRecorded(name: string): boolean {
    return this.ports.isResumed && this.ports.steps.peek(this.key(name)) !== 'absent'
  }

  /** The position of the end of this turn. In a subagent it may be passed, since a resume folds only the iterations of the main loop. */
  get turnEnd(): RecordPosition {
    return this.ports.isResumed && this.isRecorded(`model:${this.spent.request + 1}.1`) ? 'passed' : 'open'
  }

  /** Runs one step and moves the run's clock to its end. */
  step<T>(
    name: string,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: RunStepOptions<T> = plainStep,
  ): MaybePromise<StepResult<T>> {
    const step = this.stepConcurrently(name, effect, options)
    return step instanceof Promise
      ? step.then((result) => this.#withClockAdvanced(result))
      : this.#withClockAdvanced(step)
  }

  #withClockAdvanced<T>(step: StepResult<T>): StepResult<T> {
    this.advanceClock(step)
    return step
  }

  /** Runs a step concurrently with others. It does not change the run: its caller enters the results in call order. */
  stepConcurrently<T>(
    name: string,
    effect: (scope: SideEffectScope) => MaybePromise<T>,
    options: RunStepOptions<T> = plainStep,
  ): MaybePromise<StepResult<T>> {
    return this.ports.steps.run(
      this.key(name),
      effect,
      options === plainStep ? this.#plainStep : this.#stepOptions(options),
    )
  }

  #stepOptions<T>({ digest, intent, onUnfinished, sync, composite }: RunStepOptions<T>): StepOptions<T> {
    const { signal } = this.ports.abort
    const { emit } = this
    if (composite === true) return { signal, emit, onUnfinished, sync, composite }
    return digest === undefined || intent === undefined
      ? { signal, emit, onUnfinished, sync }
      : { signal, emit, digest, intent, onUnfinished, sync }
  }

  /** Runs work inside a side effect. After an abort, work that ignores it is abandoned at the end of the grace time. */
  withGrace<T, R>(work: () => PromiseLike<T> | T, meaning: (settled: Settled<T>) => MaybePromise<R>): MaybePromise<R> {
    return settleWithin(work, (this.#grace ??= this.#graceNow()), meaning)
  }

  #graceNow(): GracePeriod {
    const { settings, timers } = this.context
    return { abort: this.ports.abort, graceMs: settings.graceMs, timers }
  }

  /** Starts the next iteration: it is recorded first, then the run changes. Only `decide` calls it. */
  startIteration(transition: IterationReason, { madeProgress = false, overridden }: IterationDetails = {}): void {
    const before = this.spent.laps
    const iterations = chargeIteration(transition, before, madeProgress)
    const isRefilled = iterations.sinceRefill !== before.sinceRefill && Object.keys(iterations.sinceRefill).length === 0
    const spent = copyOfProgress(this.spent)
    spent.laps = iterations
    spent.request += 1
    spent.turnBegins ||= transitionRules[transition].countsAsTurn
    spent.approvals = null
    if (isRefilled) spent.resumedBrokenReply = false
    const added = this.transcript.since(this.#lengthAtIteration)
    const iteration: Iteration = { scope: this.identity.agentPath, transition, spent, added }
    this.ports.steps.lap(overridden === undefined ? iteration : { ...iteration, overridden })
    this.#setSpent(spent)
    this.#isShared = true
    this.#continuation = ExecutionContinuation.fresh()
    this.#lengthAtIteration = this.transcript.length
    this.tools = undefined
    this.#markWritten()
    if (this.ports.hasListener()) this.#emitIteration(transition, before)
  }

  /** The record that the run ended. */
  endRecord(terminal: RunResult): RunEnd {
    return { terminal, added: this.transcript.since(this.#lengthAtIteration), spent: this.state.spent }
  }

  #emitIteration(transition: IterationReason, before: SpentIterations): void {
    const { laps: iterations } = this.spent
    const { limits } = this.context
    this.emit({
      type: 'lap',
      transition,
      before: rankingOf(before, limits),
      after: rankingOf(iterations, limits),
      left: retriesLeft(iterations, limits),
    })
  }

  /** Throws when a route wrote something and then declined. The transcript would show an action that did not happen. */
  expectNoWrite(writes: number, transition: IterationReason): void {
    if (this.#writes !== writes)
      throw new HaltingError('internal', `The route ${transition} declined, but it had changed the run.`)
  }
}

type Writable<T> = { -readonly [key in keyof T]: T[key] }

/** Work that runs in parallel with a turn. The turn waits for it before it ends. */
export interface Staging {
  /** Waits for the work and enters its outcome. */
  join(): MaybePromise<undefined>
  /** Charges the cost of the work when the run failed, and records nothing more. Never rejects. */
  abandon(): Promise<void>
}

/** An estimate of the conversation's size in tokens, with the values that the estimate is based on. */
export interface ContextEstimate {
  readonly tokens: number
  /** Length of the transcript. */
  readonly length: number
  readonly counted: PromptCount
  readonly model: Model
  /** The token ratio of the provider at that time. */
  readonly ratio: number
}

// Spec R-RES-11.
/** True when a resumed run has recorded the request of this turn. Work that precedes the request is not repeated then. */
export function isRequestRecorded(run: Run): boolean {
  return run.ports.isResumed && run.isRecorded(`model:${run.spent.request}.1`)
}

// Spec R-HOOK-1.
/** The run as hooks, tools and callers see it. */
export function agentStateOf(state: RunState): AgentState {
  const { run, spent, transcript, continuation } = state
  const figures = {
    steps: spent.turns,
    usage: spent.usage,
    totalTokens: spent.totalTokens,
    costUsd: committedUsd(spent),
    durationMs: activeMs(spent),
  }
  const execution = new AgentExecution(executionIdOf(state), figures, continuation)
  return new AgentState({
    agentId: run.agentId ?? 'main',
    sessionId: run.sessionId,
    transcript,
    metadata: spent.metadata,
    executionCount: run.executionCount ?? 1,
    execution,
  })
}

/** An id for one execution, unique across sessions. */
function executionIdOf(state: { readonly run: RunState['run'] }): string {
  const { sessionId, runId, agentPath } = state.run
  return `${sessionId}/${runId}${agentPath === '' ? '' : `/${agentPath}`}`
}

/** Active milliseconds of the run so far. */
export function activeMs(spent: Pick<RunProgress, 'now' | 'startedAt'>): number {
  return spent.now - spent.startedAt
}

// Spec R-END-7.
/** Committed cost in US dollars: settled cost, plus the worst case of unknown attempts. */
export function committedUsd(spent: Pick<RunProgress, 'nanos' | 'unknownNanos'>): number {
  return usdOf(spent.nanos + spent.unknownNanos)
}

/** How the record contains the calls of a message, determined before any of them is read; undefined when it contains none. */
export function recordedCalls(run: Run, calls: readonly ToolUseBlock[]): readonly RecordedCall[] | undefined {
  if (!run.ports.isResumed) return undefined
  const recorded = calls.map(({ id }, index): RecordedCall => {
    if (run.isRecorded(toolStepName(run, { id, index }))) return 'leaf'
    return run.isRecorded(`${agentStepPrefix(run, { id, index })}model:1.1`) ? 'agent' : undefined
  })
  return recorded.some((each) => each !== undefined) ? recorded : undefined
}

export interface CallPlace {
  readonly id: string
  /** Position in the message. */
  readonly index: number
}

/** The name of a call's step. It includes the position in the message, since services may use an id twice. */
export function toolStepName({ spent }: Run, { id, index }: CallPlace): string {
  return `tool:${spent.request}:${index}:${id}`
}

/** The prefix of the steps of a subagent. */
export function agentStepPrefix({ spent }: Run, { id, index }: CallPlace): string {
  return `agent:${spent.request}:${index}:${id}/`
}

/** Subagents that work in parallel with the main loop, in this process. */
export interface RunBackgroundAgents extends AgentsInBackground {
  /** Does nothing if the agent already works. */
  begin(open: OpenAgent): void
  readonly isAnyWorking: boolean
  /** Whether an agent has ended whose outcome is not entered in the run yet. */
  readonly hasEnded: boolean
  /** Returns the agents that ended and are not entered yet. @throws the error that broke one of them, which breaks the run. */
  ended(): readonly AgentResult[]
  onEnd(listener: () => void): () => void
  /** Stops the agents that are still running, and waits for their ends. */
  stopAll(): MaybePromise<undefined>
  /** The outcomes of agents that were not entered before the run ends. */
  leftOver(): readonly { readonly leftOver: TaskLeft; readonly end: AgentEnd }[]
}
