import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import { textOf, type MessageContent } from '../messages.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import type { ToolResult } from '../tools/result.ts'
import type { CallRun, RaisedStop } from './calls.ts'
import { policySignal, runHooks, withSignalsHeld } from './run-hooks.ts'

export interface FinishedCall {
  readonly state: RunState
  readonly result: ToolResult
  readonly messages: readonly MessageContent[]
  readonly stops: readonly RaisedStop[]
  /** One of its hooks was cut by an abort. */
  readonly abort?: AbortCause
}

/** What comes after a call: its event, post-hooks, the error policy. */
export function finishCall(
  run: CallRun,
  state: RunState,
  ports: Ports,
  emit: Emit,
): FinishedCall | Promise<FinishedCall> {
  const { call, result } = run
  emit({ type: 'tool_end', callId: call.id, name: call.name, end: result.end, durationMs: run.durationMs })
  // Only a call that ran has something after it.
  const ran = result.end === 'done' || result.end === 'failed'
  const nobodyLooks = result.end === 'done' && ports.hooks.for('afterToolUse', call.name).length === 0
  if (result.stop === undefined && (!ran || nobodyLooks)) return { state, result, messages: noMessages, stops: noStops }
  return lookAfter(run, state, ports, emit)
}

const noMessages: FinishedCall['messages'] = Object.freeze([])
const noStops: FinishedCall['stops'] = Object.freeze([])

async function lookAfter(run: CallRun, state: RunState, ports: Ports, emit: Emit): Promise<FinishedCall> {
  const { call, index, result } = run
  const stops: RaisedStop[] = []
  const stop = (signal: StopSignal, origin: RaisedStop['origin'], hook: string | null): void => {
    stops.push({ index, signal, origin, hook, callId: call.id })
  }
  if (result.stop !== undefined) stop(StopSignal.fromJSON(result.stop), 'tool', null)
  if (result.end !== 'done' && result.end !== 'failed') return { state, result, messages: [], stops }

  const failure = result.end === 'failed' ? (result.error ?? textOf(result.content)) : undefined
  const toolCall = run.kind === 'run' && run.input !== call.input ? { ...call, input: run.input } : call
  const subject = { toolCall, callIndex: index, toolOutput: { text: textOf(result.content), isError: result.isError } }
  const after = await runHooks('afterToolUse', state, ports, emit, subject)
  let current = withSignalsHeld(after, state)
  for (const { hook, signal } of after.raised) stop(signal, 'post_tool_hook', hook)
  for (const { hook, outcome } of after.outcomes) {
    if (outcome.prevented !== undefined) stop(preventedBy(hook, outcome.prevented), 'post_tool_hook', hook)
  }
  const messages = [...after.messages]
  let abort = after.aborted
  if (failure !== undefined) {
    const error = { source: 'tool', name: call.name, message: failure } as const
    const onError = await runHooks('onError', current, ports, emit, { toolCall, callIndex: index, error })
    current = withSignalsHeld(onError, current)
    messages.push(...onError.messages)
    abort ??= onError.aborted
    for (const { hook, signal } of onError.raised) stop(signal, 'hook', hook)
    if (ports.settings.errorPolicy?.(error) === true) stop(policySignal('tool', call.name, failure), 'hook', null)
  }
  const replaced = after.outcomes.findLast(({ outcome }) => outcome.output !== undefined)?.outcome.output
  const told = replaced === undefined ? result : { ...result, content: replaced }
  const finished = { state: current, result: told, messages, stops }
  return abort === undefined ? finished : { ...finished, abort }
}

function preventedBy(hook: string, reason: string): StopSignal {
  return new StopSignal({
    reason: 'stop_requested',
    message: reason || `Stopped by ${hook}`,
    context: { hook },
    source: hook,
  })
}
