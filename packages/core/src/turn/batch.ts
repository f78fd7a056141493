import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import type { MessageContent, ToolUseBlock } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, type RunState } from '../state.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { interrupted, type ToolResult } from '../tools/result.ts'
import { isAgentTool } from '../tools/tool.ts'
import type { CallRun, IndexedCall, PreparedCall, RaisedStop } from './calls.ts'
import { checkInput, isReadOnly } from './inspect-call.ts'
import { prepareCall } from './prepare-call.ts'
import { runCall, type Ran } from './run-call.ts'
import { finishCall } from './finish-call.ts'

export interface BatchRun {
  readonly state: RunState
  readonly results: ReadonlyMap<string, ToolResult>
  readonly messages: readonly MessageContent[]
  readonly stops: readonly RaisedStop[]
  /** Calls that a person has to approve; they and what comes after them have no result yet. */
  readonly pending: readonly { readonly call: ToolUseBlock; readonly message: string }[]
  readonly abort: AbortCause | undefined
}

/** Neighbouring calls that may run together make one batch, at most `toolConcurrency` of them; any other call is alone. */
export function batchesOf(calls: readonly ToolUseBlock[], ports: Ports): readonly (readonly IndexedCall[])[] {
  const batches: IndexedCall[][] = []
  let shared: IndexedCall[] | undefined
  for (const [index, call] of calls.entries()) {
    if (!mayShare(call, ports)) {
      shared = undefined
      batches.push([{ call, index }])
      continue
    }
    if (shared === undefined || shared.length >= ports.settings.toolConcurrency) batches.push((shared = []))
    shared.push({ call, index })
  }
  return batches
}

function mayShare(call: ToolUseBlock, ports: Ports): boolean {
  const tool = ports.tools.get(call.name)
  if (tool === undefined) return true
  if (isAgentTool(tool)) return tool.concurrencySafe === true
  if (tool.concurrencySafe === false) return false
  if (tool.readOnly === true) return true
  const checked = checkInput(tool, call.input)
  return checked.valid && isReadOnly(tool, checked.input)
}

/** In a batch: permissions and pre-hooks in call order, then the effects together, then post-hooks in call order (spec R-TOOL-4). */
export async function runBatch(
  batch: readonly IndexedCall[],
  state: RunState,
  early: EarlyStarts,
  ports: Ports,
  emit: Emit,
): Promise<BatchRun> {
  let current = state
  const messages: MessageContent[] = []
  const stops: RaisedStop[] = []
  const results = new Map<string, ToolResult>()
  const prepared: PreparedCall[] = []
  let pending: BatchRun['pending'] = []
  for (const indexed of batch) {
    const preparing = prepareCall(indexed, current, ports, emit)
    const preparation = preparing instanceof Promise ? await preparing : preparing
    current = preparation.state
    messages.push(...preparation.messages)
    stops.push(...preparation.stops)
    if (preparation.prepared.kind === 'pending') {
      pending = [{ call: indexed.call, message: preparation.prepared.message }]
      break
    }
    prepared.push(preparation.prepared)
  }

  const only = prepared.length === 1 ? prepared[0] : undefined
  const runs =
    only === undefined
      ? await runTogether(prepared, current, early, ports, emit)
      : [await runCall(only, current, early, ports, emit)]
  for (const [place, ran] of runs.entries()) ports.progress.results.set(prepared[place]?.call.id ?? '', ran.value)
  let abort: AbortCause | undefined
  for (const [place, ran] of runs.entries()) {
    const call = prepared[place]
    if (call === undefined) continue
    current = ran.child === undefined ? at(current, ran) : ran.child.addTo(at(current, ran))
    const run: CallRun = { ...call, result: ran.value, durationMs: ran.durationMs }
    const finishing = finishCall(run, current, ports, emit)
    const finished = finishing instanceof Promise ? await finishing : finishing
    current = finished.state
    results.set(run.call.id, finished.result)
    messages.push(...finished.messages)
    stops.push(...finished.stops)
    abort ??= finished.result.abort ?? finished.abort
  }
  return { state: current, results, messages, stops: stops.toSorted((a, b) => a.index - b.index), pending, abort }
}

/** Together, unless a hook turned a reading call into a writing one: then one after another. */
async function runTogether(
  prepared: readonly PreparedCall[],
  state: RunState,
  early: EarlyStarts,
  ports: Ports,
  emit: Emit,
): Promise<readonly Ran[]> {
  if (prepared.every((call) => call.kind !== 'run' || call.shares)) {
    return Promise.all(prepared.map(async (call) => runCall(call, state, early, ports, emit)))
  }
  const runs: Ran[] = []
  let cut: AbortCause | undefined
  for (const call of prepared) {
    const ran: Ran =
      cut === undefined
        ? await runCall(call, state, early, ports, emit)
        : { value: interrupted(cut, false), at: 0, durationMs: 0 }
    cut ??= ran.value.abort
    runs.push(ran)
  }
  return runs
}
