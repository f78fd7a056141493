import { after, type Eventually } from '../../eventually.ts'
import { digestOf } from '../../hash.ts'
import type { StepResult } from '../../steps/steps.ts'
import { unknownOutcome, type ToolResult } from '../../tools/tool-result.ts'
import { isAgentTool, type AnyLeafTool } from '../../tools/tool.ts'
import type { Run } from '../run.ts'
import { agentShare } from './agent-share.ts'
import type { AgentOutcome, CallRun, PreparedCall, ValidCall } from './call.ts'
import { executeCall } from './execute-call.ts'
import { lostAgent } from './lost-agent.ts'
import { agentName, toolStepName } from './recorded-calls.ts'
import { runAgent } from './run-agent.ts'
import type { ToolPhase } from './tool-phase.ts'

/** Runs one call as a step, beside the others of its batch. A call that has its result already needs no step. */
export function runCall(run: Run, phase: ToolPhase, call: PreparedCall): Eventually<CallRun> {
  if (call.kind === 'answer') return phase.addRan({ call, result: call.result, at: 0, durationMs: 0 })
  if (call.kind === 'recorded') return answerFromRecord(run, phase, call)
  const { inspected } = call
  phase.begin(inspected.index)
  const { tool } = inspected
  const isRecorded = phase.recorded(inspected.index) !== undefined
  const running = isAgentTool(tool)
    ? after(runAgent(run, { ...inspected, tool }, { agents: agentShare(run, phase), isRecorded }), (agent) =>
        ranAs(call, agent),
      )
    : after(runStep(run, phase, inspected, tool), ({ value, at, durationMs }): CallRun => {
        return { call, result: value, at, durationMs }
      })
  return after(running, (ran) => phase.addRan(ran))
}

function ranAs(call: PreparedCall, agent: AgentOutcome): CallRun {
  return { call, result: agent.result, at: agent.endedAt, durationMs: 0, agent }
}

/** Runs nothing: the record has the result, or shows that the outcome is unknown. */
function answerFromRecord(
  run: Run,
  phase: ToolPhase,
  call: Extract<PreparedCall, { readonly kind: 'recorded' }>,
): Eventually<CallRun> {
  const place = { id: call.call.id, index: call.index }
  if (phase.recorded(call.index) === 'agent') return phase.addRan(ranAs(call, lostAgent(run, agentName(run, place))))
  const unknown = (): ToolResult => unknownOutcome
  const step = run.stepBeside<ToolResult>(toolStepName(run, place), unknown, {
    digest: () => digestOfCall(phase, call.index),
    intent: () => null,
    onUnfinished: unknown,
    sync: 'none',
  })
  return after(step, ({ value, at, durationMs }) => phase.addRan({ call, result: value, at, durationMs }))
}

/** A digest of the call as the model made it. Changes by hooks and rules are not in it: they may differ after a resume (spec R-RES-12). */
function digestOfCall({ calls }: ToolPhase, index: number): string {
  const call = calls[index]
  return digestOf(`${call?.name ?? ''} ${JSON.stringify(call?.input) ?? ''}`)
}

function runStep(
  run: Run,
  phase: ToolPhase,
  inspected: ValidCall,
  tool: AnyLeafTool,
): Eventually<StepResult<ToolResult>> {
  const { call, index, readOnly, started } = inspected
  const reruns = tool.onUnknownOutcome === undefined ? readOnly : tool.onUnknownOutcome === 'rerun'
  return run.stepBeside<ToolResult>(
    toolStepName(run, { id: call.id, index }),
    ({ idempotencyKey, emit }) => started ?? executeCall(run, inspected, tool, idempotencyKey, emit),
    {
      digest: () => digestOfCall(phase, index),
      intent: () => null,
      onUnfinished: reruns ? 'rerun' : () => unknownOutcome,
      sync: readOnly ? 'none' : 'intent',
    },
  )
}
