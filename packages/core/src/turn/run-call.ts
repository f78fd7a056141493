import type { Emit } from '../events.ts'
import { digestOf } from '../hash.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { unknownOutcome, type ToolResult } from '../tools/result.ts'
import { isAgentTool } from '../tools/tool.ts'
import type { CallRun, PreparedCall } from './calls.ts'
import { runChild } from './child.ts'
import { executeCall } from './execute-call.ts'
import { isReadOnly } from './inspect-call.ts'
import { keyOf, toolStepName } from './keys.ts'

/** The step of one call. A call that has its answer already needs none. */
export async function runCall(prepared: PreparedCall, state: RunState, early: EarlyStarts, ports: Ports, emit: Emit): Promise<CallRun> {
  const { call, index } = prepared
  if (prepared.kind === 'answer') return { ...prepared, at: 0, durationMs: 0, child: null }
  const { tool, input } = prepared
  const name = toolStepName(state, index, call.id)
  if (isAgentTool(tool)) {
    const child = await runChild({ call, index, tool, input }, state, ports, emit)
    return { ...prepared, result: child.result, at: child.endedAt, durationMs: 0, child }
  }
  const leaf = tool
  const readOnly = isReadOnly(leaf, input)
  const reruns = leaf.onUnknownOutcome === undefined ? readOnly : leaf.onUnknownOutcome === 'rerun'
  const step = await ports.steps.run<ToolResult>(
    keyOf(state, name),
    (scope) => early.take(call.id) ?? executeCall({ call, tool: leaf, input, idempotencyKey: scope.idempotencyKey }, state, ports, scope.emit),
    {
      signal: ports.abort.signal,
      emit,
      digest: () => digestOf(`${call.name} ${JSON.stringify(input) ?? ''}`),
      intent: () => null,
      onOpen: reruns ? 'rerun' : () => unknownOutcome,
      sync: readOnly ? 'none' : 'intent',
    },
  )
  return { ...prepared, result: step.value, at: step.at, durationMs: step.durationMs, child: null }
}
