import type { ToolUseBlock } from '../../messages.ts'
import { LeadingCalls, noEarlyStarts, type EarlyStarts } from '../../tools/early-starts.ts'
import { isAgentTool } from '../../tools/tool.ts'
import type { ToolResult } from '../../tools/result.ts'
import { inMode } from '../calls/ask-permission.ts'
import { executeCall } from '../calls/execute-call.ts'
import { inspectCall } from '../calls/inspect-call.ts'
import { toolStepName } from '../calls/recorded-calls.ts'
import type { Run } from '../run.ts'

/** Early starts for one attempt: read-only calls that rules alone allow and that no PreToolUse hook wants to see. */
export function startEarly(run: Run): EarlyStarts {
  const { tools, settings } = run.context
  if (tools.size === 0) return noEarlyStarts
  return new LeadingCalls(settings.toolConcurrency, (call, index) => startCall(run, call, index))
}

function startCall(run: Run, call: ToolUseBlock, index: number): Promise<ToolResult> | undefined {
  const { tools, hooks, permissions } = run.context
  const tool = tools.get(call.name)
  if (tool === undefined || isAgentTool(tool) || tool.concurrencySafe === false) return undefined
  if (run.ports.abort.cause !== undefined || hooks.for('beforeToolUse', call.name).length > 0) return undefined
  const inspected = inspectCall(run, call, index)
  if (inspected.kind !== 'valid' || !inspected.readOnly) return undefined
  // The key of the step that will take this over.
  const idempotencyKey = `${run.identity.sessionId}/${run.key(toolStepName(run, { id: call.id, index }))}`
  const request = inMode(run, { call, tool, readOnly: true })
  try {
    if (permissions.denies(request) !== undefined) return undefined
    const decision = permissions.decide(request)
    if (decision instanceof Promise || decision.behavior !== 'allow' || 'updatedInput' in decision) return undefined
  } catch {
    // The call's own step will ask again and tell of it.
    return undefined
  }
  const work = Promise.resolve(executeCall(run, { ...inspected, tool }, idempotencyKey, run.emit))
  // Nobody may come to take it over: a rejection is handled from the start.
  work.catch(() => {})
  return work
}
