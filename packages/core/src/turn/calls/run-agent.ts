import { AbortScope } from '../../cancel/abort.ts'
import type { Emit } from '../../events.ts'
import type { Eventually } from '../../eventually.ts'
import { closedInbox } from '../../inbox.ts'
import type { RunPorts } from '../../run-context.ts'
import {
  entryId,
  freshProgress,
  startState,
  withEntry,
  withModelUsage,
  type RunIdentity,
  type RunState,
} from '../../state.ts'
import { carriedOn, changeOf } from '../../settings/settings-change.ts'
import { resultOfThrown } from '../../tools/output.ts'
import type { AnyAgentTool } from '../../tools/tool.ts'
import { Transcript } from '../../transcript.ts'
import { heldBackBy } from '../request/reserve.ts'
import type { Run } from '../run.ts'
import { resultOfChild } from './agent-result.ts'
import type { AgentOutcome, ValidCall } from './call.ts'
import { childOf, type Child } from './child-run.ts'
import { lostAgent } from './lost-agent.ts'
import { agentName } from './recorded-calls.ts'

export interface AgentCall extends ValidCall {
  readonly tool: AnyAgentTool
}

/**
 * Runs a subagent: the same loop with the parent's Steps and ledger. An abort of the parent aborts it (spec R-SUB-1, R-SUB-5).
 * `agents`: how many it may start itself, with those below it.
 */
export function runAgent(
  run: Run,
  { call, index, tool, input }: AgentCall,
  { agents, isRecorded }: { readonly agents: number; readonly isRecorded: boolean },
): Eventually<AgentOutcome> {
  const { now } = run.spent
  const name = agentName(run, { id: call.id, index })
  let made: Child
  try {
    made = childOf(run, tool, input, agents)
  } catch (error) {
    // It was begun before the process died: to say that nothing was run would be wrong.
    if (isRecorded) return lostAgent(run, name)
    return { result: resultOfThrown(error), endedAt: now, spent: null }
  }
  const { run: child, context } = made
  const { agentType = tool.name, description } = child
  const identity = identityOf(run, name, call.id)
  const about = {
    type: 'agent',
    callId: call.id,
    agentType,
    ...(description !== undefined && { description }),
  } as const
  const emit: Emit = (event) => run.emit({ ...about, event })
  const start = agentStart(identity, child.prompt, now)
  emit({ type: 'run_start', run: identity, model: context.model.id })
  for (const entry of start.transcript) emit({ type: 'message', entry })
  const abort = new AbortScope()
  const listener = {
    onAbort: (cause: Parameters<AbortScope['abort']>[0]) =>
      abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent'),
  }
  run.ports.abort.listen(listener)
  const ports = portsOfChild(run, name, abort)
  return context.runLoop(context, ports, start, emit).then((ended) => {
    run.ports.abort.unlisten(listener)
    const { error } = ended.terminal
    // The record is of another prompt. The run ends without writing anything.
    if (error?.code === 'step_mismatch') throw error
    return {
      result: resultOfChild(ended, child.note),
      endedAt: now + ended.terminal.durationMs,
      spent: ended.state.spent,
    }
  })
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
function agentStart(identity: RunIdentity, prompt: string, now: number): RunState {
  const fresh = startState(identity, Transcript.empty(), freshProgress(now))
  const message = { role: 'user', content: prompt } as const
  return withEntry(fresh, { kind: 'user', id: entryId(fresh, 'prompt'), message, origin: 'prompt' })
}

function portsOfChild(run: Run, name: string, abort: AbortScope): RunPorts {
  const { steps, ledger } = run.ports
  const heldBack = ledger.limited ? heldBackBy(run) : undefined
  return {
    ...run.ports,
    steps: steps.scope(name),
    inbox: closedInbox,
    abort,
    ledger: ledger.branch(),
    ...(heldBack !== undefined && { heldBack }),
  }
}

/** Enters what the agent spent in its parent's figures. */
export function enterAgent(run: Run, { spent: child }: AgentOutcome): void {
  if (child === null) return
  const { spent } = run
  let { modelUsage } = spent
  for (const [model, { usage, nanos }] of Object.entries(child.modelUsage)) {
    modelUsage = withModelUsage(modelUsage, model, usage, nanos)
  }
  run.update({
    modelUsage,
    totalTokens: spent.totalTokens + child.totalTokens,
    nanos: spent.nanos + child.nanos,
    unknownNanos: spent.unknownNanos + child.unknownNanos,
    subagents: spent.subagents + child.subagents,
    stillRunning: [...spent.stillRunning, ...child.stillRunning],
    now: Math.max(spent.now, child.now),
  })
  // What a person said to a call of the agent holds for the session, and what went on beside it knew some of that already.
  const learned = carriedOn(run.spent.settings, child.settings)
  const known = run.spent.settings?.permissionUpdates ?? []
  if (learned !== run.spent.settings) run.set(changeOf(learned?.permissionUpdates?.slice(known.length) ?? []))
}
