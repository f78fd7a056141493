import type { AbortCause } from '../values/abort.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { act } from './act.ts'
import { afterAnswer } from './after-answer.ts'
import { appendReply, type Answer } from './ask.ts'
import { closeAbortedCalls, closeNotRun } from '../tool-calls/close-calls.ts'
import type { RecordPosition } from '../run/tool-phase.ts'
import { recordedCalls, committedUsd, type Run } from '../run/run.ts'
import { externalInputAt, guardsAt } from '../run/cancellation-points.ts'
import { abortEnding, budgetEnding, tokenLimitEnding, refusalEnding, signalEnding } from '../run/pending-endings.ts'
import { loweredTimeEnding } from './lowered-limit.ts'
import { isIncomplete, recoverIncomplete } from './incomplete.ts'
import { endWith, type PendingEnding, type Outcome } from '../run/outcome.ts'
import { addHookMessages, noSubject, runHooks, type HookRun } from '../request/run-hooks.ts'
import { notRunReasons, runStoppedBy } from '../tools/result-texts.ts'

/** Processes a reply. An incomplete reply is recovered; any other is appended. Then its tool calls run, or the answer is checked. */
export function afterReply(run: Run, reply: Answer): MaybePromise<Outcome> {
  const { message, streamError } = reply
  if (message.stop_reason === 'refusal') return endModelRefusal(run, reply)
  const raisedBy = isIncomplete(reply) ? guardsAt(run, 'after_reply', run.turnEnd) : noGuards
  const recovery = raisedBy.length > 0 ? undefined : recoverIncomplete(run, reply)
  if (recovery !== undefined) return recovery
  if (streamError !== null)
    run.emit({ type: 'notice', message: `The reply broke off and may be incomplete: ${streamError.message}` })
  appendReply(run, reply)
  const recorded = recordedCalls(run, reply.calls)
  const position = recorded === undefined ? run.turnEnd : 'passed'
  return andThen(runHooks(run, 'afterInference', noSubject, position), (hooks) => {
    if (hooks.aborted !== undefined) return endAborted(run, reply, hooks.aborted)
    return andThen(externalInputAt(run, 'after_reply'), (abort) =>
      abort === undefined
        ? continueAfterReply(run, reply, hooks, { position, raisedBy })
        : endAborted(run, reply, abort),
    )
  })
}

const noGuards: readonly string[] = Object.freeze([])

function endModelRefusal(run: Run, reply: Answer): Outcome {
  appendReply(run, reply)
  closeNotRun(run, reply.calls, notRunReasons.refused)
  const signalEnding = raisedSignalEnding(run, guardsAt(run, 'after_reply', run.turnEnd))
  if (signalEnding !== undefined) return endWith(signalEnding)
  return endWith(refusalEnding(reply.message))
}

/** The position of the reply in the record, and the guards that stop on it. */
interface ReplyCheck {
  readonly position: RecordPosition
  readonly raisedBy: readonly string[]
}

/** Checks limits and stop signals. Then runs the tool calls of the reply, or checks the answer. */
function continueAfterReply(
  run: Run,
  { message, calls, early }: Answer,
  { messages }: HookRun,
  { position, raisedBy }: ReplyCheck,
): MaybePromise<Outcome> {
  const stop =
    position === 'passed'
      ? undefined
      : (budgetReachedEnding(run) ??
        tokensExceededEnding(run) ??
        loweredTimeEnding(run) ??
        raisedSignalEnding(run, raisedBy))
  if (stop !== undefined) {
    closeNotRun(run, calls, runStoppedBy(stop.signal.toString()))
    addHookMessages(run, messages)
    return endWith(stop)
  }
  if (calls.length > 0) return act(run, calls, early, messages)
  addHookMessages(run, messages)
  return afterAnswer(run, message)
}

function raisedSignalEnding(run: Run, raisedBy: readonly string[]): PendingEnding | undefined {
  return run.signals.hasAny() ? signalEnding(run, raisedBy) : undefined
}

function endAborted(run: Run, { message, early }: Answer, cause: AbortCause): MaybePromise<Outcome> {
  return andThen(closeAbortedCalls(run, message, cause, early), () => endWith(abortEnding(run, cause, 'streaming')))
}

// Spec R-BUD-8.
/** Compares the cost with the budget after every message, in addition to the check of the ledger. */
function budgetReachedEnding(run: Run): PendingEnding | undefined {
  const spentUsd = run.ports.spentBeforeUsd + committedUsd(run.spent)
  return spentUsd >= run.context.settings.maxBudgetUsd ? budgetEnding(run) : undefined
}

/** Ends the run when the service wrote more tokens than requested. The ledger cannot prevent that. */
function tokensExceededEnding(run: Run): PendingEnding | undefined {
  return run.spent.totalTokens > run.context.settings.maxTotalTokens ? tokenLimitEnding(run) : undefined
}
