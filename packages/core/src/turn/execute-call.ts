import { settleWithin } from '../cancel/settle.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { ToolUseBlock } from '../messages.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import { AgentStopException } from '../stop/stop-exception.ts'
import { StopSignal } from '../stop/signal.ts'
import { interrupted, type ToolResult } from '../tools/result.ts'
import type { AnyLeafTool, ToolContext, ToolOutput } from '../tools/tool.ts'
import { agentStateOf } from './agent-view.ts'
import { isReadOnly } from './inspect-call.ts'

export interface CallToExecute {
  readonly call: ToolUseBlock
  readonly tool: AnyLeafTool
  /** Checked by the tool. */
  readonly input: unknown
  readonly idempotencyKey: string
}

/** The leaf effect of a call: starts the tool unless the run is aborted, and never rejects. */
export function executeCall(
  what: CallToExecute,
  state: RunState,
  ports: Ports,
  emit: Emit,
): ToolResult | Promise<ToolResult> {
  const { abort } = ports
  // After an abort no tool starts.
  if (abort.cause !== undefined) return interrupted(abort.cause, false)
  const others = isReadOnly(what.tool, what.input) ? undefined : ports.leftBehind.settled()
  if (others === undefined) return runTool(what, state, ports, emit)
  return settleWithin(
    () => others,
    abort,
    0,
    ports.timers,
    (settled) => (settled.kind === 'left' ? interrupted(settled.cause, false) : runTool(what, state, ports, emit)),
  )
}

function runTool(
  { call, tool, input, idempotencyKey }: CallToExecute,
  state: RunState,
  ports: Ports,
  emit: Emit,
): ToolResult | Promise<ToolResult> {
  const { abort, settings, timers } = ports
  const context: ToolContext = {
    callId: call.id,
    toolName: call.name,
    signal: abort.signal,
    idempotencyKey,
    get state() {
      return agentStateOf(state)
    },
    progress(data) {
      emit({ type: 'tool_update', callId: call.id, name: call.name, data })
    },
  }
  let running: unknown
  // The input passed this tool's own check, so it is what `execute` is written for.
  const work = () => {
    const execution = tool.execute(input as never, context)
    running = execution
    return execution
  }
  return settleWithin(work, abort, settings.graceMs, timers, (settled) => {
    switch (settled.kind) {
      case 'value':
        return resultOf(settled.value)
      case 'threw':
        return resultOfThrow(settled.error, ports)
      case 'left':
        if (running instanceof Promise) ports.leftBehind.add(running)
        return interrupted(settled.cause, true)
    }
  })
}

/** Whatever a tool gives has a meaning: nothing is an empty result, and what is neither text nor blocks is told as JSON. */
function resultOf(output: unknown): ToolResult {
  if (typeof output === 'string') return { end: 'done', content: output, isError: false }
  if (output === undefined || output === null) return { end: 'done', content: '(no output)', isError: false }
  if (!isToolOutput(output)) return { end: 'done', content: writtenOut(output), isError: false }
  const { content, isError = false, details } = output
  const end = isError ? 'failed' : 'done'
  return details === undefined ? { end, content, isError } : { end, content, isError, details }
}

function writtenOut(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '(no output)'
  } catch {
    // A circular object, or a number too large for JSON.
    return String(value)
  }
}

function isToolOutput(output: unknown): output is ToolOutput {
  if (typeof output !== 'object' || output === null || !('content' in output)) return false
  return typeof output.content === 'string' || Array.isArray(output.content)
}

function resultOfThrow(thrown: unknown, ports: Ports): ToolResult {
  if (thrown instanceof AgentStopException) {
    const signal = StopSignal.fromStopException(thrown)
    const stop =
      thrown.step === null
        ? signal
        : new StopSignal({ ...signal.toJSON(), context: { ...signal.context, step: thrown.step } })
    return { end: 'done', content: signal.message || 'The run stops here.', isError: false, stop: stop.toJSON() }
  }
  // A tool that heeds the abort by throwing was interrupted; one that failed for another reason at that moment as well.
  if (ports.abort.cause !== undefined) return interrupted(ports.abort.cause, false)
  const error = messageOf(thrown)
  return { end: 'failed', content: error, isError: true, error }
}
