import { isThenable } from '../values/settle.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { calledTool } from '../tools/definitions.ts'
import { decisionOf, type PermissionDecision } from '../permissions/permission-decision.ts'
import { allowAll, type Permissions } from '../tools/permissions.ts'
import type { ToolResult } from '../tools/tool-result.ts'
import { isAgentTool, type AnyLeafTool } from '../tools/tool.ts'
import { askRules, requestOf, mayNeedApproval } from './ask-permission.ts'
import {
  type InspectedCall,
  type ValidCall,
  EarlyStarts,
  noEarlyStarts,
  type EarlyInspector,
} from '../run/tool-phase.ts'
import { toolStepName, type Run } from '../run/run.ts'
import { callsLeft } from '../run/limit-use.ts'
import { executeCall } from './run-call.ts'
import { inspectCall, runsAlone } from './inspect-call.ts'

/** Early starts for one attempt: read-only calls that rules alone allow and that no PreToolUse hook needs to see. */
export function startEarly(run: Run): EarlyStarts {
  const { tools, settings } = run.context
  if (tools.size === 0) return noEarlyStarts
  return new EarlyStarts(Math.min(settings.toolConcurrency, callsLeft(run)), new EarlyInspection(run))
}

class EarlyInspection implements EarlyInspector {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  inspect(call: ToolUseBlock, index: number): InspectedCall | undefined {
    return inspectEarly(this.#run, call, index)
  }
}

function inspectEarly(run: Run, call: ToolUseBlock, index: number): InspectedCall | undefined {
  const { hooks, permissions } = run.context
  const tool = calledTool(call.name, run.context)
  if (tool === undefined || isAgentTool(tool) || runsAlone(tool)) return undefined
  if (tool.asksModel === true || tool.waits === true || mayNeedApproval(tool)) return undefined
  if (run.ports.abort.causeNow() !== undefined || hooks.for('beforeToolUse', tool.name).length > 0) return undefined
  const inspected = inspectCall(run, call, index)
  if (inspected.kind !== 'valid' || !inspected.readOnly) return inspected
  if (permissions === allowAll) return { ...inspected, started: start(run, inspected, tool) }
  if (asksModel(permissions, inspected)) return inspected
  const { rulesAnswer: answer, decision } = rulesOn(run, inspected)
  const isAllowed = decision?.behavior === 'allow' && decision.updatedInput === undefined
  return isAllowed
    ? { ...inspected, earlyDecision: answer, started: start(run, inspected, tool) }
    : { ...inspected, earlyDecision: answer }
}

/** Whether the rules may ask a model about the call. That must not cost a model request while the message is still incomplete. */
function asksModel(permissions: Permissions, inspected: ValidCall): boolean {
  try {
    return permissions.onlyInTurn?.(requestOf(inspected)) === true
  } catch {
    return true
  }
}

interface EarlyVerdict {
  /** The answer of the rules, stored for the call's own step so that the rules are not called twice. */
  readonly rulesAnswer: unknown
  /** The decision, if the rules answered synchronously. */
  readonly decision?: PermissionDecision
}

function rulesOn(run: Run, inspected: ValidCall): EarlyVerdict {
  let answer: unknown
  try {
    answer = askRules(run, requestOf(inspected))
    if (!isThenable(answer)) {
      const decision = decisionOf(answer)
      return { rulesAnswer: decision, decision }
    }
  } catch (error) {
    answer = Promise.reject(error)
  }
  ignoreRejection(answer)
  return { rulesAnswer: answer }
}

function start(run: Run, inspected: ValidCall, tool: AnyLeafTool): Promise<ToolResult> {
  // The key of the step that will reuse this work.
  const { call, index } = inspected
  const idempotencyKey = `${run.identity.sessionId}/${run.key(toolStepName(run, { id: call.id, index }))}`
  const work = Promise.resolve(executeCall(run, inspected, tool, { idempotencyKey, emit: run.emit }))
  // The work may never be reused, so a rejection is handled from the start.
  work.catch(() => {})
  return work
}
