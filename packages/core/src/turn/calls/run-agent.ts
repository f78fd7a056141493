import { AbortScope } from '../../cancel/abort.ts'
import type { Emit } from '../../events.ts'
import { disregard, type Eventually } from '../../eventually.ts'
import { isForAgents } from '../../guards/limits.ts'
import { closedInbox } from '../../inbox.ts'
import type { HookTrigger } from '../../hooks/hook-outcome.ts'
import type { HookRegistry } from '../../hooks/registry.ts'
import type { Ended, RunContext, RunPorts } from '../../run-context.ts'
import { lastAnswer } from '../../sdk/result-message.ts'
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
import { toolDefinitionsOf } from '../../tools/definitions.ts'
import { resultOfThrown } from '../../tools/output.ts'
import { abortedResult, type ToolResult } from '../../tools/tool-result.ts'
import { isAgentTool, type AnyAgentTool, type ChildRun } from '../../tools/tool.ts'
import { Transcript } from '../../transcript.ts'
import { heldBackBy } from '../request/reserve.ts'
import type { Run } from '../run.ts'
import type { AgentOutcome, ValidCall } from './call.ts'
import { agentName } from './recorded-calls.ts'

export interface AgentCall extends ValidCall {
  readonly tool: AnyAgentTool
}

/** Runs a subagent: the same loop with the parent's Steps and ledger. An abort of the parent aborts it (spec R-SUB-1, R-SUB-5). */
export function runAgent(run: Run, { call, index, tool, input }: AgentCall): Eventually<AgentOutcome> {
  const { now } = run.spent
  let child: ChildRun
  try {
    // The input passed this tool's own check, so it is what `spawn` is written for.
    child = childRunOf(tool.spawn(input as never))
  } catch (error) {
    return { result: resultOfThrown(error), endedAt: now, spent: null }
  }
  const name = agentName(run, { id: call.id, index })
  const identity = identityOf(run, name, call.id)
  const emit: Emit = (event) =>
    run.emit({ type: 'agent', callId: call.id, agentType: child.agentType ?? tool.name, event })
  const start = agentStart(identity, child.prompt, now)
  emit({ type: 'run_start', run: identity, model: run.context.model.id })
  for (const entry of start.transcript) emit({ type: 'message', entry })
  const abort = new AbortScope()
  const listener = {
    onAbort: (cause: Parameters<AbortScope['abort']>[0]) =>
      abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent'),
  }
  run.ports.abort.listen(listener)
  const context = contextOfChild(run.context, child)
  const ports = portsOfChild(run, name, abort)
  return context.runLoop(context, ports, start, emit).then((ended) => {
    run.ports.abort.unlisten(listener)
    const { error } = ended.terminal
    // The record is of another prompt. The run ends without writing anything.
    if (error?.code === 'step_mismatch') throw error
    return { result: resultOfChild(ended), endedAt: now + ended.terminal.durationMs, spent: ended.state.spent }
  })
}

/** Plain JavaScript may give anything back. @throws TypeError for what is no subagent. */
function childRunOf(given: unknown): ChildRun {
  disregard(given)
  // Read once, since what is read may be a getter; of what is no object, no field is.
  const { prompt, system, tools, maxTurns, agentType } = Object(given) as { readonly [field: string]: unknown }
  if (typeof prompt !== 'string' || prompt === '') throw new TypeError('A subagent needs a prompt: { prompt, … }.')
  return {
    prompt,
    ...(typeof system === 'string' && { system }),
    ...(Array.isArray(tools) && { tools: tools.map(String) }),
    ...(typeof maxTurns === 'number' && maxTurns >= 1 && { maxTurns: Math.floor(maxTurns) }),
    ...(typeof agentType === 'string' && { agentType }),
  }
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

function contextOfChild(context: RunContext, child: ChildRun): RunContext {
  const allowed = child.tools === undefined ? undefined : new Set(child.tools)
  // A subagent starts no subagents: their number stays bounded by `maxSubagents`.
  const tools = new Map(
    [...context.tools].filter(([toolName, tool]) => !isAgentTool(tool) && (allowed?.has(toolName) ?? true)),
  )
  const maxTurns = Math.min(child.maxTurns ?? context.settings.maxTurns, context.settings.maxTurns)
  return {
    ...context,
    tools,
    toolDefinitions: toolDefinitionsOf(tools.values()),
    // It has what its parent had when it began, and of that what it may use.
    moreTools: null,
    guards: context.guards.filter(({ guard }) => isForAgents(guard)),
    postRun: [],
    // Hooks on tools and requests hold in subagents as well; those on the run are the main loop's.
    hooks: hooksOfChild(context.hooks),
    limits: { maxTurns, tokenTargetLaps: 0 },
    settings: {
      ...context.settings,
      system: child.system ?? context.settings.system,
      maxTurns,
      tokenBudget: null,
      wrapUp: false,
      output: null,
      maxSubagents: 0,
      querySource: child.agentType ?? 'agent',
    },
  }
}

const ofTheRun: ReadonlySet<HookTrigger> = new Set(['beforeExecution', 'afterExecution', 'onStop'])

function hooksOfChild(hooks: HookRegistry): HookRegistry {
  return { all: hooks.all, for: (trigger, toolName) => (ofTheRun.has(trigger) ? [] : hooks.for(trigger, toolName)) }
}

/** The result for the parent's model: the child's answer, or why the child was stopped before its end. */
function resultOfChild({ terminal, state }: Ended): ToolResult {
  if (terminal.signal.source === 'abort') {
    // Why the parent was aborted is on its own record: its next checkpoint tells.
    const { abort: _cause, ...result } = abortedResult('parent', 'settled')
    return result
  }
  const answer = lastAnswer(state)
  const details = {
    reason: terminal.reason,
    message: terminal.signal.message,
    costUsd: terminal.costUsd,
    turns: terminal.summary.turns,
  }
  if (terminal.reason === 'completed' || terminal.reason === 'finish_reason' || terminal.reason === 'stop_requested') {
    return {
      status: 'done',
      content: answer === '' ? '(The agent ended without a text.)' : answer,
      isError: false,
      details,
    }
  }
  const why = `The agent was stopped before it was done (${terminal.signal.toString()}).`
  const content = answer === '' ? why : `${why} Its last words were:\n\n${answer}`
  return { status: 'failed', content, isError: true, details, error: why }
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
