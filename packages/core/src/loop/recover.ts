import type { ContextManager, ContextView } from '../context/context-manager.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { namedMedia, containsMedia, type MediaPlace } from '../model/media/places.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import { noCount } from '../state/state.ts'
import { StopSignal } from '../endings/signal.ts'
import { appendPartialReply, appendReply, type Answer, type Reply } from './ask.ts'
import { closeAbortedCalls } from '../tool-calls/close-calls.ts'
import { compactBy, recordedCompaction } from './compaction.ts'
import { contextViewOf, dueCompaction, thrashEndingOf } from './defend-context.ts'
import {
  abortEnding,
  budgetEnding,
  imageErrorEnding,
  tokenLimitEnding,
  modelErrorEnding,
  promptTooLongEnding,
  signalEnding,
} from '../run/pending-endings.ts'
import { externalInputAt } from '../run/cancellation-points.ts'
import type { Failure } from '../request/ask-model.ts'
import { leaseEnding, overBudgetEnding, sharedBudgetEnding, standingCutEnding } from './over-budget.ts'
import { pendingEndingOf, endWith, proceed, continueWith, type Outcome, type Route } from '../run/outcome.ts'
import { canEscalate } from '../request/current-model.ts'
import type { Run } from '../run/run.ts'
import { connectionLost, outputLimitReached, rejectedImageRemoved } from '../run/turn-texts.ts'
import { askToFinishReply } from './verify.ts'
import {
  cutRepeatedly,
  pausedTooOften,
  tooLongForModel,
  tooLongForWindow,
  windowFilled,
} from '../endings/ending-texts.ts'

/** For a reply that is not an answer: how the run can continue, and how it ends if it cannot. */
export function recover(run: Run, reply: Exclude<Reply, Answer>): MaybePromise<Outcome> {
  switch (reply.kind) {
    case 'aborted':
      return endAborted(run, reply)
    case 'over_budget':
      return endWith(overBudgetEnding(run, reply.overBudget))
    case 'overloaded':
      return proceed([fallback], () => modelErrorEnding(reply.error, reply.attempts))
    case 'failed':
      return reply.wasStopped === true ? endStopped(run, reply) : recoverFailure(run, reply)
  }
}

/** The ending of `recover`, without its routes. */
export function endUnanswered(run: Run, reply: Exclude<Reply, Answer>): MaybePromise<Outcome> {
  return andThen(recover(run, reply), endWithoutRoutes)
}

/** The ending of an outcome, without taking a route or calling a hook. */
export function endWithoutRoutes(outcome: Outcome): Outcome {
  return endWith({ ...outcome.pendingEnding(), overridable: false, wrapsUp: false })
}

/** If the run received a stop request while it waited for a service, the run ends with the stop, not with the failure. */
function endStopped(run: Run, failure: Failure): MaybePromise<Outcome> {
  return andThen(externalInputAt(run, 'after_reply'), (cause) => {
    if (cause !== undefined) return endWith(abortEnding(run, cause, 'streaming'))
    return run.signals.hasAny() ? endWith(signalEnding(run, [])) : recoverFailure(run, failure)
  })
}

function recoverFailure(run: Run, failure: Failure): Outcome {
  const { error } = failure
  switch (error.kind) {
    case 'prompt_too_long':
      return proceed(contextRoutes, () => promptTooLongEnding(error))
    case 'image':
      return proceed([mediaRoute(error)], () => ({
        ...imageErrorEnding(error),
        appendOmitted: (from) => removeAllMedia(from, error),
      }))
    default:
      return endWith(modelErrorEnding(error, failure.attempts, failure.retryAtMs))
  }
}

/** The routes after a 413 response: drain staged collapses, then compact. */
const contextRoutes: readonly Route[] = [
  contextRoute('collapse_drain_retry', 'collapse', ({ context }, view) => context.contextDefence.drain(view)),
  contextRoute('reactive_compact_retry', 'reactive', ({ context }, view) =>
    context.contextDefence.compact(view, 'reactive'),
  ),
]

function contextRoute(
  transition: 'collapse_drain_retry' | 'reactive_compact_retry',
  place: 'collapse' | 'reactive',
  layer: (run: Run, view: ContextView) => ReturnType<ContextManager['drain']>,
): Route {
  return {
    transition,
    take(run) {
      const replan = () => dueCompaction(layer(run, contextViewOf(run)))
      const recorded = recordedCompaction(run, place)
      const due = recorded ?? layer(run, contextViewOf(run))
      const compaction = recorded ?? dueCompaction(due)
      if (compaction === undefined) return thrashEndingOf(run, due) ?? 'declined'
      const call = { place, position: run.turnEnd, replan }
      return andThen(compactBy(run, compaction, call), (result) => (result === 'done' ? 'taken' : result))
    },
  }
}

function mediaRoute(error: ModelErrorJson): Route {
  return {
    transition: 'media_recovery',
    take(run) {
      // Without media in the conversation, the same request would fail again, so the route is declined.
      if (!run.transcript.messages().some(containsMedia)) return 'declined'
      removeMedia(run, error, namedMedia(error.message, run.transcript.messages()))
      return 'taken'
    },
  }
}

