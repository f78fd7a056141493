import { after, type Eventually } from '../../eventually.ts'
import { digestOf } from '../../hash.ts'
import type { StepResult } from '../../steps/steps.ts'
import { unknownOutcome, type ToolResult } from '../../tools/result.ts'
import { isAgentTool } from '../../tools/tool.ts'
import type { Run } from '../run.ts'
import { executeCall } from './execute-call.ts'
import type { ValidCall } from './inspect-call.ts'
import type { PreparedCall } from './prepare-call.ts'
import { runAgent, type AgentOutcome } from './run-agent.ts'
import type { ToolPhase } from './tool-phase.ts'

/** A call and its result, on record; not yet entered in the run. */
export interface CallRun extends Pick<StepResult<ToolResult>, 'at' | 'durationMs'> {
  readonly call: PreparedCall
  readonly result: ToolResult
  /** Set for a subagent. */
  readonly agent?: AgentOutcome
}

/** The step of one call, beside its neighbours. A call that has its answer already needs none. */
export function runCall(run: Run, phase: ToolPhase, call: PreparedCall): Eventually<CallRun> {
  if (call.kind === 'answer') {
    phase.setResult(call.index, call.result)
    return { call, result: call.result, at: 0, durationMs: 0 }
  }
  const { inspected } = call
  phase.begin(inspected.index)
  const { tool } = inspected
  const running = isAgentTool(tool)
    ? after(runAgent(run, { ...inspected, tool }), (agent): CallRun => {
        return { call, result: agent.result, at: agent.endedAt, durationMs: 0, agent }
      })
    : after(runStep(run, phase, { ...inspected, tool }), ({ value, at, durationMs }): CallRun => {
        return { call, result: value, at, durationMs }
      })
  return after(running, (ran) => {
    phase.setResult(inspected.index, ran.result)
    return ran
  })
}

function runStep(
  run: Run,
  phase: ToolPhase,
  inspected: Parameters<typeof executeCall>[1],
): Eventually<StepResult<ToolResult>> {
  const { call, tool, input, readOnly } = inspected
  const reruns = tool.onUnknownOutcome === undefined ? readOnly : tool.onUnknownOutcome === 'rerun'
  return run.stepBeside<ToolResult>(
    toolStepName(run, inspected),
    ({ idempotencyKey, emit }) => phase.early.take(call.id) ?? executeCall(run, inspected, idempotencyKey, emit),
    {
      digest: () => digestOf(`${call.name} ${JSON.stringify(input) ?? ''}`),
      intent: () => null,
      onUnfinished: reruns ? 'rerun' : () => unknownOutcome,
      sync: readOnly ? 'none' : 'intent',
    },
  )
}

/** The step of a call: by its place in the message, since services use ids twice. */
export function toolStepName({ spent }: Run, { call, index }: Pick<ValidCall, 'call' | 'index'>): string {
  return `tool:${spent.request}:${index}:${call.id}`
}
