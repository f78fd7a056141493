import type { AbortCause } from '../values/abort.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { permissionChange } from '../state/settings-change.ts'
import type { PermissionDecision } from '../permissions/permission-decision.ts'
import { allowAll, type PermissionRequest } from '../tools/permissions.ts'
import { abortedResult, denied, invalidCallResult, notRun, type ToolResult } from '../tools/tool-result.ts'
import { isAgentTool } from '../tools/tool.ts'
import { settingsAtCall } from '../run/cancellation-points.ts'
import type { Run } from '../run/run.ts'
import { runToolHooks, type HookRun } from '../request/run-hooks.ts'
import { agentShare, refuseAgent } from './child-run.ts'
import {
  decidePermission,
  decisionPosition,
  denyByRules,
  denyUpdated,
  requestOf,
  mayNeedApproval,
} from './ask-permission.ts'
import type { InspectedCall, PreparedCall, ValidCall, ToolPhase } from '../run/tool-phase.ts'
import { precheckOf } from './run-call.ts'
import { inspectInput } from './inspect-call.ts'
import { notRunReasons } from '../tools/result-texts.ts'
import { inputChangedByHook } from './call-texts.ts'

// Spec R-SET-4c.
/** Prepares a call. The settings from before the run continued decide about an undecided call from the record. */
export function prepareCall(
  run: Run,
  phase: ToolPhase,
  inspected: InspectedCall,
): MaybePromise<PreparedCall | 'pending'> {
  if (!phase.startedInReplay) return judgeCall(run, phase, inspected)
  const place = { id: inspected.call.id, index: inspected.index }
  const position = decisionPosition(run, place, phase.callStart(inspected.index))
  return andThen(settingsAtCall(run, place, position), () => judgeCall(run, phase, inspected))
}

// Spec R-PERM-1.
/** Decides about a call, in this order: input, deny rules, beforeToolUse hooks, deny rules again, ask rules, mode, allow rules, the person. */
function judgeCall(run: Run, phase: ToolPhase, inspected: InspectedCall): MaybePromise<PreparedCall | 'pending'> {
  const { call } = inspected
  run.emit({ type: 'tool_start', callId: call.id, name: call.name, input: call.input })
  if (inspected.kind === 'invalid') return invalidCall(phase, inspected, inspected.message)
  const hasHooks = run.context.hooks.for('beforeToolUse', call.name).length > 0
  if (!hasHooks)
    return run.context.permissions === allowAll && !mayNeedApproval(inspected.tool)
      ? readyCall(run, phase, inspected)
      : permit(run, phase, inspected)
  return andThen(denyByRules(run, inspected, phase.callStart(inspected.index)), (message) =>
    message === undefined ? askHooks(run, phase, inspected) : deny(run, inspected, message),
  )
}

function askHooks(run: Run, phase: ToolPhase, inspected: ValidCall): MaybePromise<PreparedCall | 'pending'> {
  const { call, index } = inspected
  const subject = { toolCall: call, callIndex: index }
  return andThen(runToolHooks(run, 'beforeToolUse', subject, phase.callStart(index)), (hooks) => {
    phase.addMessages(hooks.messages)
    for (const { hook, signal } of hooks.raised) phase.addStop({ index, signal, origin: 'hook', hook, callId: call.id })
    const verdict = verdictOf(hooks)
    if (verdict.blocked !== undefined) return deny(run, inspected, verdict.blocked)
    if (verdict.aborted !== undefined) {
      return answeredWithoutRunning(inspected, abortedResult(verdict.aborted, 'settled'))
    }
    if (hooks.raised.length > 0) return answeredWithoutRunning(inspected, notRun(notRunReasons.hookStopped))
    const changed = verdict.input === undefined ? inspected : withInput(inspected, verdict.input.value)
    if (changed.kind === 'invalid') return invalidCall(phase, changed, inputChangedByHook(changed.message))
    return permit(run, phase, changed, verdict.permission)
  })
}

interface HookVerdict {
  readonly blocked: string | undefined
  readonly permission: PermissionRequest['hookDecision']
  readonly input: { readonly value: unknown } | undefined
  readonly aborted: AbortCause | undefined
}

/** Combines the decisions of several hooks: deny takes precedence over defer, then ask, then allow. The last changed input applies. */
function verdictOf(hooks: HookRun): HookVerdict {
  const outcomes = hooks.outcomes.map(({ outcome }) => outcome)
  return {
    blocked: outcomes.find((outcome) => outcome.blocked !== undefined)?.blocked,
    permission: weightOfDecision.find((permission) => outcomes.some((outcome) => outcome.permission === permission)),
    input: outcomes.findLast((outcome) => outcome.input !== undefined)?.input,
    aborted: outcomes.find((outcome) => outcome.aborted !== undefined)?.aborted,
  }
}

const weightOfDecision = ['defer', 'ask', 'allow'] as const

