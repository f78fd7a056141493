import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import { isToolResult, toolCallsOf, type AssistantMessage, type ToolUseBlock } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, withSpent, type RunState } from '../state.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { interrupted, notRun, resultBlock, type ToolResult } from '../tools/result.ts'
import { sayUser } from './flow.ts'
import { keyOf } from './keys.ts'

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

/** Results for the calls of a message that was cut by an abort: those that an early start had finished, synthetic ones for the rest. */
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
      for (const call of calls) results.push((await finishedEarly(early.take(call.id))) ?? interrupted(cause, false))
      return results
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
  const blocks = calls.map((call, index) => {
    const result = step.value[index] ?? interrupted(cause, false)
    emit({ type: 'tool_end', callId: call.id, name: call.name, end: result.end, durationMs: 0 })
    return resultBlock(call.id, result)
  })
  const next = sayUser(at(state, step), blocks, 'tool_results', emit)
  return withSpent(next, { toolResults: next.spent.toolResults + blocks.length })
}

/** The early result if it is there already: an abort waits for nothing. */
async function finishedEarly(work: Promise<ToolResult> | undefined): Promise<ToolResult | undefined> {
  if (work === undefined) return undefined
  const result = await Promise.race([work, Promise.resolve().then(() => undefined)])
  return result?.end === 'done' || result?.end === 'failed' ? result : undefined
}
