import { toolCallsOf } from '../messages.ts'
import { StopSignal } from '../stop/signal.ts'
import { StopSignals } from '../stop/signals.ts'
import { appendReply, type Reply } from './ask.ts'
import { closeNotRun } from './calls/close-calls.ts'
import { draftOf, ends, type Outcome } from './outcome.ts'
import type { Run } from './run.ts'

/** After the request for a last answer, whatever came of it: the run ends as it was going to (spec R-DEC-6a). */
export function finishWrapUp(run: Run, reply: Reply): Outcome {
  const { closing } = run.spent
  if (reply.kind === 'answered') {
    appendReply(run, reply)
    closeNotRun(run, toolCallsOf(reply.message), 'this was the last answer of the run')
  }
  const signal = StopSignal.fromJSON(closing?.signal)
  run.update({ closing: null })
  run.setContinuation(run.continuation.withStopSignals(StopSignals.fromJSON(closing?.signals)))
  return ends(draftOf(closing?.reason ?? 'error', signal, { overridable: false }))
}
