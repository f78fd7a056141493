import { after, type Eventually } from '../values/eventually.ts'
import { digestOf } from '../values/hash.ts'
import { isJsonObject, jsonOf } from '../values/json.ts'
import { headOf } from '../values/text.ts'
import type { ChildRun } from '../tools/tool.ts'
import { unknownOutcome, type ToolResult } from '../tools/tool-result.ts'
import type { Run } from '../run/run.ts'
import type { AgentShare } from '../run/tool-phase.ts'
import type { CallRun, PreparedCall } from '../run/call.ts'
import type { Child } from './child-run.ts'
import { agentName, toolStepName } from '../run/recorded-calls.ts'
import type { AgentCall } from './run-agent.ts'
import { agentStarted } from './call-texts.ts'

type RunningCall = Extract<PreparedCall, { readonly kind: 'run' }>

/** Whether the agent is to work in the background: one that another agent starts is waited for. */
export function isForBackground({ identity }: Run, child: Child): boolean {
  return identity.depth === 0 && child.run.background === true
}

/**
 * Answers the call at once; the agent begins when the results of the message are entered (`beginAgents`). The step holds what a resume goes on
 * inside it by, and runs nothing.
 */
export function startAgent(
  run: Run,
  prepared: RunningCall,
  call: AgentCall,
  child: Child,
  { share, digest }: { readonly share: AgentShare; readonly digest: () => string },
): Eventually<CallRun> {
  const place = { id: call.call.id, index: call.index }
  const start = (): ToolResult => startedAgent(run, call, child.run, share)
  const step = run.stepBeside<ToolResult>(toolStepName(run, place), start, {
    digest,
    intent: () => ({ starts: 'agent' }),
    onUnfinished: (intent) => (isJsonObject(intent) && intent['starts'] === 'agent' ? start() : unknownOutcome),
    sync: 'none',
  })
  return after(step, ({ value, at, durationMs }) => ({ call: prepared, result: value, at, durationMs }))
}

const longestDescription = 200

function startedAgent(
  run: Run,
  { call, index, tool, taken }: AgentCall,
  child: ChildRun,
  { agents, toolCalls }: AgentShare,
): ToolResult {
  const name = agentName(run, { id: call.id, index })
  const { agentType = tool.name, description = '', note = '' } = child
  const words = description === '' ? '' : ` (${headOf(description.replaceAll(/\s+/g, ' '), longestDescription)})`
  const id = `agent_${digestOf(run.key(name)).slice(0, 8)}`
  const agent = {
    id,
    description: `The agent ${agentType}${words}`,
    callId: call.id,
    name,
    tool: tool.name,
    input: jsonOf(taken),
    agents,
    ...(toolCalls !== Infinity && { toolCalls }),
    startedAt: run.spent.now,
    settings: run.spent.settings,
  }
  const content = agentStarted(id, (run.context.background?.atEnd ?? 'wait') === 'wait' ? 'wait' : 'stop')
  return {
    status: 'done',
    content: note === '' ? content : `${content} ${note}`,
    isError: false,
    details: { task_id: id },
    tasks: [{ type: 'started', id, description: agent.description }],
    agent,
  }
}
