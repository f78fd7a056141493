import { after, type Eventually } from '../../eventually.ts'
import { calledTool } from '../../tools/called-tool.ts'
import { isAgentTool } from '../../tools/tool.ts'
import { agentsTaken } from '../../agent-figures.ts'
import type { Run } from '../run.ts'
import type { ToolPhase } from './tool-phase.ts'

/**
 * How many agents each agent of this message may start, with those below it: what is left after these, in equal parts. It is the same
 * whatever runs beside what, so a replay agrees; and all levels together stay within the number of the run (spec R-SUB-3).
 */
export function agentShare(run: Run, phase: ToolPhase): number {
  return (phase.agentShare ??= shareOf(run, phase))
}

function shareOf({ context, spent }: Run, { calls }: ToolPhase): number {
  const asked = calls.filter(({ name }) => {
    const tool = calledTool(name, context)
    return tool !== undefined && isAgentTool(tool)
  }).length
  const left = context.settings.maxSubagents - agentsTaken(spent) - asked
  return asked === 0 ? 0 : Math.max(0, Math.floor(left / asked))
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
  if (maxSubagentDepth === 0 && maxSubagents > 0)
    return `Subagents start no further ones at this depth (${identity.depth}). Do the work yourself.`
  if (agentsTaken(spent) < maxSubagents) return undefined
  const whose = identity.depth === 0 ? 'This run' : 'This agent'
  const until = spent.subagents < maxSubagents ? ' until those that work in the background have ended' : ''
  return `${whose} may start ${maxSubagents} subagents, and they are used up${until}. Do the work yourself.`
}
