import { messageOf } from '../../errors.ts'
import type { Emit } from '../../events.ts'
import type { Eventually } from '../../eventually.ts'
import { AgentStopException } from '../../stop/stop-exception.ts'
import { StopSignal } from '../../stop/signal.ts'
import { abortedResult, type ToolResult } from '../../tools/result.ts'
import type { AnyLeafTool, ToolContext, ToolOutput } from '../../tools/tool.ts'
import type { AgentState } from '../../agent-state.ts'
import type { Json } from '../../json.ts'
import type { RunState } from '../../state.ts'
import { agentStateOf } from '../agent-view.ts'
import type { Run } from '../run.ts'
import type { ValidCall } from './inspect-call.ts'

export interface LeafCall extends ValidCall {
  readonly tool: AnyLeafTool
}

/** The leaf effect of a call: starts the tool unless the run is aborted, and never rejects. */
export function executeCall(run: Run, call: LeafCall, idempotencyKey: string, emit: Emit): Eventually<ToolResult> {
  const { abort, orphanedTools } = run.ports
  // After an abort no tool starts.
  if (abort.cause !== undefined) return abortedResult(abort.cause, 'settled')
  const orphans = call.readOnly ? undefined : orphanedTools.settled()
  if (orphans === undefined) return runTool(run, call, idempotencyKey, emit)
  return run.withGrace(
    () => orphans,
    (settled) =>
      settled.kind === 'left' ? abortedResult(settled.cause, 'settled') : runTool(run, call, idempotencyKey, emit),
  )
}

function runTool(run: Run, leaf: LeafCall, idempotencyKey: string, emit: Emit): Eventually<ToolResult> {
  const { abort, orphanedTools } = run.ports
  const context = new CallContext(leaf, run.state, abort.signal, idempotencyKey, emit)
  let running: unknown
  // The input passed this tool's own check, so it is what `execute` is written for.
  const work = () => (running = leaf.tool.execute(leaf.input as never, context))
  return run.withGrace(work, (settled) => {
    switch (settled.kind) {
      case 'value':
        return resultOf(settled.value)
      case 'threw':
        return resultOfThrow(settled.error, run)
      case 'left':
        if (running instanceof Promise) orphanedTools.add(running)
        return abortedResult(settled.cause, 'still_running')
    }
  })
}

/** What a tool is handed. The state is that of before this turn's tools, whenever it is asked for. */
class CallContext implements ToolContext {
  readonly callId: string
  readonly toolName: string
  readonly signal: AbortSignal
  readonly idempotencyKey: string
  readonly #state: RunState
  readonly #emit: Emit

  constructor({ call }: LeafCall, state: RunState, signal: AbortSignal, idempotencyKey: string, emit: Emit) {
    this.callId = call.id
    this.toolName = call.name
    this.signal = signal
    this.idempotencyKey = idempotencyKey
    this.#state = state
    this.#emit = emit
  }

  get state(): AgentState {
    return agentStateOf(this.#state)
  }

  progress(data: Json): void {
    this.#emit({ type: 'tool_update', callId: this.callId, name: this.toolName, data })
  }
}

/** Whatever a tool gives has a meaning: nothing is an empty result, and what is neither text nor blocks is told as JSON. */
function resultOf(output: unknown): ToolResult {
  if (typeof output === 'string') return { status: 'done', content: output, isError: false }
  if (output === undefined || output === null) return { status: 'done', content: '(no output)', isError: false }
  if (!isToolOutput(output)) return { status: 'done', content: writtenOut(output), isError: false }
  const { content, isError = false, details } = output
  const status = isError ? 'failed' : 'done'
  return details === undefined ? { status, content, isError } : { status, content, isError, details }
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

function resultOfThrow(thrown: unknown, { ports }: Run): ToolResult {
  if (thrown instanceof AgentStopException) {
    const signal = StopSignal.fromStopException(thrown)
    const stop =
      thrown.step === null
        ? signal
        : new StopSignal({ ...signal.toJSON(), context: { ...signal.context, step: thrown.step } })
    return { status: 'done', content: signal.message || 'The run stops here.', isError: false, stop: stop.toJSON() }
  }
  // A tool that heeds the abort by throwing was interrupted; one that failed for another reason at that moment as well.
  if (ports.abort.cause !== undefined) return abortedResult(ports.abort.cause, 'settled')
  const error = messageOf(thrown)
  return { status: 'failed', content: error, isError: true, error }
}
