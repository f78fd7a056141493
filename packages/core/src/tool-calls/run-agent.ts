import { nanosOf } from '../model/prices.ts'
import { AbortScope } from '../values/abort.ts'
import { createDeadline, deadlineOfPart, type Deadline } from '../values/deadline.ts'
import type { HaltingError } from '../values/errors.ts'
import type { Emit } from '../state/events.ts'
import { freshGoal } from '../verification/goal-progress.ts'
import { specOf } from '../goals/run-goals.ts'
import { inboxOfAgent } from '../steps/inbox.ts'
import type { FinishedRun, RunPorts } from '../run/run-context.ts'
import { entryId, freshProgress, startState, withEntry, type RunIdentity, type RunState } from '../state/state.ts'
import { resultOfThrown, abortedResult, type ToolResult, unknownOutcome } from '../tools/tool-result.ts'
import type { AnyAgentTool, ChildRun } from '../tools/tool.ts'
import { Transcript } from '../conversation/transcript.ts'
import { reservesOf, reservesForNextRequest } from '../request/reserve.ts'
import { type Run, agentStepPrefix } from '../run/run.ts'
import type { AgentOutcome, ValidCall } from '../run/tool-phase.ts'
import type { Child } from './child-run.ts'
import {
  waitedForAgent,
  agentEnd,
  agentStoppedEarly,
  lastResultOfAgent,
  lastTextOfAgent,
  noAnswerOfAgent,
} from './call-texts.ts'
import { type TaskEnded, taskNewsOf } from '../verification/background.ts'
import { jsonOf, type Json, isJsonObject } from '../values/json.ts'
import { isText, isToolResult, textOf } from '../model/messages.ts'
import type { OutputSchema } from '../tools/output-schema.ts'
import { lastAnswer, lastReplyText } from '../sdk/result-message.ts'
import { tasksIn } from '../run/tasks.ts'
import { endings } from '../endings/table.ts'
import type { RunResult } from '../endings/run-result.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { chargeOf, chargeOfStep, restoreForAgent } from '../request/charge.ts'
import type { OpenBill } from '../run/request-bill.ts'
import { composite, type QuestionsRecord } from '../request/step-with-questions.ts'
import type { StepEngine } from '../steps/step-engine.ts'

export interface AgentCall extends ValidCall {
  readonly tool: AnyAgentTool
}

// Spec R-SUB-1, R-SUB-5.
/** Runs a subagent: the same loop with the parent's `StepEngine` and ledger. An abort of the parent aborts it. */
export function runAgent(run: Run, { call, index, tool }: AgentCall, child: Child): Promise<AgentOutcome> {
  const { now } = run.spent
  const name = agentStepPrefix(run, { id: call.id, index })
  const { ended } = startChild(run, child, { name, callId: call.id, tool: tool.name, at: now })
  return ended.then((finished) => ({
    result: resultOfChild(finished, { ...child, run: withoutBackground(child.run) }),
    endedAt: now + finished.terminal.durationMs,
    spent: finished.state.spent,
  }))
}

/** The result of an agent that cannot be started. If the agent had begun before the process died, the result must not say that nothing ran. */
export function unstartedAgent(
  run: Run,
  { call, index }: AgentCall,
  error: unknown,
  isRecorded: boolean,
): AgentOutcome {
  if (isRecorded) return lostAgent(run, agentStepPrefix(run, { id: call.id, index }))
  return { result: resultOfThrown(error), endedAt: run.spent.now, spent: null }
}

/** Only the main loop has agents in the background. */
function withoutBackground(child: ChildRun): ChildRun {
  if (child.background !== true) return child
  return { ...child, note: waitedForAgent }
}

/** The position at which a subagent begins, and the call that starts it. */
export interface ChildPlace {
  /** Prefix of its step names. */
  readonly name: string
  readonly callId: string
  /** The name of its tool. */
  readonly tool: string
  /** Start time on the session's active clock. */
  readonly at: number
  readonly inBackground?: true
  /** For an agent that is answered from its record only: the error for steps that are not on record. */
  readonly isOver?: HaltingError
}

