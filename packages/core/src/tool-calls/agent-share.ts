import { after, type Eventually } from '../values/eventually.ts'
import { calledTool } from '../tools/called-tool.ts'
import { isAgentTool } from '../tools/tool.ts'
import { agentsTaken } from '../state/agent-figures.ts'
import type { Run } from '../run/run.ts'
import { callsLeft } from './call-limit.ts'
import type { AgentShare, ToolPhase } from '../run/tool-phase.ts'
import { agentLimitReached, noAgentsAtDepth } from './call-texts.ts'

// Spec R-SUB-3, R-CALLS-3.
/**
 * What each agent of this message may use: what is left after the calls of the message, in equal parts. It is the same whatever runs beside what, so a
 * replay agrees; and all levels together stay within the limits of the run.
 */
export function agentShare(run: Run, phase: ToolPhase): AgentShare {
  return (phase.agentShare ??= shareOf(run, phase))
}

/** Of one that works beside the run: what is left for later messages is not all taken. */
export function shareBeside({ agents, toolCalls }: AgentShare): AgentShare {
  return { agents: Math.floor(agents / 2), toolCalls: toolCalls === Infinity ? Infinity : Math.floor(toolCalls / 2) }
}

function shareOf(run: Run, { calls, allowedCalls }: ToolPhase): AgentShare {
  const { context, spent } = run
  const asked = calls.filter(({ name }) => {
    const tool = calledTool(name, context)
    return tool !== undefined && isAgentTool(tool)
  }).length
  const agents = context.settings.maxSubagents - agentsTaken(spent) - asked
  const toolCalls = callsLeft(run) - Math.min(calls.length, allowedCalls)
  const part = (left: number): number => (left === Infinity ? left : Math.max(0, Math.floor(left / Math.max(1, asked))))
  return { agents: asked === 0 ? 0 : part(agents), toolCalls: part(toolCalls) }
}

/**
 * Why a call that wants to start an agent may not; undefined when it may. In a subagent a no is on record, as a resume replays all its
 * turns: under other limits it is still a no there, and what was let start still starts.
 */
export function refuseAgent(
  run: Run,
  call: { readonly id: string; readonly index: number },
): Eventually<string | undefined> {
  const { depth } = run.identity
  if (depth === 0) return refusal(run)
  const name = `agent_limit:${run.spent.request}:${call.index}:${call.id}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && run.turnEnd === 'passed') return undefined
  const message = refusal(run)
  if (!isRecorded && message === undefined) return undefined
  return after(
    run.step<string>(name, () => message ?? ''),
    ({ value }) => value,
  )
}

function refusal({ context, spent, identity }: Run): string | undefined {
  const { maxSubagents, maxSubagentDepth } = context.settings
  if (maxSubagentDepth === 0 && maxSubagents > 0) return noAgentsAtDepth(identity.depth)
  if (agentsTaken(spent) < maxSubagents) return undefined
  return agentLimitReached(maxSubagents, identity.depth === 0 ? 'run' : 'agent', spent.subagents < maxSubagents)
}
