import type { HookFigures } from '../hooks/hook-figures.ts'
import { abortCauseOf, AbortScope, type AbortCause } from '../values/abort.ts'
import { createDeadline, noDeadline } from '../values/deadline.ts'
import { OrphanedTools } from '../values/orphaned-tools.ts'
import type { Ledger } from '../limits/ledger.ts'
import { nanosOf } from '../model/prices.ts'
import { checkedLimitAnswer, type LimitAnswer, type LimitRequest } from '../state/limit-request.ts'
import { ConfigurationError, isInstance } from '../values/errors.ts'
import type { Emit, RunEvent } from '../state/events.ts'
import { fieldsOf, throwInvalidOption } from '../values/validators.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { freshGoal, isSameGoals } from '../verification/goal-progress.ts'
import { checkKnown, specOf } from '../goals/run-goals.ts'
import { createInbox, inboxIdsOf, type OpenInbox } from '../steps/inbox.ts'
import { EventQueue } from './event-queue.ts'
import { finishBroken } from '../loop/finish.ts'
import { runLoop } from '../loop/loop.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import type { Json } from '../values/json.ts'
import type { MessageContent } from '../model/messages.ts'
import { WaitTime } from '../model/service-waits.ts'
import { pendingCallsOf, type PendingApproval } from '../run/pending-approval.ts'
import { promptStart, type PromptOptions } from './prompt-options.ts'
import { outcomeOf, type RunOutcome } from './run-outcome.ts'
import { contextOf, ledgersOf, type RunLedgers, type RunOptions } from './options.ts'
import type { FinishedRun, RunContext, RunPorts, RunSettings } from '../run/run-context.ts'
import { checkedChange } from '../run/check-change.ts'
import { contextWithSettings } from '../run/context-with-settings.ts'
import { settingsAfter, type SettingsChange, type SettingsInForce } from '../state/settings-change.ts'
import type { RunLimits, RunState } from '../state/state.ts'
import type { InboxMessage } from '../steps/external-input.ts'
import { createMemorySteps, type MemorySteps } from '../steps/memory-steps.ts'
import { steadyClock, type Clock } from '../values/clock.ts'
import { BreakableSteps } from '../steps/breakable-steps.ts'
import { onStalled, systemClock } from '../values/system-clock.ts'
import { StopSignal } from '../endings/signal.ts'
import { Transcript } from '../conversation/transcript.ts'
import { finalFigures } from '../run/limit-use.ts'
import { Run } from '../run/run.ts'
import { checkAnswer, InvalidAnswer } from '../run/answer-shape.ts'
import { checkedAnswer, changesPermissions, savedAnswer } from '../run/can-use-tool.ts'
import { recordedAnswer, type PermissionDecision } from '../permissions/permission-decision.ts'

/** A run in progress, or one that has ended. */
export interface RunStream<Output = unknown> extends AsyncIterable<RunEvent> {
  /** How the run ended, with its answer. Never rejects. Reading this property starts the run if it has not started. */
  readonly result: Promise<RunOutcome<Output>>
  /** The run result and the final state. */
  readonly ended: Promise<FinishedRun>
  /** Whether the run has begun. */
  readonly hasStarted: boolean
  /** Aborts the steps in flight and ends the run. */
  abort(cause?: AbortCause): void
  /** Ends the run at the next cancellation point, as `user_requested`. */
  stop(message?: string): void
  /**
   * Answers an `approval_needed` event on behalf of a person, when the run waits for an answer (`onAsk: 'wait'`). `key`
   * is the key of that event.
   * @throws ConfigurationError for an invalid answer: the run continues to wait.
   */
  answer(key: string, decision: PermissionDecision): void
  /**
   * Answers a `limit_question` event on behalf of a person, when the run pauses at a limit (`onLimit: 'pause'`). Returns
   * false when this request is no longer open.
   * @throws ConfigurationError for an invalid answer, such as a limit that is not above what is used: the request stays
   * open.
   */
  answerLimit(id: string, answer: LimitAnswer): boolean
  /**
   * Submits a message for the model, which is added to the conversation before the next request. Returns its id: the
   * caller's, or a derived one. The `message` event of an entry with this `inboxId` reports that it was added. A message
   * whose id was submitted before is ignored.
   * @throws ConfigurationError for an id that is not a string.
   */
  steer(content: MessageContent, id?: string): string
  /** Submits a message that is added to the conversation when the run would end. */
  followUp(content: MessageContent, id?: string): string
  /** Withdraws a message that no run has received yet. Returns false when a run has already received the message, or when no message has this id. */
  retract(id: string): boolean
  /** Messages that were submitted and are not in the conversation yet. A run that ends leaves them in this list. */
  readonly waiting: readonly InboxMessage[]
  /**
   * Tool calls that wait for a person's approval. While the run waits (`onAsk: 'wait'`, `canUseTool`), each has a `key`
   * for `answer`. After the run has ended as `needs_approval`, answer them with `approvals` of a later run.
   */
  readonly pending: readonly PendingApproval[]
  /**
   * Changes model, permission mode, thinking and limits during the run. The change is recorded at the next cancellation
   * point and applies from the next request; the `settings` event reports it. If a limit is below what is already spent,
   * the run ends at that point.
   * @throws ConfigurationError for an invalid setting, such as a model that the options do not have; then the whole
   * change is rejected.
   */
  set(change: SettingsChange): void
  // Spec R-SERV-6.
  /** Ends the waits for services of the run and its agents, so that they retry immediately. Returns false if none of them waits. */
  retryNow(): boolean
  /** Stops a background subagent, by the id that the model uses. Returns false if no running subagent has this id. */
  stopAgent(id: string): Promise<boolean>
}

