import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import { rememberedTurns, turnHash } from '../guards/no-progress.ts'
import type { MessageContent, ToolResultBlock, ToolUseBlock } from '../messages.ts'
import type { Json } from '../json.ts'
import type { Ports } from '../ports.ts'
import { entryId, withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { terminalOf } from '../stop/terminal.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { interrupted, notRun, resultBlock, type ToolResult } from '../tools/result.ts'
import { controlAt, guardsAt } from './checkpoint.ts'
import { batchesOf, runBatch, type BatchRun } from './batch.ts'
import type { IndexedCall, RaisedStop } from './calls.ts'
import { abortDraft, maxTurnsDraft } from './drafts.ts'
import { say } from './flow.ts'
import { draftOf, ends, goesOn, type Outcome } from './outcome.ts'
import { standingDraft } from './prepare.ts'
import { runHooks, withHookMessages } from './run-hooks.ts'

/**
 * Runs the calls of a message, puts all their results on record, and looks at what is to happen next.
 * `remarks` are what hooks said when the message came: results go first.
 */
export async function act(
  state: RunState,
  calls: readonly ToolUseBlock[],
  early: EarlyStarts,
  remarks: readonly MessageContent[],
  ports: Ports,
  emit: Emit,
): Promise<Outcome> {
  ports.progress.begun.clear()
  ports.progress.results.clear()
  const batches = batchesOf(calls, ports)
  const only = batches.length === 1 ? batches[0] : undefined
  const acted = await (only === undefined
    ? runBatches(state, batches, early, ports, emit)
    : runBatch(only, state, early, ports, emit))
  const recorded = withHookMessages(withResults(acted, calls, ports, emit), remarks, emit)
  return next(recorded, acted, ports, emit)
}

/** Batches in call order; after an abort, a stop or a pending approval nothing more starts. */
async function runBatches(
  state: RunState,
  batches: readonly (readonly IndexedCall[])[],
  early: EarlyStarts,
  ports: Ports,
  emit: Emit,
): Promise<BatchRun> {
  const results = new Map<string, ToolResult>()
  const messages: MessageContent[] = []
  const stops: RaisedStop[] = []
  let pending: BatchRun['pending'] = []
  let abort: AbortCause | undefined
  let current = state
  for (const batch of batches) {
    if (pending.length > 0) break
    const skipped =
      abort !== undefined
        ? interrupted(abort, false)
        : stops[0] !== undefined
          ? notRun('the run stopped before this call')
          : undefined
    if (skipped !== undefined) {
      for (const { call } of batch) {
        results.set(call.id, skipped)
        emit({ type: 'tool_end', callId: call.id, name: call.name, end: skipped.end, durationMs: 0 })
      }
      continue
    }
    const run = await runBatch(batch, current, early, ports, emit)
    current = run.state
    for (const [callId, result] of run.results) results.set(callId, result)
    messages.push(...run.messages)
    stops.push(...run.stops)
    pending = run.pending
    abort = run.abort
  }
  return { state: current, results, messages, stops, pending, abort }
}

/** One user message with every result, in call order. Calls that wait for a person have none yet. */
function withResults(acted: BatchRun, calls: readonly ToolUseBlock[], ports: Ports, emit: Emit): RunState {
  const blocks: ToolResultBlock[] = []
  let details: { [callId: string]: Json } | undefined
  const stillRunning: string[] = []
  for (const call of calls) {
    const result = acted.results.get(call.id)
    if (result === undefined) continue
    blocks.push(resultBlock(call.id, result))
    if (result.details !== undefined) (details ??= {})[call.id] = result.details
    if (result.stillRunning === true) stillRunning.push(call.id)
  }
  let { state } = acted
  if (blocks.length > 0) {
    const id = entryId(state, 'tool_results')
    const message = { role: 'user', content: blocks } as const
    state = say(
      state,
      details === undefined
        ? { kind: 'user', id, message, origin: 'tool_results' }
        : { kind: 'user', id, message, origin: 'tool_results', details },
      emit,
    )
  }
  const { spent } = state
  const counted = withSpent(state, {
    toolResults: spent.toolResults + blocks.length,
    recentTurns: ports.guards.some((guard) => guard.looksAtTurns === true)
      ? remembered(spent.recentTurns, turnHash(calls, blocks))
      : spent.recentTurns,
    stillRunning: stillRunning.length === 0 ? spent.stillRunning : [...spent.stillRunning, ...stillRunning],
  })
  return withHookMessages(counted, acted.messages, emit)
}

function remembered(turns: readonly number[], newest: number): readonly number[] {
  return [...turns.slice(1 - rememberedTurns), newest]
}

/** After the tools: abort → a thrown stop → hook_stopped → needs_approval → guards → max turns. */
async function next(state: RunState, acted: BatchRun, ports: Ports, emit: Emit): Promise<Outcome> {
  const controlled = controlAt('after_tools', state, ports, emit)
  const control = controlled instanceof Promise ? await controlled : controlled
  const abort = acted.abort ?? control.abort
  if (abort !== undefined) return ends(control.state, abortDraft(abort, 'tools', control.state, ports))

  let current = control.state
  for (const { signal } of acted.stops) emit({ type: 'signal', signal, checkpoint: 'after_tools' })
  for (const { signal } of acted.stops)
    current = { ...current, continuation: current.continuation.withNewStopSignal(signal) }
  const guarded = guardsAt('after_tools', current, ports, emit)
  const hooking = runHooks('afterStep', guarded.state, ports, emit)
  const hooks = hooking instanceof Promise ? await hooking : hooking
  current = withHookMessages(hooks.state, hooks.messages, emit)
  if (hooks.aborted !== undefined) return ends(current, abortDraft(hooks.aborted, 'tools', current, ports))

  const thrown = acted.stops.find((stop) => stop.origin === 'tool')
  if (thrown !== undefined) return ends(current, draftOf(terminalOf(thrown.signal, 'tool'), thrown.signal))
  const stopped = acted.stops[0]
  if (stopped !== undefined) return ends(current, hookStopDraft(stopped))
  if (acted.pending.length > 0) return ends(current, approvalDraft(acted.pending))
  if (current.continuation.stopSignals().hasAny()) return ends(current, standingDraft(current, guarded.raisedBy))
  return goesOn(current, [{ transition: 'next_turn', take: (from) => from }], () => maxTurnsDraft(current, ports))
}

function hookStopDraft(stop: RaisedStop) {
  const reason = terminalOf(stop.signal, stop.origin)
  if (reason !== 'hook_stopped') return draftOf(reason, stop.signal)
  const say = {
    type: 'hook_stopped_continuation',
    hook: stop.hook ?? '',
    message: stop.signal.message,
    callId: stop.callId,
  } as const
  return draftOf(reason, stop.signal, { say })
}

function approvalDraft(pending: BatchRun['pending']) {
  const names = pending.map(({ call }) => call.name).join(', ')
  const signal = new StopSignal({
    reason: 'stop_requested',
    message: `Waiting for approval: ${names}`,
    context: { pending: pending.map(({ call, message }) => ({ id: call.id, name: call.name, message })) },
    source: 'permissions',
  })
  return draftOf('needs_approval', signal)
}
