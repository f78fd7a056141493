import type { Eventually } from '../values/eventually.ts'
import { toolCallsOf } from '../model/messages.ts'
import type { RunProgress } from '../state/state.ts'
import { StopSignal } from '../endings/signal.ts'
import { StopSignals } from '../endings/signals.ts'
import { appendReply, type Reply } from './ask.ts'
import { closeNotRun } from '../tool-calls/close-calls.ts'
import { endIncomplete } from './incomplete.ts'
import { draftOf, ends, type Outcome } from '../run/outcome.ts'
import { endUnanswered } from './recover.ts'
import type { Run } from '../run/run.ts'
import { notRunReasons } from '../tools/result-texts.ts'
import { lastAnswerGiven } from '../endings/ending-texts.ts'

/** How a run ends that is for a last answer alone. No limit ends a run so: by it `finishWrapUp` knows one from the other. */
export const lastAnswerEnding: NonNullable<RunProgress['closing']> = Object.freeze({
  reason: 'completed',
  signal: new StopSignal({ reason: 'completed', message: lastAnswerGiven, source: 'run' }).toJSON(),
  signals: Object.freeze([]),
})

// Spec R-DEC-6a.
/** After the request for a last answer: the run ends as it was going to, whatever came of it. One that is for this answer alone ends as it went. */
export function finishWrapUp(run: Run, reply: Reply): Eventually<Outcome> {
  const { closing } = run.spent
  run.update({ closing: null })
  const ended = closing?.reason === lastAnswerEnding.reason ? endAlone(run, reply) : undefined
  if (ended !== undefined) return ended
  if (reply.kind === 'answered') {
    appendReply(run, reply)
    closeNotRun(run, toolCallsOf(reply.message), notRunReasons.lastAnswer)
  }
  const signal = StopSignal.fromJSON(closing?.signal)
  run.setContinuation(run.continuation.withStopSignals(StopSignals.fromJSON(closing?.signals)))
  return ends(draftOf(closing?.reason ?? 'error', signal, { overridable: false }))
}

/** A run for a last answer that did not come, or not all of it. */
function endAlone(run: Run, reply: Reply): Eventually<Outcome> | undefined {
  return reply.kind === 'answered' ? endIncomplete(run, reply) : endUnanswered(run, reply)
}