/** The objects that `streamRun` shares with an owner of several runs, and the values that a resume provides. */
export interface RunSurroundings {
  /** Messages that were submitted, shared with the owner. */
  readonly inbox?: OpenInbox
  /** The ledger that the run spends from. Default: a new ledger for this run. */
  readonly ledger?: Ledger
  /** The session's ledger, which is the parent of the run's ledger. Set when `maxBudgetUsd` limits a session. */
  readonly sessionLedger?: Ledger
  /** Tools that earlier runs abandoned because they did not react to an abort. */
  readonly orphanedTools?: OrphanedTools
  /** Whether the run has begun before: a resume or a replay. */
  readonly resumed?: boolean
  /** Whether this is a replay: no step runs live, and guards and limits apply to all of it. */
  readonly replayed?: boolean
  /** The time of the last record of a resumed run, on the session's active clock. It includes the time of the open turn. */
  readonly recordedUntil?: number
  /** The settings in the records that a resume replays. They apply in addition to those of the run's start state. */
  readonly inForce?: SettingsInForce | null
  /** Whether the files that define the checks were unmodified at the end of the last run, and the agent has not changed them since. */
  readonly filesInOrder?: boolean
  /** Background agents whose ends are in the records that a resume replays. */
  readonly endedAgents?: RunPorts['endedAgents']
}

/**
 * Runs the loop and returns its events. The run starts on the first iteration or when `result` is read. Leaving the
 * iteration aborts the run immediately and still settles it. A slow consumer never delays it.
 * @throws ConfigurationError immediately, for options that cannot be run.
 */
export function streamRun<Output = string>(options: PromptOptions<Output>): RunStream<Output>
/** Runs the loop from a state that `startRun` made. */
export function streamRun(start: RunState, options: RunOptions, context?: RunSurroundings): RunStream
export function streamRun(
  input: PromptOptions<unknown> | RunState,
  options?: RunOptions,
  context: RunSurroundings = {},
): RunStream {
  // The caller passed separate options, so the first argument is a state, or an invalid value in its place.
  if (options !== undefined || isState(input)) return streamState(input as RunState, options as RunOptions, context)
  const { start, options: rest } = promptStart(input)
  return streamState(start, rest, context)
}

const noEndedAgents: RunPorts['endedAgents'] = new Map()