/** Replaces the media that the refusal names, or all media, by a note. Otherwise every later request would be refused too. */
function removeMedia(run: Run, { message }: ModelErrorJson, named?: MediaPlace): void {
  const note = rejectedImageRemoved(message)
  const entry = { kind: 'media_removed', id: run.entryId('media_removed'), note } as const
  run.append(named === undefined ? entry : { ...entry, at: [named] })
  // The notes replace images that the token count includes, so the count is no longer valid.
  run.update({ counted: noCount })
}

/** Removes the media even though the run ends, so that the next run does not get the same refusal. */
function removeAllMedia(run: Run, error: ModelErrorJson): void {
  if (run.transcript.messages().some(containsMedia)) removeMedia(run, error)
}

const fallback: Route = {
  transition: 'model_fallback',
  take(run) {
    run.emit({ type: 'notice', message: 'The model is overloaded; switching to the fallback model.' })
    return 'taken'
  },
}

/**
 * Handles a reply that reached its output limit without a complete tool call. Raises the limit, or else asks the model
 * to continue, or else ends the run.
 */
export function recoverCut(run: Run, reply: Answer): Outcome {
  const { message, grant } = reply
  if (grant.lowered !== null) {
    appendReply(run, reply)
    if (grant.isOfLease === true) return endWith(leaseEnding(run, {}, grant.leaseOthers))
    if (grant.shared !== undefined) return endWith(sharedBudgetEnding(grant.shared, grant.lowered))
    if (grant.isOfStanding === true) return endWith(standingCutEnding(run, grant.standing))
    return endWith(grant.lowered === 'usd' ? budgetEnding(run) : tokenLimitEnding(run))
  }
  const limit = grant.maxTokens
  const signal = new StopSignal({
    reason: 'token_limit',
    message: cutRepeatedly(limit),
    context: { used: message.usage.output_tokens, limit },
    source: 'model',
  })
  const closingEntry = {
    error: 'max_output_tokens',
    message: grant.isOfWindow === true ? tooLongForWindow(limit) : tooLongForModel(limit),
  } as const
  const resume: Route = {
    transition: 'max_output_tokens_recovery',
    take(from) {
      appendReply(from, reply)
      askToFinishReply(from, outputLimitReached)
      return 'taken'
    },
  }
  // If neither recovery is available, the truncated reply is appended.
  const appendOmitted = (from: Run): void => appendReply(from, reply)
  // A higher limit would not fit the window. The next request uses the space that is left by then.
  const routes = grant.isOfWindow === true ? [resume] : [escalate, resume]
  return proceed(routes, () => pendingEndingOf('max_output_tokens', signal, { closingEntry, appendOmitted }))
}

const escalate: Route = {
  transition: 'max_output_tokens_escalate',
  // The truncated reply is not appended. The same request is made again with the model's highest output limit.
  take: (run) => (canEscalate(run) ? 'taken' : 'declined'),
}

/** Handles a stream that broke after complete text. The model is asked to continue once; a second failure is an error. */
export function recoverBroken(run: Run, reply: Answer, error: ModelErrorJson): Outcome {
  appendReply(run, reply)
  run.emit({ type: 'notice', message: `The reply broke off and may be incomplete: ${error.message}` })
  return proceed([resumeBroken], () => modelErrorEnding(error, 1))
}

const resumeBroken: Route = {
  transition: 'max_output_tokens_recovery',
  take(run) {
    if (run.spent.resumedBrokenReply) return 'declined'
    askToFinishReply(run, connectionLost)
    run.update({ resumedBrokenReply: true })
    return 'taken'
  },
}

/** The service paused a long turn (`pause_turn`). The reply is appended, and the request is made again to continue it. */
export function resumePaused(run: Run, reply: Answer): Outcome {
  appendReply(run, reply)
  const error = { ...pausedError, message: pausedTooOften }
  return proceed([continueWith('pause_turn')], () => modelErrorEnding(error, 1))
}

const pausedError: ModelErrorJson = {
  kind: 'server_error',
  message: '',
  status: null,
  retryable: false,
  retryAfterMs: null,
  requestId: null,
  usage: null,
  billed: 'nothing',
}

/** The context window became full while the model wrote. The run handles this like a prompt that is too long. */
export function recoverWindow(): Outcome {
  const message = windowFilled
  return proceed(contextRoutes, () => promptTooLongEnding({ ...pausedError, kind: 'prompt_too_long', message }))
}

/** The reply was aborted while it streamed. The received part is appended, and each call in it gets a result. */
function endAborted(run: Run, reply: Extract<Reply, { readonly kind: 'aborted' }>): MaybePromise<Outcome> {
  const { cause, partial, early } = reply
  const pendingEnding = abortEnding(run, cause, 'streaming')
  if (partial === null) return endWith(pendingEnding)
  appendPartialReply(run, partial)
  return andThen(closeAbortedCalls(run, partial, cause, early), () => endWith(pendingEnding))
}