/** A subagent that has begun. */
export interface StartedChild {
  readonly abort: AbortScope
  /** Rejects if the record belongs to another prompt: then the run ends without writing anything. */
  readonly ended: Promise<FinishedRun>
}

/** Starts the loop of a subagent. `onEvent` receives all of its events. */
export function startChild(
  run: Run,
  { run: child, context }: Child,
  { name, callId, tool, at, inBackground, isOver }: ChildPlace,
  onEvent?: Emit,
): StartedChild {
  const { agentType = tool, description } = child
  const identity = identityOf(run, name, callId)
  const about = {
    type: 'agent',
    callId,
    agentType,
    ...(description !== undefined && { description }),
    ...(inBackground === true && { inBackground }),
  } as const
  const emit: Emit = (event) => {
    onEvent?.(event)
    run.emit({ ...about, event })
  }
  const start = agentStart(identity, child, at)
  emit({ type: 'run_start', run: identity, model: context.model.id })
  for (const entry of start.transcript) emit({ type: 'message', entry })
  const abort = new AbortScope()
  const listener = {
    onAbort: (cause: Parameters<AbortScope['abort']>[0]) =>
      abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent'),
  }
  run.ports.abort.listen(listener)
  const childPorts =
    inBackground === true ? portsOfBackgroundAgent(run, name, child, abort) : portsOfChild(run, name, child, abort)
  abort.setCheck(() => childPorts.deadline.check())
  const ports =
    isOver === undefined
      ? childPorts
      : { ...childPorts, steps: recordedOnly(childPorts.steps, isOver), isRecordOnly: true }
  const ended = context.runLoop(context, ports, start, emit).then((finished) => {
    run.ports.abort.unlisten(listener)
    if (ports.deadline !== run.ports.deadline) ports.deadline.cancel()
    const { error } = finished.terminal
    if (error?.code === 'step_mismatch') throw error
    return finished
  })
  return { abort, ended }
}

function identityOf({ identity }: Run, name: string, callId: string): RunIdentity {
  const agentPath = `${identity.agentPath}${name}`
  // The child has a new state.
  const { executionCount: _, ...inherited } = identity
  return {
    ...inherited,
    agentPath,
    agentId: `${identity.runId}/${agentPath}`.slice(0, -1),
    parentCallId: callId,
    depth: identity.depth + 1,
  }
}

/** The start of an agent: its prompt is the first message of its own transcript. */
function agentStart(identity: RunIdentity, { prompt, until = [] }: ChildRun, now: number): RunState {
  const goal = freshGoal(until.map(specOf), 0)
  const initialState = startState(identity, Transcript.empty(), { ...freshProgress(now), goal })
  const message = { role: 'user', content: prompt } as const
  return withEntry(initialState, { kind: 'user', id: entryId(initialState, 'prompt'), message, origin: 'prompt' })
}

function portsOfChild(run: Run, name: string, child: ChildRun, abort: AbortScope): RunPorts {
  const { steps, ledger, inbox } = run.ports
  const { maxBudgetUsd = Infinity, maxTotalTokens = Infinity } = child
  const reserves = ledger.limited ? reservesOf(run) : []
  return {
    ...run.ports,
    steps: steps.scope(name),
    inbox: inboxOfAgent(inbox),
    abort,
    ledger: ledger.branchOfAgent({ nanos: nanosOf(maxBudgetUsd), tokens: maxTotalTokens }),
    deadline: deadlineOf(run, child, abort),
    parentReserves: () => reserves,
  }
}

/**
 * The ports of a background agent. The parent continues, and must not end because its agent reserved money. The reserve
 * is computed anew each time, because the parent's conversation grows.
 */
function portsOfBackgroundAgent(run: Run, name: string, child: ChildRun, abort: AbortScope): RunPorts {
  const steps = run.ports.steps.concurrent(name, run.key(name))
  return { ...portsOfChild(run, name, child, abort), steps, parentReserves: () => reservesForNextRequest(run) }
}

function deadlineOf({ ports, context }: Run, { maxDurationMs }: ChildRun, abort: AbortScope): Deadline {
  if (maxDurationMs === undefined) return ports.deadline
  const times = { usedMs: 0, limitMs: maxDurationMs }
  return deadlineOfPart(
    ports.deadline,
    createDeadline(context.timers, times, () => abort.abort('time')),
  )
}