function streamState(start: RunState, options: RunOptions, context: RunSurroundings): RunStream {
  const run = contextOf(options)
  const inbox = context.inbox ?? createInbox(idsOf(start.transcript))
  checkStart(start, run, context, inbox)
  const { settings } = contextWithSettings(run, start.spent.settings)
  const clock = steadyClock(options.clock ?? systemClock)
  const abort = new AbortScope()
  const steps = options.steps ?? createMemorySteps({ clock, keep: 'nothing', sessionId: start.run.sessionId })
  const { spentBeforeUsd = 0 } = options
  const { ledger, sessionLedger } = sharedLedgers(context) ?? ledgersOfStart(start, settings, spentBeforeUsd)
  const live: LiveRun = { inForce: context.inForce ?? start.spent.settings }
  checkAnswerable(run, steps)
  if (start.spent.settings !== null) limitLedgers(settings, ledger, sessionLedger)
  const stallable = new BreakableSteps(steps)
  const events = new EventQueue()
  const waitTime = new WaitTime(start.spent.waits)
  const basePorts = { steps: stallable, abort, inbox, ledger, waitTime, spentBeforeUsd }
  const ports = openPorts(basePorts, { live, events, context, rawSteps: steps, sessionLedger })
  abort.setCheck(() => ports.deadline.check())
  const emit: Emit = (event) => events.put(event)
  /** Cleared once the run has begun, so that the initial state is not retained. */
  let initial: RunState | undefined = start

  const play = (): Promise<FinishedRun> => {
    const state = initial
    initial = undefined
    return playFrom(state, { run, surroundings: { ...context, inForce: live.inForce }, ports, clock, emit })
  }
  const execute = async (): Promise<FinishedRun> => {
    // The caller of a run may still add input synchronously after starting it.
    await Promise.resolve()
    if (options.signal !== undefined) abort.follow(options.signal)
    const stopListening = onStalled(() => stallable.break())
    const ended = await play()
    live.finished = ended
    stopListening()
    inbox.restoreUnrecorded()
    ports.deadline.cancel()
    abort.dispose()
    events.close()
    notifyResult(options, ended, () => finalFigures(ended, contextWithSettings(run, live.inForce), ports))
    return ended
  }
  const started = (): Promise<FinishedRun> => (live.running ??= execute())
  return streamOf(started, { run, live, steps, abort, inbox, events, output: options.output })
}

/** The mutable state of a run, shared by its ports and its reader. */
interface LiveRun {
  inForce: SettingsInForce | null
  agents?: Parameters<RunPorts['onAgents']>[0]
  limitQuestion?: LimitRequest | undefined
  waiting?: Map<string, PendingApproval>
  running?: Promise<FinishedRun>
  finished?: FinishedRun
}

/** @throws ConfigurationError when a callback answers for a person, but the step engine does not accept its answers. */
function checkAnswerable({ canUseTool, askLimit }: RunContext, steps: object): void {
  const asks = canUseTool !== null ? 'canUseTool' : askLimit === null ? undefined : 'askLimit'
  if (asks !== undefined && !('answer' in steps))
    throw new ConfigurationError(
      `These steps receive their answers elsewhere. Pass ${asks} to the program that answers.`,
    )
}

type BasePorts = Pick<OpenPorts, 'steps' | 'abort' | 'ledger' | 'waitTime' | 'spentBeforeUsd'> & {
  readonly inbox: OpenInbox
}

interface PortSurroundings {
  readonly live: LiveRun
  readonly events: EventQueue
  readonly context: RunSurroundings
  /** The steps as passed by the caller. */
  readonly rawSteps: object
  readonly sessionLedger: Ledger | undefined
}

function openPorts(
  basePorts: BasePorts,
  { live, events, context, rawSteps, sessionLedger }: PortSurroundings,
): OpenPorts {
  const { abort, ledger } = basePorts
  const ports: OpenPorts = {
    ...basePorts,
    isResumed: context.resumed === true && context.replayed !== true,
    isRecordOnly: context.replayed === true,
    rootLedger: ledger,
    hasListener: () => events.isListening,
    catchUp: () => events.catchUp(),
    deadline: noDeadline,
    rootDeadline: noDeadline,
    onSettings(nowInForce, limits) {
      live.inForce = nowInForce
      limitLedgers(limits, ledger, sessionLedger)
      ports.deadline.setLimit(limits.maxDurationMs)
    },
    endedAgents: context.endedAgents ?? noEndedAgents,
    onAgents: (agents) => void (live.agents = agents),
    // Only a step engine that waits in this process has `answer`.
    answer: 'answer' in rawSteps ? (key, answer) => (rawSteps as MemorySteps).answer(key, answer as Json) : undefined,
    onWaiting: (key, call) =>
      void (call === undefined ? live.waiting?.delete(key) : (live.waiting ??= new Map()).set(key, call)),
    onLimitQuestion: (request) => {
      live.limitQuestion = request
    },
    interrupt: () => abort.abort('user'),
    orphanedTools: context.orphanedTools ?? new OrphanedTools(),
  }
  return ports
}

interface StreamParts {
  readonly run: RunContext
  readonly live: LiveRun
  readonly steps: object
  readonly abort: AbortScope
  readonly inbox: OpenInbox
  readonly events: EventQueue
  readonly output: RunOptions['output']
}

