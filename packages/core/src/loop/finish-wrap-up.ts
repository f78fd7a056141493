import type { MaybePromise } from '../values/maybe-promise.ts'
import { toolCallsOf } from '../model/messages.ts'
import type { RunProgress } from '../state/state.ts'
import { StopSignal } from '../endings/signal.ts'
import { StopSignals } from '../endings/signals.ts'
import { appendReply, type Reply } from './ask.ts'
import { closeNotRun } from '../tool-calls/close-calls.ts'
import { endIncomplete } from './incomplete.ts'
import { pendingEndingOf, endWith, type Outcome } from '../run/outcome.ts'
import { endUnanswered } from './recover.ts'
import type { Run } from '../run/run.ts'
import { notRunReasons } from '../tools/result-texts.ts'
import { lastAnswerGiven } from '../endings/ending-texts.ts'

/** The ending of a run that only requests a last answer. No limit produces this ending, so `finishWrapUp` recognizes such a run by it. */
export const lastAnswerEnding: NonNullable<RunProgress['closing']> = Object.freeze({
  reason: 'completed',
  signal: new StopSignal({ reason: 'completed', message: lastAnswerGiven, source: 'run' }).toJSON(),
  signals: Object.freeze([]),
})

// Spec R-DEC-6a.
/**
 * Processes the reply to the request for a last answer. The run ends with its pending ending, whatever the reply. A run
 * that only requests a last answer ends according to the reply.
 */
export function finishWrapUp(run: Run, reply: Reply): MaybePromise<Outcome> {
  const { closing } = run.spent
  run.update({ closing: null })
  const ended = closing?.reason === lastAnswerEnding.reason ? endLastAnswerRun(run, reply) : undefined
  if (ended !== undefined) return ended
  if (reply.kind === 'answered') {
    appendReply(run, reply)
    closeNotRun(run, toolCallsOf(reply.message), notRunReasons.lastAnswer)
  }
  const signal = StopSignal.fromJSON(closing?.signal)
  run.setContinuation(run.continuation.withStopSignals(StopSignals.fromJSON(closing?.signals)))
  return endWith(pendingEndingOf(closing?.reason ?? 'error', signal, { overridable: false }))
}

/** The ending of a run for a last answer that failed or is incomplete. */
function endLastAnswerRun(run: Run, reply: Reply): MaybePromise<Outcome> | undefined {
  return reply.kind === 'answered' ? endIncomplete(run, reply) : endUnanswered(run, reply)
}
