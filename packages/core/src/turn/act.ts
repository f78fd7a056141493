import { after, type Eventually } from '../eventually.ts'
import type { MessageContent, ToolUseBlock } from '../messages.ts'
import { afterTools } from './after-tools.ts'
import { runBatches } from './calls/batch.ts'
import { openCallsOf } from '../open-calls.ts'
import { noEarlyStarts, type EarlyStarts } from './calls/early-starts.ts'
import { enterResults } from './calls/enter-results.ts'
import { recordedCalls } from './calls/recorded-calls.ts'
import { ToolPhase } from './calls/tool-phase.ts'
import type { Outcome } from './outcome.ts'
import { tellTurn } from './prepare.ts'
import type { Run } from './run.ts'

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