function streamOf(
  started: () => Promise<FinishedRun>,
  { run, live, steps, abort, inbox, events, output }: StreamParts,
): RunStream {
  let outcome: Promise<RunOutcome> | undefined
  return {
    get result() {
      return (outcome ??= started().then((ended) => outcomeOf(ended, output)))
    },
    get ended() {
      return started()
    },
    get hasStarted() {
      return live.running !== undefined
    },
    abort: (cause = 'user') => abort.abort(abortCauseOf(cause)),
    stop: (message) => inbox.stop(StopSignal.userRequested(message)),
    answer: (key, decision) => deliverAnswer({ steps, permissions: run.permissions, abort }, key, decision),
    answerLimit(id, answer) {
      if (live.limitQuestion?.id !== id) return false
      answersOf(steps).answer(id, checkedLimitAnswer(live.limitQuestion, answer))
      live.limitQuestion = undefined
      return true
    },
    steer: (content, id) => inbox.put({ kind: 'steer', content, ...(id !== undefined && { id }) }),
    followUp: (content, id) => inbox.put({ kind: 'follow_up', content, ...(id !== undefined && { id }) }),
    retract: (id) => inbox.retract(id),
    get waiting() {
      return inbox.waiting
    },
    get pending() {
      const { finished, waiting } = live
      return finished === undefined
        ? [...(waiting?.values() ?? [])]
        : pendingCallsOf(finished.terminal, finished.state.transcript)
    },
    retryNow: () => inbox.retryNow(),
    async stopAgent(id) {
      const agent = live.agents?.find(id)
      const isWorking = agent?.isWorking === true
      if (isWorking) await agent.stop()
      return isWorking
    },
    set(change) {
      const { settings: pending } = inbox
      const { inForce } = live
      inbox.set(checkedChange(run, pending === undefined ? inForce : settingsAfter(inForce, pending, false), change))
    },
    [Symbol.asyncIterator]: () => readerOf(events, started, abort),
  }
}

/** The ports of a run before it begins. The deadline is set when the run begins. */
type OpenPorts = Omit<RunPorts, 'deadline' | 'rootDeadline'> & {
  deadline: RunPorts['deadline']
  rootDeadline: RunPorts['rootDeadline']
}

/** Returns the ids of the messages in the transcript, for the inbox. */
function idsOf(transcript: Transcript): () => readonly string[] {
  return () => inboxIdsOf(transcript)
}

interface PlayContext {
  readonly run: RunContext
  readonly surroundings: RunSurroundings & Required<Pick<RunSurroundings, 'inForce'>>
  readonly ports: OpenPorts
  readonly clock: Clock
  readonly emit: Emit
}

/** Starts a run that has not been started yet. Not an async function, since its frame would retain the initial state. */
function playFrom(
  start: RunState | undefined,
  { run, surroundings, ports, clock, emit }: PlayContext,
): Promise<FinishedRun> {
  if (start === undefined) throw new Error('a run begins once')
  try {
    const state = initialState(start, run, surroundings, ports, emit)
    const reached = Math.max(state.spent.now, surroundings.recordedUntil ?? 0)
    // Limits that were changed in the open turn apply from the start of the resume. That turn may already have taken
    // longer than the old limit allows.
    const limitMs = contextWithSettings(run, surroundings.inForce).settings.maxDurationMs
    const times = { usedMs: reached - state.spent.startedAt, limitMs }
    ports.deadline = ports.rootDeadline = createDeadline(clock, times, () => ports.abort.abort('time'))
    return runLoop(run, ports, state, emit)
  } catch (thrown) {
    // The step engine failed to record the start of the run.
    return finishBroken(new Run(run, ports, start, emit), thrown)
  }
}

/** Reading starts the run. If the reader leaves, the run is aborted. */
function readerOf(events: EventQueue, start: () => Promise<unknown>, abort: AbortScope): AsyncIterator<RunEvent> {
  events.listen()
  const ending = start()
  return {
    next: () => events.next(),
    async return() {
      abort.abort('abandoned')
      events.drop()
      await ending
      return { done: true, value: undefined }
    },
  }
}

interface AnswerTarget {
  readonly steps: object
  readonly permissions: RunContext['permissions']
  readonly abort: AbortScope
}

