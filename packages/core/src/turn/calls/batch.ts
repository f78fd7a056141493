import { after, firstOf, together, type Eventually } from '../../eventually.ts'
import { abortedResult, notRun, type ToolResult } from '../../tools/result.ts'
import type { Run } from '../run.ts'
import { finishCall } from './finish-call.ts'
import { inspectCall, runsAlone, type InspectedCall } from './inspect-call.ts'
import { prepareCall, type PreparedCall } from './prepare-call.ts'
import { runCall, type CallRun } from './run-call.ts'
import type { ToolPhase } from './tool-phase.ts'

/** Runs the calls batch by batch, in call order; after an abort, a stop or a pending approval nothing more starts. */
export function runBatches(run: Run, phase: ToolPhase): Eventually<unknown> {
  return firstOf(batchesOf(run, phase), (batch) => runBatch(run, phase, batch))
}

/**
 * Neighbouring calls that may run together make one batch, at most `toolConcurrency` of them; any other call is alone.
 * A call is looked at when its batch is due, since a check may depend on what the calls before it did.
 */
function* batchesOf(run: Run, phase: ToolPhase): Generator<readonly InspectedCall[]> {
  const { calls } = phase
  let next: InspectedCall | undefined
  for (let index = 0; index < calls.length;) {
    if (phase.pending.length > 0) return
    const skipped = skippedResult(phase)
    if (skipped !== undefined) {
      for (; index < calls.length; index++) skipCall(run, phase, index, skipped)
      return
    }
    const first: InspectedCall | undefined = next ?? inspectAt(run, phase, index)
    next = undefined
    if (first === undefined) return
    const batch = [first]
    index++
    while (mayShare(first) && batch.length < run.context.settings.toolConcurrency && mayJoin(run, phase, index)) {
      next = inspectAt(run, phase, index)
      if (next === undefined || !mayShare(next)) break
      batch.push(next)
      next = undefined
      index++
    }
    yield batch
  }
}

function inspectAt(run: Run, { calls }: ToolPhase, index: number): InspectedCall | undefined {
  const call = calls[index]
  return call === undefined ? undefined : inspectCall(run, call, index)
}

/** A call of an unknown tool or with an invalid input runs nothing: it stands beside any neighbour. */
function mayShare(inspected: InspectedCall): boolean {
  return inspected.kind === 'valid' ? inspected.parallelSafe : true
}

/** Whether the next call has to be looked at: a tool that always runs alone is looked at when it is due. */
function mayJoin({ context }: Run, { calls }: ToolPhase, index: number): boolean {
  const call = calls[index]
  if (call === undefined) return false
  const tool = context.tools.get(call.name)
  return tool === undefined || !runsAlone(tool)
}

function skippedResult(phase: ToolPhase): ToolResult | undefined {
  if (phase.abort !== undefined) return abortedResult(phase.abort, 'settled')
  return phase.isStopped ? notRun('the run stopped before this call') : undefined
}

function skipCall(run: Run, phase: ToolPhase, index: number, result: ToolResult): void {
  phase.setResult(index, result)
  const call = phase.calls[index]
  if (call === undefined) return
  run.emit({ type: 'tool_end', callId: call.id, name: call.name, status: result.status, durationMs: 0 })
}

/** In a batch: permissions and pre-hooks in call order, then the effects together, then post-hooks in call order (spec R-TOOL-4). */
function runBatch(run: Run, phase: ToolPhase, batch: readonly InspectedCall[]): Eventually<undefined> {
  const prepared: PreparedCall[] = []
  const preparing = firstOf(batch, (inspected) =>
    after(prepareCall(run, phase, inspected), (call): true | undefined => {
      if (call === 'pending') return true
      prepared.push(call)
      return undefined
    }),
  )
  return after(preparing, () =>
    after(runPrepared(run, phase, prepared), (runs) =>
      after(
        firstOf(runs, (each) => finishCall(run, phase, each)),
        () => undefined,
      ),
    ),
  )
}

/** Together, unless a hook turned a reading call into a writing one: then one after another. */
function runPrepared(run: Run, phase: ToolPhase, prepared: readonly PreparedCall[]): Eventually<readonly CallRun[]> {
  if (prepared.every((call) => call.kind === 'answer' || call.inspected.parallelSafe || prepared.length === 1))
    return together(prepared.map((call) => runCall(run, phase, call)))
  const runs: CallRun[] = []
  const running = firstOf(prepared, (call) => {
    const cut = runs.find(({ result }) => result.abort !== undefined)?.result.abort
    const next: Eventually<CallRun> =
      cut === undefined
        ? runCall(run, phase, call)
        : { call, result: abortedResult(cut, 'settled'), at: 0, durationMs: 0 }
    return after(next, (ran): undefined => {
      runs.push(ran)
    })
  })
  return after(running, () => runs)
}
