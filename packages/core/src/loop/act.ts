import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { HookMessage } from '../hooks/hook-outcome.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { beginAgents } from '../tool-calls/background-agents.ts'
import { afterTools } from './after-tools.ts'
import { runBatches, limitCalls, enterResults } from '../tool-calls/batch.ts'
import { openCallsOf } from '../conversation/open-calls.ts'
import { noEarlyStarts, type EarlyStarts, ToolPhase } from '../run/tool-phase.ts'
import { recordedCalls, type Run } from '../run/run.ts'
import type { Outcome } from '../run/outcome.ts'
import { emitTurnStart } from './prepare.ts'

/**
 * Runs the tool calls of a reply, appends their results to the transcript, and decides how the run continues. `remarks`:
 * messages that `afterInference` hooks added. They are appended after the results, as the API requires.
 */
export function act(
  run: Run,
  calls: readonly ToolUseBlock[],
  early: EarlyStarts,
  remarks: readonly HookMessage[],
): MaybePromise<Outcome> {
  const startedInReplay = run.ports.steps.replaying
  const phase = new ToolPhase({ calls, early, remarks, recorded: recordedCalls(run, calls), startedInReplay })
  run.tools = phase
  const ran = andThen(limitCalls(run, phase), () => runBatches(run, phase))
  return andThen(ran, () => {
    enterResults(run, phase)
    beginAgents(run)
    return afterTools(run, phase)
  })
}

/** Runs the approved calls. Then the model gets the next request. */
export function actOnApproved(run: Run): MaybePromise<Outcome> {
  emitTurnStart(run)
  return act(run, openCallsOf(run.transcript), noEarlyStarts, [])
}
