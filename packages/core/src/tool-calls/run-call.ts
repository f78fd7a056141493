import { andThen, type MaybePromise, ignoreRejection } from '../values/maybe-promise.ts'
import { digestOf } from '../values/hash.ts'
import type { StepResult } from '../steps/step-engine.ts'
import {
  abortedResult,
  unknownOutcome,
  unseenResult,
  type ToolResult,
  resultOfOutput,
  resultOfThrown,
} from '../tools/tool-result.ts'
import {
  isAgentTool,
  type AnyLeafTool,
  type AgentsInBackground,
  type CallWait,
  type CallerRights,
  type ToolContext,
} from '../tools/tool.ts'
import { type Run, type RunStepOptions, agentStateOf, agentStepPrefix, toolStepName } from '../run/run.ts'
import { isQuestionsMark, stepWithQuestions, type QuestionCaller } from '../request/step-with-questions.ts'
import { agentShare, backgroundShare, childOf, type Child } from './child-run.ts'
import type { AgentOutcome, CallRun, PreparedCall, ValidCall, ToolPhase } from '../run/tool-phase.ts'
import { lostAgent, lostCallWithQuestions, runAgent, unstartedAgent, type AgentCall } from './run-agent.ts'
import { isForBackground, startAgent } from './background-agents.ts'
import { isInstance } from '../values/errors.ts'
import type { AskModel } from '../model/questions.ts'
import type { Emit } from '../state/events.ts'
import { AgentStopException } from '../endings/stop-exception.ts'
import type { AgentState } from '../hooks/agent-state.ts'
import { jsonOf, mutableCopyOf, type Json } from '../values/json.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunState } from '../state/state.ts'
import { requestRights } from './ask-permission.ts'
import type { Deadline } from '../values/deadline.ts'
import { fieldsOf } from '../values/validators.ts'
import { wallTimeOf } from '../values/clock.ts'
import { WallWait } from '../steps/wall-wait.ts'
import { shareForWaiting } from '../run/tasks.ts'

type RunningCall = Extract<PreparedCall, { readonly kind: 'run' }>

/** Runs one call as a step, in parallel with the others of its batch. A call that already has its result needs no step. */
export function runCall(run: Run, phase: ToolPhase, call: PreparedCall): MaybePromise<CallRun> {
  if (call.kind === 'answer') return phase.addRan({ call, result: call.result, at: 0, durationMs: 0 })
  if (call.kind === 'recorded') return answerFromRecord(run, phase, call)
  const { inspected } = call
  phase.begin(inspected.index)
  const { tool } = inspected
  if (isAgentTool(tool))
    return andThen(runAgentCall(run, phase, call, { ...inspected, tool }), (ran) => phase.addRan(ran))
  return andThen(runStep(run, phase, inspected, tool), ({ value, at, durationMs }) =>
    phase.addRan({ call, result: value, at, durationMs }),
  )
}

function runAgentCall(run: Run, phase: ToolPhase, call: RunningCall, agent: AgentCall): MaybePromise<CallRun> {
  const { index, tool, input } = agent
  const recorded = phase.recorded(index)
  const share = agentShare(run, phase)
  const { now: beganAt, verification } = run.spent
  const changedAtStart = verification?.changed ?? 0
  let child: Child
  try {
    child = childOf(run, tool, input, share)
  } catch (error) {
    if (recorded === 'leaf') return answerFromRecord(run, phase, { kind: 'recorded', call: agent.call, index })
    return callRunOfAgent(call, unstartedAgent(run, agent, error, recorded !== undefined), beganAt)
  }
  // Whether it runs in the background is recorded, because the program may have changed its choice.
  if (recorded === 'leaf' || (recorded === undefined && isForBackground(run, child))) {
    return startAgent(run, call, agent, child, {
      share: backgroundShare(share),
      digest: () => digestOfCall(phase, index),
    })
  }
  return andThen(runAgent(run, agent, child), (outcome) => ({
    ...callRunOfAgent(call, outcome, beganAt),
    changedAtStart,
  }))
}

/** The duration of a call that started an agent is that of the agent. */
function callRunOfAgent(call: PreparedCall, agent: AgentOutcome, beganAt: number): CallRun {
  return { call, result: agent.result, at: beganAt, durationMs: agent.endedAt - beganAt, agent }
}