/** Passes a person's answer to the call that waits for it. Its permission changes are saved first. */
function deliverAnswer({ steps, permissions, abort }: AnswerTarget, key: string, decision: PermissionDecision): void {
  const answers = answersOf(steps)
  checkAnswer(decision)
  const deliver = (answer: PermissionDecision): void => answers.answer(key, answer as Json)
  if (isInstance(decision, InvalidAnswer)) return deliver(decision)
  const recorded = recordedAnswer(decision)
  if (!changesPermissions(recorded)) return deliver(recorded)
  void savedAnswer(permissions, checkedAnswer(recorded, permissions)).then((saved) => {
    if (!abort.signal.aborted) deliver(saved)
  })
}

/** @throws ConfigurationError for a step engine that receives answers elsewhere. */
function answersOf(steps: object): Pick<MemorySteps, 'answer'> {
  if (!('answer' in steps))
    throw new ConfigurationError('These steps receive their answers elsewhere. Send the answer there.')
  // Only a step engine that waits in this process has `answer`, and `MemorySteps` is the only one.
  return steps as MemorySteps
}

/** Calls the listener with the result. Its errors are ignored, since the run has ended. */
function notifyResult({ onResult }: RunOptions, { terminal }: FinishedRun, figures: () => HookFigures): void {
  try {
    ignoreRejection(onResult?.(terminal, figures()))
  } catch {
    // The run does not depend on the listener.
  }
}

/** Plain JavaScript may pass a prompt. @throws ConfigurationError for anything but a state. */
function checkState(start: unknown): void {
  if (isState(start)) return
  throwInvalidOption('The start of a run', 'a state, such as startRun({ prompt }) makes', start)
}

function isState(start: unknown): start is RunState {
  const { transcript, spent } = fieldsOf(start) ?? {}
  return transcript instanceof Transcript && fieldsOf(spent) !== undefined
}

/** The ledgers of the run's session; undefined if it has none. */
function sharedLedgers({
  ledger,
  sessionLedger,
}: RunSurroundings): (Partial<Pick<RunLedgers, 'sessionLedger'>> & Pick<RunLedgers, 'ledger'>) | undefined {
  return ledger === undefined ? undefined : { ledger, ...(sessionLedger !== undefined && { sessionLedger }) }
}

/** Calculates the ledgers of a new session. A run that continues an ended one starts with the spending of that run. */
function ledgersOfStart({ spent }: RunState, settings: RunSettings, spentBeforeUsd: number): RunLedgers {
  const ledgers = ledgersOf(settings, spentBeforeUsd)
  const { nanos, unknownNanos, totalTokens } = spent
  ledgers.ledger.restore({ nanos: nanos + unknownNanos, tokens: totalTokens }, { nanos: unknownNanos, tokens: 0 })
  return ledgers
}

/** Sets the dollar and token limits of the ledgers. */
function limitLedgers(settings: RunSettings, ledger: Ledger, sessionLedger: Ledger | undefined): void {
  const { maxBudgetUsd, maxRunUsd, maxTotalTokens: tokens } = settings
  const ownUsd = sessionLedger === undefined ? Math.min(maxBudgetUsd, maxRunUsd) : maxRunUsd
  ledger.setLimits({ nanos: nanosOf(ownUsd), tokens })
  sessionLedger?.setLimits({ nanos: nanosOf(maxBudgetUsd) })
}

function limitsOf(settings: RunSettings, spentBeforeUsd: number): RunLimits {
  const { maxTurns, maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs, maxToolCalls, waitForLimitsMs } = settings
  const orNull = (limit: number): number | null => (limit === Infinity ? null : limit)
  return {
    maxTurns: orNull(maxTurns),
    maxBudgetUsd: orNull(maxBudgetUsd),
    maxRunUsd: orNull(maxRunUsd),
    maxTotalTokens: orNull(maxTotalTokens),
    maxDurationMs: orNull(maxDurationMs),
    ...(maxToolCalls !== Infinity && { maxToolCalls }),
    ...(waitForLimitsMs > 0 && { waitForLimitsMs }),
    spentBeforeUsd,
  }
}

/**
 * Adds the goals that a run begins with: the changed ones or those of the options, with the progress of the run that it
 * continues. A run that only compacts, or gives a last answer, has no goals.
 */