// Spec R-SUB-6, R-BACK-6.
/**
 * The result for the parent: the child's answer, or why it was stopped early. It includes background tasks that its
 * tools started, and the ends of tasks that its tools received. Later runs do not read the child's transcript.
 */
function resultOfChild(ended: FinishedRun, { run: child, context }: Child): ToolResult {
  const { transcript, startLength } = ended.state
  const tasks = tasksIn(transcript.since(startLength))
  const result = resultOfEnding(ended, child, context.settings.output)
  return tasks.length === 0 ? result : { ...result, tasks }
}

function resultOfEnding(ended: FinishedRun, child: ChildRun, output: OutputSchema | null): ToolResult {
  const { terminal, state } = ended
  const { note = '' } = child
  if (isCutByParent(ended, child)) {
    // The cause of the parent's abort is on the parent's own record; its next cancellation point reports it.
    const { abort: _cause, ...result } = abortedResult('parent', 'settled')
    const why = stopMessage(terminal)
    const agentTexts = textsOfAgent(state)
    if (agentTexts !== '') return { ...result, content: `${why} ${lastTextOfAgent(agentTexts, maxTextsLength)}` }
    return terminal.signal.reason === 'user_requested' ? result : { ...result, content: why }
  }
  const details = {
    reason: terminal.reason,
    message: terminal.signal.message,
    costUsd: terminal.costUsd,
    turns: terminal.summary.turns,
  }
  const withNote = (text: string): string => (note === '' ? text : `${note}\n\n${text}`)
  if (endings[terminal.reason].parentResult === 'done') {
    const structured = output === null ? undefined : structuredAnswer(state, output)
    if (structured !== undefined) {
      const content = withNote(JSON.stringify(structured.value))
      return { status: 'done', content, isError: false, details: { ...details, output: structured.value } }
    }
    const answer = lastAnswer(state)
    const content = withNote(answer === '' ? noAnswerOfAgent : answer)
    return { status: 'done', content, isError: false, details }
  }
  const why = stopMessage(terminal)
  const outputText = outputSoFar(state)
  return {
    status: 'failed',
    content: withNote(outputText === '' ? why : `${why} ${outputText}`),
    isError: true,
    details,
    error: why,
  }
}

/** The parsed answer. The loop has checked it before; if the check fails now, the answer is returned unchanged. */
function structuredAnswer(state: RunState, output: OutputSchema): { readonly value: Json } | undefined {
  try {
    const checked = output.check(lastReplyText(state))
    return checked.fits ? { value: jsonOf(checked.value) } : undefined
  } catch {
    return undefined
  }
}

/** Works like `resultOfChild`, for a background agent, with different texts. */
export function endOfAgent(ended: FinishedRun, child: Child, description: string): Omit<TaskEnded, 'type' | 'id'> {
  const { state } = ended
  if (isCutByParent(ended, child.run)) {
    const result = outputSoFar(state)
    return { status: 'stopped', summary: agentEnd(description, 'stopped'), ...(result !== '' && { result }) }
  }
  const { status, content } = resultOfChild(ended, { ...child, run: { ...child.run, note: '' } })
  const result = typeof content === 'string' ? content : textOf(content)
  return status === 'done'
    ? { status: 'completed', summary: agentEnd(description, 'ended'), result }
    : { status: 'failed', summary: agentEnd(description, 'failed'), result }
}

/** A platform timer may fire this much early. */
const timerSlackMs = 5

/** Whether its parent aborted or stopped the agent before its own time was used up. Based on the record. */
function isCutByParent({ terminal }: FinishedRun, { maxDurationMs = Infinity }: ChildRun): boolean {
  if (terminal.signal.source !== 'abort') return false
  return terminal.reason !== 'time_limit' || terminal.durationMs + timerSlackMs < maxDurationMs
}

/** Maximum output of a stopped agent that its parent sees: the newest texts, or the end of its last result. */
const maxTextsLength = 8_000
const maxResultLength = 2_000

