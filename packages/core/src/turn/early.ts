import type { Emit } from '../events.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import { createEarlyStarts, noEarlyStarts, type EarlyStarts } from '../tools/early-starts.ts'
import { isAgentTool } from '../tools/tool.ts'
import { executeCall } from './execute-call.ts'
import { checkInput, isReadOnly } from './inspect-call.ts'
import { keyOf, toolStepName } from './keys.ts'

/** Early starts for one attempt: read-only calls that rules alone allow and that no PreToolUse hook wants to see. */
export function startEarly(state: RunState, ports: Ports, emit: Emit): EarlyStarts {
  if (ports.tools.size === 0) return noEarlyStarts
  return createEarlyStarts(ports.settings.toolConcurrency, (call, index) => {
    const tool = ports.tools.get(call.name)
    if (tool === undefined || isAgentTool(tool) || tool.concurrencySafe === false) return undefined
    if (ports.abort.cause !== undefined || ports.hooks.for('beforeToolUse', call.name).length > 0) return undefined
    const checked = checkInput(tool, call.input)
    if (!checked.valid || !isReadOnly(tool, checked.input)) return undefined
    // The key of the step that will take this over.
    const idempotencyKey = `${state.run.sessionId}/${keyOf(state, toolStepName(state, index, call.id))}`
    const request = { call, tool, readOnly: true }
    try {
      if (ports.permissions.denies(request) !== undefined) return undefined
      const decision = ports.permissions.decide(request)
      if (decision instanceof Promise || decision.behavior !== 'allow' || 'updatedInput' in decision) return undefined
    } catch {
      // The call's own step will ask again and tell of it.
      return undefined
    }
    const work = Promise.resolve(executeCall({ call, tool, input: checked.input, idempotencyKey }, state, ports, emit))
    // Nobody may come to take it over: a rejection is handled from the start.
    work.catch(() => {})
    return work
  })
}