function withGoals(start: RunState, { goals }: RunContext, { filesInOrder }: RunSurroundings): RunState {
  const { compacting, closing, settings, goal, laps } = start.spent
  const set = compacting !== null || closing !== null ? [] : settings?.until
  const specs = set ?? goals.configured.map(specOf)
  const isUnchanged =
    goal !== undefined && (isSameGoals(goal.specs, specs) || (set === undefined && specs.length === 0))
  if (isUnchanged || (goal === undefined && specs.length === 0)) return start
  const { goal_unmet: triesBefore } = laps.inRun
  const triesField = triesBefore === undefined ? {} : { laps: { ...laps, triesBefore } }
  const fresh = freshGoal(specs, 0)
  const progress = fresh !== undefined && filesInOrder === true ? { ...fresh, looksAnew: true as const } : fresh
  return { ...start, spent: { ...start.spent, ...triesField, goal: progress } }
}

/**
 * Validates the start state of a run. If a resume passes goals that differ from the recorded ones, they are set as a
 * person's change, so that they are recorded too.
 * @throws ConfigurationError for an invalid state, and for recorded goals that the options do not define.
 */
function checkStart(start: RunState, { goals }: RunContext, surroundings: RunSurroundings, inbox: OpenInbox): void {
  checkState(start)
  const { goal, settings, compacting, closing } = start.spent
  if (surroundings.replayed === true) return
  const specs = goals.configured.map(specOf)
  // A person replaced these goals before, and the options have not changed since: the person's goals apply.
  const isReplaced = settings?.untilBefore !== undefined && isSameGoals(specs, settings.untilBefore)
  const isReplacing = surroundings.resumed === true && specs.length > 0 && !isReplaced
  checkKnown(goals, isReplacing ? specs : (goal?.specs ?? []))
  // A run that only compacts, or gives its last answer, has no goals. Goals set by an earlier resume are recorded, and are not set again.
  if (!isReplacing || compacting !== null || closing !== null) return
  const recordedGoals = [goal?.specs ?? [], surroundings.inForce?.until ?? []]
  if (recordedGoals.some((each) => isSameGoals(specs, each))) return
  inbox.set({ until: specs })
}

/** The state that the loop begins with: that of a new run, or of a resumed or replayed one. */
function initialState(
  start: RunState,
  context: RunContext,
  surroundings: RunSurroundings & Required<Pick<RunSurroundings, 'inForce'>>,
  ports: RunPorts,
  emit: Emit,
): RunState {
  if (surroundings.resumed !== true) return recordStart(withGoals(start, context, surroundings), context, ports, emit)
  const { model } = contextWithSettings(context, surroundings.inForce)
  // A replay emits this event itself, when it reaches the record.
  if (ports.isResumed) emit({ type: 'run_start', run: start.run, model: model.id, isResumed: true })
  return start
}

/** Records the start of the run, and stores its time in the state. */
function recordStart(start: RunState, context: RunContext, { steps, spentBeforeUsd }: RunPorts, emit: Emit): RunState {
  const { model } = context
  const { history = 0 } = start
  const added = start.transcript.since(start.startLength - history)
  const { settings } = contextWithSettings(context, start.spent.settings)
  const { goal } = start.spent
  const limits = {
    ...limitsOf(settings, spentBeforeUsd),
    ...(goal !== undefined && { maxGoalTries: settings.maxGoalTries }),
  }
  const answers = start.spent.approvals === null ? [] : openCallsOf(start.transcript)
  const at = steps.begin({
    run: start.run,
    added,
    ...(history > 0 && { history }),
    spent: start.spent,
    limits,
    ...(answers.length > 0 && { answers: answers.map(({ id, name }) => ({ id, name })) }),
  })
  emit({ type: 'run_start', run: start.run, model: model.id })
  for (const entry of added.slice(history)) emit({ type: 'message', entry })
  // A run that continues an ended one inherits its counters, but its own clock begins now.
  const carried = start.spent.now - start.spent.startedAt
  return {
    ...start,
    spent: { ...start.spent, startedAt: at - carried, now: at, tracker: { ...start.spent.tracker, startedAt: at } },
  }
}

/**
 * Runs a prompt to its end. Failures of the run are part of the outcome: `reason` says how it ended, `output` has the
 * answer. Reminds the model when it repeats itself (`noProgress`).
 * @throws ConfigurationError only, for options that cannot be run: the promise rejects before anything starts.
 */
export async function run<Output = string>(options: PromptOptions<Output>): Promise<RunOutcome<Output>> {
  // `streamRun` rejects a value that is not an object.
  const isObject = typeof options === 'object' && options !== null
  return streamRun(isObject ? { ...options, noProgress: options.noProgress ?? 'remind' } : options).result
}