function stopMessage({ signal }: RunResult): string {
  return agentStoppedEarly(signal.toString())
}

/** All texts of the agent. */
function textsOfAgent({ transcript, startLength }: RunState): string {
  const assistantTexts = transcript
    .since(startLength)
    .flatMap((entry) =>
      entry.kind === 'assistant' && entry.error === undefined ? textOf(entry.message.content).trim() || [] : [],
    )
  return assistantTexts.join('\n\n')
}

function outputSoFar(state: RunState): string {
  const texts = textsOfAgent(state)
  if (texts !== '') return lastTextOfAgent(texts, maxTextsLength)
  const lastResult = state.transcript
    .since(state.startLength)
    .flatMap((entry) =>
      entry.kind === 'user' && typeof entry.message.content !== 'string' ? entry.message.content : [],
    )
    .findLast(isToolResult)
  const resultText =
    typeof lastResult?.content === 'string'
      ? lastResult.content
      : (lastResult?.content ?? [])
          .filter(isText)
          .map(({ text }) => text)
          .join('\n')
  return resultText === '' ? '' : lastResultOfAgent(resultText, maxResultLength)
}

// Spec R-RES-10b.
/**
 * The outcome of a recorded subagent that the resumed program cannot start again, because its tool or its description no
 * longer exists. The parent does not know its work, and its model requests are charged.
 */
export function lostAgent(run: Run, name: string): AgentOutcome {
  const steps = run.ports.steps.abandon(run.key(name))
  const { now } = run.spent
  let spent = freshProgress(now)
  const charges = steps.flatMap(chargeOfStep)
  restoreForAgent(run, charges)
  for (const charge of charges) spent = { ...spent, ...chargeOf(spent, charge, 'question') }
  const tasks = steps.flatMap(({ value }) => (isJsonObject(value) ? taskNewsOf(value['tasks']) : []))
  const result = tasks.length === 0 ? unknownOutcome : { ...unknownOutcome, tasks }
  return { result, endedAt: now, spent }
}

/**
 * The outcome of a call that had asked a model, of a tool that no longer exists in the resumed program or no longer
 * asks. A recorded result applies. Otherwise the outcome is unknown, and its requests are charged.
 */
export function lostCallWithQuestions(run: Run, name: string, bill: OpenBill): MaybePromise<ToolResult> {
  const { steps } = run.ports
  const wholeName = `${name}/asked`
  if (steps.peek(run.key(wholeName)) === 'done') {
    const lost = (): QuestionsRecord<ToolResult> => ({ value: unknownOutcome, charges: [], told: [] })
    return andThen(run.stepConcurrently<QuestionsRecord<ToolResult>>(wholeName, lost, composite), ({ value }) => {
      restoreForAgent(run, value.charges)
      bill.addAll(value)
      return value.value
    })
  }
  const charges = steps.abandon(run.key(`${wholeName}/`)).flatMap(chargeOfStep)
  restoreForAgent(run, charges)
  bill.addAll({ charges, told: [] })
  return unknownOutcome
}

/** The same steps, read-only: a step that is not recorded as done is refused with this error, and no external input is read. */
function recordedOnly(steps: StepEngine, error: HaltingError): StepEngine {
  const refuse = <T>(key: string, answer: () => MaybePromise<T>): MaybePromise<T> =>
    steps.peek(key) === 'done' ? answer() : Promise.reject(error)
  return {
    get replaying() {
      return steps.replaying
    },
    peek: (key) => steps.peek(key),
    abandon: (prefix) => steps.abandon(prefix),
    begin: (start) => steps.begin(start),
    run: (key, effect, options) => refuse(key, () => steps.run(key, effect, options)),
    scope: (name) => recordedOnly(steps.scope(name), error),
    concurrent: (name, prefix) => recordedOnly(steps.concurrent(name, prefix), error),
    lap: (lap) => steps.lap(lap),
    control: (key, _poll, options) => steps.control(key, () => undefined, options),
    sleep: async (key, ms, options) => refuse(key, () => steps.sleep(key, ms, options)),
    wait: async (key, options) => refuse(key, () => steps.wait(key, options)),
    end: (end) => steps.end(end),
  }
}