/** The outcome of a call that is not run: the record contains the result, or shows that the outcome is unknown. */
function answerFromRecord(
  run: Run,
  phase: ToolPhase,
  call: Extract<PreparedCall, { readonly kind: 'recorded' }>,
): MaybePromise<CallRun> {
  const place = { id: call.call.id, index: call.index }
  if (phase.recorded(call.index) === 'agent')
    return phase.addRan(callRunOfAgent(call, lostAgent(run, agentStepPrefix(run, place)), run.spent.now))
  const unknown = (): ToolResult => unknownOutcome
  const name = toolStepName(run, place)
  const step = run.stepConcurrently<ToolResult>(name, unknown, {
    digest: () => digestOfCall(phase, call.index),
    intent: () => null,
    onUnfinished: unknown,
    sync: 'none',
  })
  return andThen(runWithoutQuestions(run, phase, call.index, name, step), ({ value, at, durationMs }) =>
    phase.addRan({ call, result: value, at, durationMs }),
  )
}

// Spec R-RES-12.
/** A digest of the call as the model made it. Changes by hooks and rules are not included: they may differ after a resume. */
function digestOfCall({ calls }: ToolPhase, index: number): string {
  const call = calls[index]
  return digestOf(`${call?.name ?? ''} ${JSON.stringify(call?.input) ?? ''}`)
}

function runStep(
  run: Run,
  phase: ToolPhase,
  inspected: ValidCall,
  tool: AnyLeafTool,
): MaybePromise<StepResult<ToolResult>> {
  const { call, index, readOnly, started } = inspected
  const reruns = tool.onUnknownOutcome === undefined ? readOnly : tool.onUnknownOutcome === 'rerun'
  const name = toolStepName(run, { id: call.id, index })
  const options: RunStepOptions<ToolResult> = {
    digest: () => digestOfCall(phase, index),
    intent: () => null,
    onUnfinished: reruns ? 'rerun' : () => unknownOutcome,
    sync: readOnly ? 'none' : 'intent',
    ...(tool.waits === true && stepOfWait(run)),
  }
  const closedCall = new WithheldCall(run, call.name)
  const execute = (scope: CallScope): MaybePromise<ToolResult> =>
    closedCall.recorded(executeCall(run, inspected, tool, { ...scope, memos: phase.memos }))
  // A call that reruns after a crash may ask a model: its earlier questions are answered from the record.
  if (tool.asksModel === true && reruns) {
    const scope = { idempotencyKey: `${run.identity.sessionId}/${run.key(name)}`, emit: run.emit }
    const caller: QuestionCaller<ToolResult> = {
      call: (ask) => execute({ ...scope, ask }),
      cut: (_result, cause) => abortedResult(cause, 'settled'),
    }
    return closedCall.fullResult(stepWithQuestions(run, name, caller, { options, bill: phase.billOf(index) }))
  }
  const effect = (scope: CallScope): MaybePromise<ToolResult> =>
    started === undefined ? execute(scope) : closedCall.recorded(started)
  return closedCall.fullResult(
    runWithoutQuestions(run, phase, index, name, run.stepConcurrently<ToolResult>(name, effect, options)),
  )
}

// Spec R-HOOK-17a.
/** A call whose result must not be recorded before the redacting hooks have inspected it. Until then the result exists only in this process. */
class WithheldCall {
  readonly #isClosed: boolean
  #live: ToolResult | undefined

  constructor(run: Run, name: string) {
    this.#isClosed = withholdsResults(run, name)
  }

