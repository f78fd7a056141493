import { after, type Eventually } from '../eventually.ts'
import { rememberedTurns, turnHash } from '../guards/no-progress.ts'
import type { Json } from '../json.ts'
import type { MessageContent, ToolResultBlock, ToolUseBlock } from '../messages.ts'
import { noEarlyStarts, type EarlyStarts } from '../tools/early-starts.ts'
import { resultBlock } from '../tools/result.ts'
import { afterTools } from './after-tools.ts'
import { runBatches } from './calls/batch.ts'
import { openCallsOf } from '../open-calls.ts'
import { recordedCalls } from './calls/recorded-calls.ts'
import { ToolPhase } from './calls/tool-phase.ts'
import type { Outcome } from './outcome.ts'
import { tellTurn } from './prepare.ts'
import type { Run } from './run.ts'
import { addHookMessages } from './run-hooks.ts'

/**
 * Runs the calls of a message, puts all their results on record, and looks at what is to happen next.
 * `remarks` are what hooks said when the message came: results go first.
 */
export function act(
  run: Run,
  calls: readonly ToolUseBlock[],
  early: EarlyStarts,
  remarks: readonly MessageContent[],
): Eventually<Outcome> {
  const phase = new ToolPhase(calls, early, remarks, recordedCalls(run, calls))
  run.tools = phase
  return after(runBatches(run, phase), () => {
    enterResults(run, phase)
    return afterTools(run, phase)
  })
}

/** A run that goes on with calls that waited for a person: they are acted on before the model is asked again. */
export function actOnApproved(run: Run): Eventually<Outcome> {
  tellTurn(run)
  return act(run, openCallsOf(run.transcript), noEarlyStarts, [])
}

/** One user message with every result, in call order. Calls that wait for a person have none yet. */
function enterResults(run: Run, phase: ToolPhase): void {
  const blocks: ToolResultBlock[] = []
  let details: { [callId: string]: Json } | undefined
  let { stillRunning } = run.spent
  for (const [index, { id }] of phase.calls.entries()) {
    const result = phase.result(index)
    if (result === undefined) continue
    blocks.push(resultBlock(id, result))
    if (result.details !== undefined) (details ??= {})[id] = result.details
    if (result.stillRunning === true) stillRunning = [...stillRunning, id]
  }
  if (blocks.length > 0) {
    const id = run.entryId('tool_results')
    const message = { role: 'user', content: blocks } as const
    const entry = { kind: 'user', id, message, origin: 'tool_results' } as const
    run.append(details === undefined ? entry : { ...entry, details })
  }
  const { toolResults, recentTurns } = run.spent
  const looksAtTurns = run.context.guards.some(({ guard }) => guard.looksAtTurns === true)
  run.update({
    toolResults: toolResults + blocks.length,
    recentTurns: looksAtTurns ? remembered(recentTurns, turnHash(phase.calls, blocks)) : recentTurns,
    stillRunning,
  })
  addHookMessages(run, phase.messages)
  addHookMessages(run, phase.remarks)
}

function remembered(turns: readonly number[], newest: number): readonly number[] {
  return [...turns.slice(1 - rememberedTurns), newest]
}
