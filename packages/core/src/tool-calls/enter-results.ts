import type { TaskNote } from '../verification/background.ts'
import { turnHash, withNewest } from '../limits/recent-turns.ts'
import type { Json } from '../values/json.ts'
import type { ToolResultBlock } from '../model/messages.ts'
import { resultBlock } from '../tools/tool-result.ts'
import type { Run } from '../run/run.ts'
import { addHookMessages } from '../request/run-hooks.ts'
import { noteToldByTools } from '../run/tasks.ts'
import { looksAtRepetition, repetitionAfter } from '../run/repetition.ts'
import type { ToolPhase } from '../run/tool-phase.ts'

/** One user message with every result, in call order. Calls that wait for a person have none yet. */
export function enterResults(run: Run, phase: ToolPhase): void {
  phase.isEntered = true
  const blocks: ToolResultBlock[] = []
  // The name under which a whole result is kept is another one in each turn: it does not make the same result a new one.
  const compared: ToolResultBlock[] = []
  let details: { [callId: string]: Json } | undefined
  let memos: { [callId: string]: Json } | undefined
  const tasks: TaskNote[] = []
  let { stillRunning } = run.spent
  for (const [index, { id }] of phase.calls.entries()) {
    const result = phase.result(index)
    if (result === undefined) continue
    const block = resultBlock(id, result)
    const whole = phase.wholeResult(index)
    blocks.push(block)
    compared.push(whole === undefined || whole === result ? block : resultBlock(id, whole))
    if (result.details !== undefined) (details ??= {})[id] = result.details
    if (result.memo !== undefined) (memos ??= {})[id] = result.memo
    // What a subagent started has the call that started it already.
    for (const news of result.tasks ?? []) if (!isEndIn(tasks, news)) tasks.push({ callId: id, ...news })
    if (result.stillRunning === true) stillRunning = [...stillRunning, id]
  }
  if (blocks.length > 0) {
    const id = run.entryId('tool_results')
    const message = { role: 'user', content: blocks } as const
    const entry = { kind: 'user', id, message, origin: 'tool_results' } as const
    run.append({
      ...entry,
      ...(details !== undefined && { details }),
      ...(memos !== undefined && { memos }),
      ...(tasks.length > 0 && { tasks }),
    })
    if (tasks.length > 0) noteToldByTools(run, tasks)
  }
  const { toolResults, recentTurns, toolCalls = 0 } = run.spent
  // Calls that wait for a person have no result yet, and count when they have.
  const made = Math.min(blocks.length, phase.allowedCalls)
  const looksAtTurns = looksAtRepetition(run)
  run.update({
    ...(looksAtTurns && repetitionAfter(run, phase.calls, compared)),
    toolResults: toolResults + blocks.length,
    ...(made > 0 && { toolCalls: toolCalls + made }),
    recentTurns: looksAtTurns ? withNewest(recentTurns, turnHash(phase.calls, compared, phase.hasWaited)) : recentTurns,
    stillRunning,
  })
  addHookMessages(run, phase.messages)
  addHookMessages(run, phase.remarks)
}

/** Of two calls of a message that tell of one end the first does. */
function isEndIn(tasks: readonly TaskNote[], { type, id }: TaskNote): boolean {
  return type === 'ended' && tasks.some((each) => each.type === 'ended' && each.id === id)
}
