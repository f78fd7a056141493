import type { AbortCause } from '../values/abort.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { toolCallsOf, type AssistantMessage, type ToolResultBlock, type ToolUseBlock } from '../model/messages.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import {
  abortedResult,
  notRun,
  resultBlock,
  toolEndOf,
  unknownOutcome,
  withheld,
  type ToolResult,
} from '../tools/tool-result.ts'
import type { Run } from '../run/run.ts'
import type { EarlyStarts } from '../run/tool-phase.ts'
import { enterResults } from './batch.ts'
import { enterEnded, hasHooksAfter, unsavedResult } from './finish-call.ts'
import { lostReasons, notRunReasons } from '../tools/result-texts.ts'

// Every tool call has a result, on every path. This file writes the results of calls that did not run.

/** Enters synthetic results for calls that will not run. */
export function closeNotRun(run: Run, calls: readonly ToolUseBlock[], why: string): void {
  const result = notRun(why)
  appendResults(
    run,
    calls.map(({ id }) => resultBlock(id, result)),
  )
}

function appendResults(run: Run, blocks: readonly ToolResultBlock[]): void {
  if (blocks.length === 0) return
  run.appendUser(blocks, 'tool_results')
  run.update({ toolResults: run.spent.toolResults + blocks.length })
}

/** Adds a result to calls of the last message that have none, because a hook or a limit may end the run between two phases. */
export function closeOpenCalls(run: Run): void {
  closeNotRun(run, openCallsOf(run.transcript), notRunReasons.runEnded)
}

/**
 * Closes calls when the run breaks while tools are running. The result of a call that ended is preserved. A call that
 * had begun gets the result *outcome unknown*, any other *not run*.
 */
export function closeBrokenCalls(run: Run): void {
  const why = notRunReasons.runFailed
  const phase = run.tools
  if (phase !== undefined && !phase.isEntered) {
    enterEnded(run, phase)
    for (const index of phase.calls.keys()) {
      if (phase.result(index) === undefined)
        phase.setResult(index, phase.hasBegun(index) ? unknownOutcome : notRun(why))
    }
    enterResults(run, phase)
  }
  closeNotRun(run, openCallsOf(run.transcript), why)
}

/**
 * Results for the calls of a message whose stream was aborted: those of early starts, which may end within the grace
 * time, and synthetic ones for the others. Results that hooks had to inspect first are withheld.
 */
export function closeAbortedCalls(
  run: Run,
  message: AssistantMessage,
  cause: AbortCause,
  early: EarlyStarts,
): MaybePromise<undefined> {
  const calls = toolCallsOf(message)
  if (calls.length === 0) return undefined
  const step = run.step<readonly ToolResult[]>(`close:${run.spent.request}`, async () => {
    const results: ToolResult[] = []
    for (const [index, call] of calls.entries()) {
      const earlyStart = early.find(call, index)
      const started = earlyStart?.kind === 'valid' ? earlyStart.started : undefined
      const result = (await started) ?? abortedResult(cause, 'settled')
      // No hook is called after an abort.
      const { name } = earlyStart?.call ?? call
      const visibleResult = hasHooksAfter(run, name, result) ? withheld(result, 'aborted') : result
      results.push(unsavedResult(run, visibleResult, lostReasons.aborted))
    }
    return results
  })
  return andThen(step, ({ value }) => {
    const results = calls.map((call, index) => value[index] ?? abortedResult(cause, 'settled'))
    for (const [index, call] of calls.entries()) {
      run.emit(toolEndOf(call, results[index] ?? abortedResult(cause, 'settled'), 0))
    }
    appendResults(
      run,
      results.map((result, index) => resultBlock(calls[index]?.id ?? '', result)),
    )
    const orphaned = calls.flatMap(({ id }, index) => (results[index]?.stillRunning === true ? [id] : []))
    run.update({ stillRunning: [...run.spent.stillRunning, ...orphaned] })
    return undefined
  })
}