function withInput(inspected: ValidCall, input: unknown): InspectedCall {
  const { call, tool } = inspected
  return inspectInput(tool, { ...call, input }, inspected)
}

/** Applies rules and mode, and asks the person. `pending`: a person must decide, and the run does not wait. */
function permit(
  run: Run,
  phase: ToolPhase,
  inspected: ValidCall,
  hookDecision?: PermissionRequest['hookDecision'],
): MaybePromise<PreparedCall | 'pending'> {
  const permissionRequest = requestOf(inspected)
  const request = hookDecision === undefined ? permissionRequest : { ...permissionRequest, hookDecision }
  const precheck = precheckOf(run, inspected, phase.memos)
  const full = precheck === undefined ? request : { ...request, precheck }
  return andThen(decidePermission(run, inspected, full, phase.callStart(inspected.index)), (decision) =>
    enterDecision(run, phase, inspected, decision),
  )
}

function enterDecision(
  run: Run,
  phase: ToolPhase,
  inspected: ValidCall,
  decision: PermissionDecision,
): MaybePromise<PreparedCall | 'pending'> {
  const { call } = inspected
  switch (decision.behavior) {
    case 'ask': {
      const { message } = decision
      run.emit({ type: 'approval_needed', callId: call.id, name: call.name, input: call.input, message, key: null })
      phase.addPending({ call, message })
      return 'pending'
    }
    case 'fail':
      return failedCall(phase, inspected, decision.message)
    case 'deny':
      // Applies to a recorded answer too: the process may have ended before the abort was recorded.
      if (decision.interrupt === true) run.ports.interrupt()
      return deny(run, inspected, decision.message)
    case 'allow': {
      if (decision.updatedPermissions !== undefined) run.set(permissionChange(decision.updatedPermissions))
      const { updatedInput, confined } = decision
      const asAllowed = (valid: ValidCall): ValidCall => (confined === undefined ? valid : { ...valid, confined })
      if (updatedInput === undefined) return readyCall(run, phase, asAllowed(inspected))
      const changed = withInput(inspected, updatedInput)
      if (changed.kind === 'invalid') return invalidCall(phase, changed, changed.message)
      return andThen(denyUpdated(run, changed, phase.callStart(inspected.index)), (message) =>
        // Events and hooks retain the call as the model made it.
        message === undefined ? readyCall(run, phase, asAllowed({ ...changed, call })) : deny(run, changed, message),
      )
    }
  }
}

function readyCall(run: Run, phase: ToolPhase, inspected: ValidCall): MaybePromise<PreparedCall> {
  const { call, index } = inspected
  const recorded = phase.recorded(index)
  const isAgent = isAgentTool(inspected.tool)
  // For a tool that starts agents, a recorded step of the call means that the agent runs in the background.
  if (recorded === 'agent' && !isAgent) return { kind: 'recorded', call, index }
  if (!isAgent || recorded !== undefined) return begin(run, phase, inspected)
  return andThen(refuseAgent(run, { id: call.id, index }), (message) =>
    message === undefined
      ? begin(run, phase, inspected)
      : answeredWithoutRunning(inspected, invalidCallResult(message)),
  )
}

function begin(run: Run, phase: ToolPhase, inspected: ValidCall): PreparedCall {
  if (phase.recorded(inspected.index) === undefined && phase.batchEnd === 'passed')
    return answeredWithoutRunning(inspected, notRun(notRunReasons.skipped))
  if (isAgentTool(inspected.tool)) {
    // The limits for descendants are divided before any call of this message counts.
    agentShare(run, phase)
    run.update({ subagents: run.spent.subagents + 1 })
  }
  return { kind: 'run', inspected }
}

/** The call is not run. If a record shows that it ran before, the recorded result applies. */
function invalidCall(phase: ToolPhase, inspected: InspectedCall, message: string): PreparedCall {
  const { call, index } = inspected
  return phase.recorded(index) === undefined
    ? answeredWithoutRunning(inspected, invalidCallResult(message))
    : { kind: 'recorded', call, index }
}

/** Returns the error that its tool would return, without asking a person. Hooks and the error policy treat it like the error of the tool. */
function failedCall(phase: ToolPhase, { call, index }: InspectedCall, message: string): PreparedCall {
  if (phase.recorded(index) !== undefined) return { kind: 'recorded', call, index }
  return { kind: 'answer', call, index, result: { status: 'failed', content: message, isError: true } }
}

function answeredWithoutRunning({ call, index }: InspectedCall, result: ToolResult): PreparedCall {
  return { kind: 'answer', call, index, result }
}

function deny(run: Run, inspected: InspectedCall, message: string): PreparedCall {
  const { call } = inspected
  run.emit({ type: 'permission_denied', callId: call.id, name: call.name, input: call.input, message })
  return answeredWithoutRunning(inspected, denied(message))
}
