import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import { isToolResult, toolCallsOf, type AssistantMessage, type ToolUseBlock } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, withSpent, type RunState } from '../state.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { interrupted, notRun, resultBlock, unknownOutcome, type ToolResult } from '../tools/result.ts'
import { sayUser } from './flow.ts'
import { keyOf } from './keys.ts'
import type { Progress } from './progress.ts'

// Every call has a result, on every path: these are the places where one is written for a call that did not run.

/** Synthetic results for calls that will not run. */
export function notRunAll(state: RunState, calls: readonly ToolUseBlock[], why: string, emit: Emit): RunState {
  if (calls.length === 0) return state
  const result = notRun(why)
  const next = sayUser(
    state,
    calls.map(({ id }) => resultBlock(id, result)),
    'tool_results',
    emit,
  )
  return withSpent(next, { toolResults: next.spent.toolResults + calls.length })
}

/** Calls of the last message that have no result: none are left by the phases, but a run may also break. */
export function closeOpenCalls(state: RunState, emit: Emit, why = 'the run ended first'): RunState {
  return notRunAll(state, openCallsOf(state), why, emit)
}

/** A run that broke in the middle of its tools: what ended is told, what was begun is unknown, the rest did not run. */
export function closeBrokenCalls(state: RunState, { begun, results }: Progress, emit: Emit): RunState {
  const calls = openCallsOf(state)
  if (calls.length === 0) return state
  const blocks = calls.map(({ id }) =>
    resultBlock(id, results.get(id) ?? (begun.has(id) ? unknownOutcome : notRun('the run broke before this call'))),
  )
  const next = sayUser(state, blocks, 'tool_results', emit)
  return withSpent(next, { toolResults: next.spent.toolResults + blocks.length })
}

/** Calls at the end of the transcript that have no result yet. */
export function openCallsOf(state: Pick<RunState, 'transcript'>): readonly ToolUseBlock[] {
  const answered = new Set<string>()
  for (let index = state.transcript.length - 1; index >= 0; index--) {
    const entry = state.transcript.at(index)
    if (entry?.kind === 'user' && typeof entry.message.content !== 'string') {
      for (const block of entry.message.content) if (isToolResult(block)) answered.add(block.tool_use_id)
    }
    if (entry?.kind === 'compact_boundary') return []
    if (entry?.kind !== 'assistant' || entry.error !== undefined) continue
    return toolCallsOf(entry.message).filter(({ id }) => !answered.has(id))
  }
  return []
}

/**
 * Results for the calls of a message that was cut by an abort: those of early starts, which heed the abort or are left behind
 * within the grace time, and synthetic ones for the rest.
 */
export async function closeCalls(
  state: RunState,
  message: AssistantMessage,
  cause: AbortCause,
  early: EarlyStarts,
  ports: Ports,
  emit: Emit,
): Promise<RunState> {
  const calls = toolCallsOf(message)
  if (calls.length === 0) return state
  const step = await ports.steps.run<readonly ToolResult[]>(
    keyOf(state, `close:${state.spent.request}`),
    async () => {
      const results: ToolResult[] = []
      for (const call of calls) results.push((await early.take(call.id)) ?? interrupted(cause, false))
      return results
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
  const stillRunning = calls.filter((_call, index) => step.value[index]?.stillRunning === true).map(({ id }) => id)
  const blocks = calls.map((call, index) => {
    const result = step.value[index] ?? interrupted(cause, false)
    emit({ type: 'tool_end', callId: call.id, name: call.name, end: result.end, durationMs: 0 })
    return resultBlock(call.id, result)
  })
  const next = sayUser(at(state, step), blocks, 'tool_results', emit)
  return withSpent(next, {
    toolResults: next.spent.toolResults + blocks.length,
    stillRunning: [...next.spent.stillRunning, ...stillRunning],
  })
}