  /** The part of a result that is recorded. */
  recorded(result: MaybePromise<ToolResult>): MaybePromise<ToolResult> {
    if (!this.#isClosed) return result
    return andThen(result, (live) => {
      if (live.status !== 'done' && live.status !== 'failed') return live
      this.#live = live
      return unseenResult(live)
    })
  }

  /** The full result, if this process has it. */
  fullResult(step: MaybePromise<StepResult<ToolResult>>): MaybePromise<StepResult<ToolResult>> {
    if (!this.#isClosed) return step
    return andThen(step, (stepResult) =>
      stepResult.value.unseen === true && this.#live !== undefined
        ? { ...stepResult, value: { ...this.#live, unseen: true } }
        : stepResult,
    )
  }
}

/** The recorded call may have asked a model, but its tool in the resumed program does not. */
function runWithoutQuestions(
  run: Run,
  phase: ToolPhase,
  index: number,
  name: string,
  step: MaybePromise<StepResult<ToolResult>>,
): MaybePromise<StepResult<ToolResult>> {
  if (!run.ports.isResumed) return step
  return andThen(step, (firstStep) =>
    isQuestionsMark(firstStep.value)
      ? andThen(lostCallWithQuestions(run, name, phase.billOf(index)), (value) => ({ ...firstStep, value }))
      : firstStep,
  )
}

/** What a call receives from its step. */
export interface CallScope {
  readonly idempotencyKey: string
  readonly emit: Emit
  /** The intent of that step, if it has one. */
  readonly intent?: Json
  readonly ask?: AskModel | undefined
  /** Memos of the tools of earlier calls of the message. */
  readonly memos?: readonly Json[]
}

// Spec R-HOOK-17a.
/**
 * Checks once why a call cannot succeed in the current state. Undefined for a tool without this check. Also undefined if
 * a result must not be recorded before hooks have inspected it: the reason may quote what they redact.
 */
export function precheckOf(
  run: Run,
  call: ValidCall,
  memos: readonly Json[],
): (() => Promise<string | undefined>) | undefined {
  const { tool } = call
  if (isAgentTool(tool) || tool.precheck === undefined || withholdsResults(run, call.call.name)) return undefined
  const { precheck } = tool
  let pending: Promise<string | undefined> | undefined
  const find = async (): Promise<string | undefined> => {
    try {
      const context = new CallContext(run, call, { idempotencyKey: '', emit: run.emit, memos })
      // The input passed this tool's own check. The tool receives a copy, because it is called with the original later.
      const why: unknown = await precheck.call(tool, mutableCopyOf(call.validatedInput as Json) as never, context)
      return typeof why === 'string' && why !== '' ? why : undefined
    } catch {
      return undefined
    }
  }
  return () => (pending ??= find())
}

/** Whether a redacting hook withholds the results of a tool if the hook fails. */
function withholdsResults({ context }: Run, name: string): boolean {
  return context.hooks.for('afterToolUse', name).some(({ hook }) => hook.onError === 'withhold')
}

/** The side effect of a call of a leaf tool: starts the tool unless the run is aborted, and never rejects. */
export function executeCall(run: Run, call: ValidCall, tool: AnyLeafTool, scope: CallScope): MaybePromise<ToolResult> {
  const { abort, orphanedTools } = run.ports
  // After an abort no tool starts.
  const cause = abort.causeNow()
  if (cause !== undefined) return abortedResult(cause, 'settled')
  const orphans = call.readOnly ? undefined : orphanedTools.settled()
  const start = (): MaybePromise<ToolResult> => {
    if (run.ports.hasListener()) scope.emit({ type: 'tool_running', callId: call.call.id, name: call.call.name })
    return runTool(run, tool, call.input, new CallContext(run, call, scope))
  }
  if (orphans === undefined) return start()
  return run.withGrace(
    () => orphans,
    (settled) => (settled.kind === 'left' ? abortedResult(settled.cause, 'settled') : start()),
  )
}

function runTool(run: Run, tool: AnyLeafTool, input: unknown, context: ToolContext): MaybePromise<ToolResult> {
  const { abort, orphanedTools } = run.ports
  let running: unknown
  // The input passed this tool's own check, so it has the type that `execute` accepts.
  const work = () => (running = tool.execute(input as never, context))
  return run.withGrace(work, (settled) => {
    switch (settled.kind) {
      case 'value':
        return resultOfOutput(settled.value)
      case 'threw':
        // A tool that throws after an abort counts as interrupted, unless it throws a stop.
        return abort.cause === undefined || isInstance(settled.error, AgentStopException)
          ? resultOfThrown(settled.error)
          : abortedResult(abort.cause, 'settled')
      case 'left':
        if (isInstance(running, Promise)) orphanedTools.add(running)
        return abortedResult(settled.cause, 'still_running')
    }
  })
}

/** The context of a tool. Its state is the one from before the tools of this turn, even when it is read later. */
class CallContext implements ToolContext {
  readonly callId: string
  readonly toolName: string
  readonly agentType: string | null
  readonly signal: AbortSignal
  readonly idempotencyKey: string
  readonly agents: AgentsInBackground | null
  readonly #context: RunContext
  readonly ask?: AskModel
  readonly memos?: readonly Json[]
  readonly wait?: CallWait
  readonly confined?: true
  readonly #state: RunState
  readonly #emit: Emit

  constructor(run: Run, { call, tool, confined }: ValidCall, { idempotencyKey, emit, intent, ask, memos }: CallScope) {
    this.callId = call.id
    this.toolName = call.name
    this.agentType = run.agentType
    this.signal = run.ports.abort.signal
    this.idempotencyKey = idempotencyKey
    this.#context = run.context
    this.agents = run.agents ?? null
    this.#state = run.state
    this.#emit = emit
    if (confined !== undefined) this.confined = confined
    if (ask !== undefined) this.ask = ask
    if (memos !== undefined) this.memos = memos
    if (!isAgentTool(tool) && tool.waits === true) this.wait = waitOfCall(run, intent)
  }

  get state(): AgentState {
    return agentStateOf(this.#state)
  }

  get rights(): CallerRights {
    const { settings, toolDefinitions } = this.#context
    return { ...requestRights(settings), tools: toolDefinitions.map(({ name }) => name) }
  }

  /** A tool may detach this function, so it does not depend on `this`. */
  get progress(): (data: Json) => void {
    return (data) => {
      ignoreRejection(data)
      this.#emit({ type: 'tool_update', callId: this.callId, name: this.toolName, data: jsonOf(data) })
    }
  }
}

// Spec R-WAIT-1.
/**
 * The step options of a waiting call. The start of the wait is stored in the intent of its step, and flushed to disk: a
 * resume waits until the same time.
 */
function stepOfWait({ context }: Run): Pick<RunStepOptions<unknown>, 'intent' | 'sync'> {
  return { intent: () => ({ since: wallTimeOf(context.timers) }), sync: 'intent' }
}

/** The wait of a call. Without a stored intent, for example if the step engine passes none, the wait begins now. */
function waitOfCall(run: Run, intent: Json | undefined): CallWait {
  const { since } = fieldsOf(intent) ?? {}
  return new WaitOfCall(run, typeof since === 'number' ? since : wallTimeOf(run.context.timers))
}

class WaitOfCall implements CallWait {
  readonly sinceMs: number
  readonly #run: Run
  readonly #began: WallWait

  constructor(run: Run, sinceMs: number) {
    this.#run = run
    this.sinceMs = sinceMs
    this.#began = this.#waitUntil(Infinity)
  }

  #waitUntil(longestMs: number): WallWait {
    return new WallWait(this.#run.context.timers, { since: this.sinceMs, until: this.sinceMs + longestMs })
  }

  get waitedMs(): number {
    return this.#began.waitedMs
  }

  get leftMs(): number {
    const { deadline, rootDeadline } = this.#run.ports
    return Math.min(timeLeft(deadline), timeLeft(rootDeadline)) * shareForWaiting
  }

  onEnd(longestMs: number, listener: (why: 'over' | 'limit' | 'arrived') => void): () => void {
    const { inbox } = this.#run.ports
    const maxMs = this.waitedMs + this.leftMs
    const isLimited = maxMs < longestMs
    const time = this.#waitUntil(Math.max(0, isLimited ? maxMs : longestMs))
    let stop = (): void => {}
    const end = (why: 'over' | 'limit' | 'arrived'): void => {
      stop()
      listener(why)
    }
    if (inbox.hasAny) {
      listener('arrived')
      return stop
    }
    const unlisten = inbox.onArrival(() => end('arrived'))
    stop = () => {
      time.cancel()
      unlisten()
    }
    time.start(() => end(isLimited ? 'limit' : 'over'))
    return stop
  }
}

function timeLeft({ limitMs, usedMs }: Deadline): number {
  return limitMs === Infinity ? Infinity : Math.max(0, limitMs - usedMs)
}
