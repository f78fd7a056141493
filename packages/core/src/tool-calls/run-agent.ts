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
import { resultOfThrown } from '../tools/output.ts'
import { recordedOnly } from '../steps/recorded-only.ts'
import type { AnyAgentTool, ChildRun } from '../tools/tool.ts'
import { Transcript } from '../conversation/transcript.ts'
import { heldBackBy, heldForNextRequest } from '../request/reserve.ts'
import type { Run } from '../run/run.ts'
import { resultOfChild } from './agent-result.ts'
import type { AgentOutcome, ValidCall } from '../run/call.ts'
import type { Child } from './child-run.ts'
import { lostAgent } from './lost-agent.ts'
import { agentName } from '../run/recorded-calls.ts'
import { waitedForAgent } from './call-texts.ts'

export interface AgentCall extends ValidCall {
  readonly tool: AnyAgentTool
}

// Spec R-SUB-1, R-SUB-5.
/** Runs a subagent: the same loop with the parent's `StepEngine` and ledger. An abort of the parent aborts it. */
export function runAgent(run: Run, { call, index, tool }: AgentCall, child: Child): Promise<AgentOutcome> {
  const { now } = run.spent
  const name = agentName(run, { id: call.id, index })
  const { ended } = startChild(run, child, { name, callId: call.id, tool: tool.name, at: now })
  return ended.then((came) => ({
    result: resultOfChild(came, { ...child, run: waitedFor(child.run) }),
    endedAt: now + came.terminal.durationMs,
    spent: came.state.spent,
  }))
}

/** One that cannot be started. If it was begun before the process died, to say that nothing was run would be wrong. */
export function unstartedAgent(
  run: Run,
  { call, index }: AgentCall,
  error: unknown,
  isRecorded: boolean,
): AgentOutcome {
  if (isRecorded) return lostAgent(run, agentName(run, { id: call.id, index }))
  return { result: resultOfThrown(error), endedAt: run.spent.now, spent: null }
}

/** Only the main loop has agents in the background. */
function waitedFor(child: ChildRun): ChildRun {
  if (child.background !== true) return child
  return { ...child, note: waitedForAgent }
}

/** Where a subagent begins, and by which call. */
export interface ChildPlace {
  /** What its steps are under. */
  readonly name: string
  readonly callId: string
  /** The name of its tool. */
  readonly tool: string
  /** When it begins, on the session's active clock. */
  readonly at: number
  readonly inBackground?: true
  /** Of one that is answered from its record and does not go on: what refuses the rest. */
  readonly isOver?: HaltingError
}

/** A subagent that has begun. */
export interface StartedChild {
  readonly abort: AbortScope
  /** Rejects when the record is of another prompt: the run ends then without writing anything. */
  readonly ended: Promise<FinishedRun>
}

/** Starts the loop of a subagent. `onEvent`: is told all that it tells. */
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
  const own = inBackground === true ? portsBeside(run, name, child, abort) : portsOfChild(run, name, child, abort)
  abort.checkBy(() => own.deadline.check())
  const ports = isOver === undefined ? own : { ...own, steps: recordedOnly(own.steps, isOver), isRecordOnly: true }
  const ended = context.runLoop(context, ports, start, emit).then((came) => {
    run.ports.abort.unlisten(listener)
    if (ports.deadline !== run.ports.deadline) ports.deadline.cancel()
    const { error } = came.terminal
    if (error?.code === 'step_mismatch') throw error
    return came
  })
  return { abort, ended }
}

function identityOf({ identity }: Run, name: string, callId: string): RunIdentity {
  const agentPath = `${identity.agentPath}${name}`
  // Its state is a new one.
  const { executionCount: _, ...inherited } = identity
  return {
    ...inherited,
    agentPath,
    agentId: `${identity.runId}/${agentPath}`.slice(0, -1),
    parentCallId: callId,
    depth: identity.depth + 1,
  }
}

/** Its prompt is the first message of a transcript of its own. */
function agentStart(identity: RunIdentity, { prompt, until = [] }: ChildRun, now: number): RunState {
  const goal = freshGoal(until.map(specOf), 0)
  const fresh = startState(identity, Transcript.empty(), { ...freshProgress(now), goal })
  const message = { role: 'user', content: prompt } as const
  return withEntry(fresh, { kind: 'user', id: entryId(fresh, 'prompt'), message, origin: 'prompt' })
}

function portsOfChild(run: Run, name: string, child: ChildRun, abort: AbortScope): RunPorts {
  const { steps, ledger, inbox } = run.ports
  const { maxBudgetUsd = Infinity, maxTotalTokens = Infinity } = child
  const heldBack = ledger.limited ? heldBackBy(run) : []
  return {
    ...run.ports,
    steps: steps.scope(name),
    inbox: inboxOfAgent(inbox),
    abort,
    ledger: ledger.branchOfAgent({ nanos: nanosOf(maxBudgetUsd), tokens: maxTotalTokens }),
    deadline: deadlineOf(run, child, abort),
    heldBack: () => heldBack,
  }
}

/** The parent goes on, and is not to end for want of what its agent took aside. Asked anew each time: its conversation grows. */
function portsBeside(run: Run, name: string, child: ChildRun, abort: AbortScope): RunPorts {
  const steps = run.ports.steps.beside(name, run.key(name))
  return { ...portsOfChild(run, name, child, abort), steps, heldBack: () => heldForNextRequest(run) }
}

function deadlineOf({ ports, context }: Run, { maxDurationMs }: ChildRun, abort: AbortScope): Deadline {
  if (maxDurationMs === undefined) return ports.deadline
  const times = { usedMs: 0, limitMs: maxDurationMs }
  return deadlineOfPart(
    ports.deadline,
    createDeadline(context.timers, times, () => abort.abort('time')),
  )
}
