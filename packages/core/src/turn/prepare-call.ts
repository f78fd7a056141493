import type { AbortCause } from '../cancel/abort.ts'
import { settleWithin } from '../cancel/settle.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { MessageContent, ToolUseBlock } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, withSpent, type RunState } from '../state.ts'
import type { PermissionDecision } from '../tools/permission-decision.ts'
import { allowAll, type PermissionRequest } from '../tools/permissions.ts'
import { denied, interrupted, invalid, notRun, type ToolResult } from '../tools/result.ts'
import { isAgentTool, type AnyTool } from '../tools/tool.ts'
import type { IndexedCall, PreparedCall, RaisedStop } from './calls.ts'
import { checkInput, isReadOnly } from './inspect-call.ts'
import { keyOf } from './keys.ts'
import { runHooks, withSignalsHeld, type HookRun } from './run-hooks.ts'

export interface Preparation {
  readonly state: RunState
  readonly prepared: PreparedCall | { readonly kind: 'pending'; readonly message: string }
  readonly messages: readonly MessageContent[]
  readonly stops: readonly RaisedStop[]
}

/** Input → deny rules → PreToolUse hooks → deny rules again → ask rules, mode, allow rules → the person (spec R-PERM-1). */
export function prepareCall(
  indexed: IndexedCall,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Preparation | Promise<Preparation> {
  const { call, index } = indexed
  emit({ type: 'tool_start', callId: call.id, name: call.name, input: call.input })
  const tool = ports.tools.get(call.name)
  if (tool === undefined) return answered(indexed, state, invalid(unknownTool(call.name, ports)))
  const checked = checkInput(tool, call.input)
  if (!checked.valid) return answered(indexed, state, invalid(checked.message))
  const what = { call, index, tool, input: checked.input }
  if (ports.permissions === allowAll && ports.hooks.for('beforeToolUse', call.name).length === 0) {
    return overAgentLimit(what, state, ports, nothingBeside) ?? ready(what, state, nothingBeside)
  }
  return asked(what, state, ports, emit)
}

/** With hooks and rules. */
async function asked(what: Checked, state: RunState, ports: Ports, emit: Emit): Promise<Preparation> {
  const { call, index, tool, input: checked } = what
  const answer = (from: RunState, result: ToolResult, beside?: Beside): Preparation =>
    answered(what, from, result, beside)
  const early = await rulesDeny(call, tool, checked, state, ports, emit)
  if (early.message !== undefined) return answer(early.state, deny(call, early.message, emit))

  const hooks = await runHooks('beforeToolUse', early.state, ports, emit, { toolCall: call, callIndex: index })
  const verdict = verdictOf(hooks, call, index)
  const hooked = withSignalsHeld(hooks, early.state)
  const more = { messages: hooks.messages, stops: verdict.stops }
  if (verdict.blocked !== undefined) return answer(hooked, deny(call, verdict.blocked, emit), more)
  if (verdict.aborted !== undefined) return answer(hooked, interrupted(verdict.aborted, false), more)
  if (verdict.stops.length > 0) return answer(hooked, notRun('a hook stopped the run before this call'), more)

  const input =
    verdict.input === undefined ? { valid: true as const, input: checked } : checkInput(tool, verdict.input.value)
  if (!input.valid) return answer(hooked, invalid(`A hook changed the input. ${input.message}`), more)
  const changed = verdict.input === undefined ? call : { ...call, input: verdict.input.value }
  return permitted({ call: changed, index, tool, input: input.input }, hooked, verdict, ports, emit, more)
}

interface HookVerdict {
  readonly stops: readonly RaisedStop[]
  readonly blocked: string | undefined
  readonly permission: 'allow' | 'ask' | undefined
  readonly input: { readonly value: unknown } | undefined
  readonly aborted: AbortCause | undefined
}

/** Across hooks: deny > ask > allow; the last changed input counts. */
function verdictOf(hooks: HookRun, call: ToolUseBlock, index: number): HookVerdict {
  const stops = hooks.raised.map(({ hook, signal }): RaisedStop => ({
    index,
    signal,
    origin: 'hook',
    hook,
    callId: call.id,
  }))
  const outcomes = hooks.outcomes.map(({ outcome }) => outcome)
  return {
    stops,
    blocked: outcomes.find((outcome) => outcome.blocked !== undefined)?.blocked,
    permission: outcomes.some((outcome) => outcome.permission === 'ask')
      ? 'ask'
      : outcomes.find((outcome) => outcome.permission)?.permission,
    input: outcomes.findLast((outcome) => outcome.input !== undefined)?.input,
    aborted: outcomes.find((outcome) => outcome.aborted !== undefined)?.aborted,
  }
}

type Beside = Pick<Preparation, 'messages' | 'stops'>

const nothingBeside: Beside = Object.freeze({ messages: [], stops: [] })

function answered(
  { call, index }: IndexedCall,
  state: RunState,
  result: ToolResult,
  beside: Beside = nothingBeside,
): Preparation {
  return { ...beside, state, prepared: { kind: 'answer', call, index, result } }
}

function ready({ call, index, tool, input }: Checked, state: RunState, beside: Beside): Preparation {
  const shares = isAgentTool(tool)
    ? tool.concurrencySafe === true
    : isReadOnly(tool, input) && tool.concurrencySafe !== false
  return {
    ...beside,
    state: withAgentCounted(state, tool),
    prepared: { kind: 'run', call, index, tool, input, shares },
  }
}

function overAgentLimit(what: Checked, state: RunState, { settings }: Ports, beside: Beside): Preparation | undefined {
  if (!isAgentTool(what.tool) || state.spent.subagents < settings.maxSubagents) return undefined
  const message = `This run may start ${settings.maxSubagents} subagents, and they are used up. Do the work yourself.`
  return answered(what, state, invalid(message), beside)
}

type Checked = { readonly call: ToolUseBlock; readonly index: number; readonly tool: AnyTool; readonly input: unknown }

async function permitted(
  what: Checked,
  state: RunState,
  verdict: HookVerdict,
  ports: Ports,
  emit: Emit,
  beside: Beside,
): Promise<Preparation> {
  const { call, index, tool, input } = what
  const readOnly = isReadOnly(tool, input)
  const request: PermissionRequest =
    verdict.permission === undefined
      ? { call, tool, readOnly }
      : { call, tool, readOnly, hookDecision: verdict.permission }
  const key = keyOf(state, `permission:${state.spent.request}:${index}:${call.id}`)
  const step = await ports.steps.run<PermissionDecision>(key, async () => decideInTime(request, ports), {
    signal: ports.abort.signal,
    emit,
    onOpen: 'rerun',
    sync: 'none',
  })
  const current = at(state, step)
  const decision =
    step.value.behavior === 'ask' ? await approval(step.value.message, what, current, ports, emit) : step.value
  if (decision === undefined) {
    const message = step.value.behavior === 'ask' ? step.value.message : ''
    emit({ type: 'approval_needed', callId: call.id, name: call.name, input: call.input, message, key: null })
    return { ...beside, state: current, prepared: { kind: 'pending', message } }
  }
  if (decision.behavior !== 'allow') return answered(what, current, deny(call, decision.message, emit), beside)
  const updated = 'updatedInput' in decision && decision.updatedInput !== undefined
  const rechecked = updated ? checkInput(tool, decision.updatedInput) : { valid: true as const, input }
  if (!rechecked.valid) return answered(what, current, invalid(rechecked.message), beside)
  const final = { ...what, input: rechecked.input }
  return overAgentLimit(final, current, ports, beside) ?? ready(final, current, beside)
}

function withAgentCounted(state: RunState, tool: AnyTool): RunState {
  return isAgentTool(tool) ? withSpent(state, { subagents: state.spent.subagents + 1 }) : state
}

/** A dialog may stand open when the run is aborted: nobody waits for it then. */
function decideInTime(request: PermissionRequest, ports: Ports): PermissionDecision | Promise<PermissionDecision> {
  const { abort, settings, timers } = ports
  return settleWithin(
    () => decide(request, ports),
    abort,
    settings.graceMs,
    timers,
    (settled) => (settled.kind === 'value' ? settled.value : { behavior: 'deny', message: 'Interrupted by user' }),
  )
}

/** A rule set that throws denies: nothing runs that nobody allowed. */
async function decide(request: PermissionRequest, ports: Ports): Promise<PermissionDecision> {
  try {
    const message = ports.permissions.denies(request)
    if (message !== undefined) return { behavior: 'deny', message }
    const decision = await ports.permissions.decide(request)
    // Across hooks and rules: deny > ask > allow.
    const hookAsks = request.hookDecision === 'ask' && decision.behavior === 'allow'
    return hookAsks ? { behavior: 'ask', message: 'A hook wants a person to approve this call.' } : decision
  } catch (error) {
    return { behavior: 'deny', message: `The permission rules failed: ${messageOf(error)}` }
  }
}

/** Deny rules on the model's own input, before any hook sees the call. On record, so that other rules later do not change the past. */
async function rulesDeny(call: ToolUseBlock, tool: AnyTool, input: unknown, state: RunState, ports: Ports, emit: Emit) {
  if (ports.permissions === allowAll || ports.hooks.for('beforeToolUse', call.name).length === 0)
    return { state, message: undefined }
  const request: PermissionRequest = { call, tool, readOnly: isReadOnly(tool, input) }
  const key = keyOf(state, `rules:${state.spent.request}:${call.id}`)
  const step = await ports.steps.run<{ readonly message?: string }>(
    key,
    async () => {
      try {
        const message = ports.permissions.denies(request)
        return message === undefined ? {} : { message }
      } catch (error) {
        return { message: `The permission rules failed: ${messageOf(error)}` }
      }
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
  return { state: at(state, step), message: step.value.message }
}

/** Asks the person through Steps; undefined when nobody is there to wait for. */
async function approval(
  message: string,
  { call, index }: Checked,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Promise<PermissionDecision | undefined> {
  const given = state.spent.approvals?.[call.id]
  if (given !== undefined) return given
  if (ports.settings.onAsk === 'end') return undefined
  const key = keyOf(state, `approval:${state.spent.request}:${index}:${call.id}`)
  emit({ type: 'approval_needed', callId: call.id, name: call.name, input: call.input, message, key })
  ports.deadline.pause()
  const answer = await ports.steps.wait<PermissionDecision>(key, { signal: ports.abort.signal })
  ports.deadline.goOn()
  return answer ?? { behavior: 'deny', message: 'Interrupted by user' }
}

function deny(call: ToolUseBlock, message: string, emit: Emit): ToolResult {
  emit({ type: 'permission_denied', callId: call.id, name: call.name, input: call.input, message })
  return denied(message)
}

function unknownTool(name: string, ports: Ports): string {
  const names = [...ports.tools.keys()]
  return `There is no tool named ${JSON.stringify(name)}. ${names.length === 0 ? 'There are no tools in this run.' : `There are: ${names.join(', ')}.`}`
}
