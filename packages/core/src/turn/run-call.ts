import type { Emit } from '../events.ts'
import { digestOf } from '../hash.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import type { StepResult } from '../steps/steps.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { unknownOutcome, type ToolResult } from '../tools/result.ts'
import { isAgentTool } from '../tools/tool.ts'
import type { ChildOutcome, PreparedCall } from './calls.ts'
import { runChild } from './child.ts'
import { executeCall } from './execute-call.ts'
import { isReadOnly } from './inspect-call.ts'
import { keyOf, toolStepName } from './keys.ts'

/** What a call came to, and when. */
export type Ran = Pick<StepResult<ToolResult>, 'value' | 'at' | 'durationMs'> & { readonly child?: ChildOutcome }

/** The step of one call. A call that has its answer already needs none. */
export function runCall(
  prepared: PreparedCall,
  state: RunState,
  early: EarlyStarts,
  ports: Ports,
  emit: Emit,
): Ran | Promise<Ran> {
  if (prepared.kind === 'answer') return { value: prepared.result, at: 0, durationMs: 0 }
  const { call, index, tool, input } = prepared
  ports.progress.begun.add(call.id)
  if (isAgentTool(tool)) return runAgent({ call, index, tool, input }, state, ports, emit)
  const readOnly = isReadOnly(tool, input)
  const reruns = tool.onUnknownOutcome === undefined ? readOnly : tool.onUnknownOutcome === 'rerun'
  return ports.steps.run<ToolResult>(
    keyOf(state, toolStepName(state, index, call.id)),
    ({ idempotencyKey, emit: live }) =>
      early.take(call.id) ?? Promise.resolve(executeCall({ call, tool, input, idempotencyKey }, state, ports, live)),
    {
      signal: ports.abort.signal,
      emit,
      digest: () => digestOf(`${call.name} ${JSON.stringify(input) ?? ''}`),
      intent: () => null,
      onOpen: reruns ? 'rerun' : () => unknownOutcome,
      sync: readOnly ? 'none' : 'intent',
    },
  )
}

async function runAgent(what: Parameters<typeof runChild>[0], state: RunState, ports: Ports, emit: Emit): Promise<Ran> {
  const child = await runChild(what, state, ports, emit)
  return { value: child.result, at: child.endedAt, durationMs: 0, child }
}
