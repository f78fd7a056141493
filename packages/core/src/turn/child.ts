import { createAbortScope } from '../cancel/abort.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { ToolUseBlock } from '../messages.ts'
import { StepsLimitHook } from '../guards/limits.ts'
import { closedInbox } from '../inbox.ts'
import type { HookTrigger } from '../hooks/outcome.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import type { Ended, Ports } from '../ports.ts'
import { lastAnswer } from '../sdk/result.ts'
import {
  freshSpent,
  startState,
  withModelUsage,
  withSpent,
  type RunIdentity,
  type RunState,
  type Spent,
} from '../state.ts'
import { Transcript } from '../transcript.ts'
import { interrupted, type ToolResult } from '../tools/result.ts'
import { isAgentTool, type AnyAgentTool, type ChildRun } from '../tools/tool.ts'
import type { ChildOutcome } from './calls.ts'
import { sayUser } from './flow.ts'
import { createProgress } from './progress.ts'
import { toolDefinitionsOf } from '../tools/definitions.ts'

type ChildCall = {
  readonly call: ToolUseBlock
  readonly index: number
  readonly tool: AnyAgentTool
  readonly input: unknown
}

/** A subagent: the same loop under the parent's Steps and ledger, aborted with it (spec R-SUB-1, R-SUB-5). */
export async function runChild(what: ChildCall, state: RunState, ports: Ports, emit: Emit): Promise<ChildOutcome> {
  const { call, index, tool, input } = what
  const failed = (message: string): ChildOutcome => ({
    result: { end: 'failed', content: message, isError: true, error: message },
    endedAt: state.spent.now,
    addTo: (to) => to,
  })
  let child: ChildRun
  try {
    // The input passed this tool's own check, so it is what `spawn` is written for.
    child = tool.spawn(input as never)
  } catch (error) {
    return failed(messageOf(error))
  }
  const name = `agent:${state.spent.request}:${index}:${call.id}/`
  const identity: RunIdentity = {
    ...state.run,
    agentPath: `${state.run.agentPath}${name}`,
    agentId: `${state.run.runId}/${state.run.agentPath}${name}`.slice(0, -1),
    parentCallId: call.id,
    depth: state.run.depth + 1,
  }
  const abort = createAbortScope()
  const unlink = ports.abort.onAbort((cause) => abort.abort(cause === 'time' || cause === 'budget' ? cause : 'parent'))
  const childPorts = portsOfChild(child, ports, name, abort)
  const childEmit: Emit = (event) =>
    emit({ type: 'agent', callId: call.id, agentType: child.agentType ?? tool.name, event })
  const fresh = startState(identity, Transcript.empty(), freshSpent(state.spent.now))
  childEmit({ type: 'run_start', run: identity, model: ports.model.id })
  const prompted = sayUser(fresh, child.prompt, 'prompt', childEmit)
  const ended = await ports.runLoop({ ...prompted, startLength: 0 }, childPorts, childEmit)
  unlink()
  return {
    result: resultOfChild(ended),
    endedAt: state.spent.now + ended.terminal.durationMs,
    addTo: (to) => withChildSpent(to, ended.state.spent),
  }
}

function portsOfChild(child: ChildRun, ports: Ports, name: string, abort: Ports['abort']): Ports {
  const allowed = child.tools === undefined ? undefined : new Set(child.tools)
  // A subagent starts no subagents: their number stays bounded by `maxSubagents`.
  const tools = new Map(
    [...ports.tools].filter(([toolName, tool]) => !isAgentTool(tool) && (allowed?.has(toolName) ?? true)),
  )
  const maxTurns = Math.min(child.maxTurns ?? ports.settings.maxTurns, ports.settings.maxTurns)
  const agentType = child.agentType ?? 'agent'
  return {
    ...ports,
    tools,
    toolDefinitions: toolDefinitionsOf(tools.values()),
    // Its turns are its own; every other guard looks at it too.
    guards: ports.guards.filter((guard) => !(guard instanceof StepsLimitHook)),
    stopHooks: [],
    postRun: [],
    // Hooks on tools and requests hold in subagents as well; those on the run are the main loop's.
    hooks: hooksOfChild(ports.hooks),
    steps: ports.steps.scope(name),
    inbox: closedInbox,
    progress: createProgress(),
    abort,
    ledger: ports.ledger.branch(),
    limits: { maxTurns, gateLaps: 0 },
    settings: {
      ...ports.settings,
      system: child.system ?? ports.settings.system,
      maxTurns,
      tokenBudget: null,
      wrapUp: false,
      output: null,
      maxSubagents: 0,
      querySource: agentType,
    },
  }
}

const ofTheRun: ReadonlySet<HookTrigger> = new Set(['beforeExecution', 'afterExecution', 'onStop'])

function hooksOfChild(hooks: HookRegistry): HookRegistry {
  return { all: hooks.all, for: (trigger, toolName) => (ofTheRun.has(trigger) ? [] : hooks.for(trigger, toolName)) }
}

/** The parent's model is told the child's answer, and plainly when it did not come to its end. */
function resultOfChild({ terminal, state }: Ended): ToolResult {
  if (terminal.signal.source === 'abort') {
    // Why the parent was aborted is on its own record: its next checkpoint tells.
    const { abort: _cause, ...result } = interrupted('parent', false)
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
      end: 'done',
      content: answer === '' ? '(The agent ended without a text.)' : answer,
      isError: false,
      details,
    }
  }
  const why = `The agent was stopped before it was done (${terminal.signal.toString()}).`
  const content = answer === '' ? why : `${why} Its last words were:\n\n${answer}`
  return { end: 'failed', content, isError: true, details, error: why }
}

function withChildSpent(state: RunState, child: Spent): RunState {
  const { spent } = state
  let { modelUsage } = spent
  for (const [model, { usage, nanos }] of Object.entries(child.modelUsage)) {
    modelUsage = withModelUsage(modelUsage, model, usage, nanos)
  }
  return withSpent(state, {
    modelUsage,
    totalTokens: spent.totalTokens + child.totalTokens,
    nanos: spent.nanos + child.nanos,
    unknownNanos: spent.unknownNanos + child.unknownNanos,
    subagents: spent.subagents + child.subagents,
    stillRunning: [...spent.stillRunning, ...child.stillRunning],
    now: Math.max(spent.now, child.now),
  })
}
