import type { AbortCause } from '../values/abort.ts'
import { costLimitSignal, timeLimitSignal } from '../limits/limit-guards.ts'
import { HaltingError } from '../values/errors.ts'
import { isoTimeOf } from '../values/iso-time.ts'
import type { AssistantMessage } from '../model/messages.ts'
import { ModelError, RetriesExhaustedError, type ModelErrorJson } from '../model/model-error.ts'
import { StopSignal } from '../endings/signal.ts'
import { endingReasonOf } from '../endings/run-result.ts'
import type { AssistantEntry } from '../conversation/transcript.ts'
import { activeMs, committedUsd, type Run } from './run.ts'
import { isRunNarrower } from './limit-use.ts'
import { pendingEndingOf, type PendingEnding } from './outcome.ts'
import {
  interruptedByMessage,
  interruptedByUser,
  parentAborted,
  readerLeft,
  refused,
  replyCutToRest,
  retryLater,
  runDollarLimit,
  stoppedBy,
  tokensUsedUp,
  turnLimit,
} from '../endings/ending-texts.ts'

// Endings that more than one phase uses, with their figures.

/** The ending of an abort. The cause decides the reason. `place` decides between `aborted_streaming` and `aborted_tools`. */
export function abortEnding(run: Run, cause: AbortCause, place: 'streaming' | 'tools'): PendingEnding {
  const source = 'abort'
  const used = { cause, turn: run.spent.turns }
  switch (cause) {
    case 'time': {
      const limitMs = run.context.settings.maxDurationMs
      const signal = timeLimitSignal(Math.max(activeMs(run.spent), limitMs), limitMs, source)
      return pendingEndingOf('time_limit', signal, { overridable: false, isOwnLimit: true })
    }
    case 'budget':
      return pendingEndingOf('max_budget_usd', budgetSignal(run, source), { wrapsUp: false })
    case 'abandoned':
      return pendingEndingOf(
        'abandoned',
        new StopSignal({
          reason: 'user_requested',
          message: readerLeft,
          context: used,
          source,
        }),
      )
    case 'user':
    case 'interrupt':
    case 'terminated':
    case 'parent': {
      const message = abortMessages[cause]
      const signal = new StopSignal({ reason: 'user_requested', message, context: used, source })
      const more = cause === 'interrupt' ? {} : { closingEntry: { interruption: place } as const }
      return pendingEndingOf(place === 'streaming' ? 'aborted_streaming' : 'aborted_tools', signal, more)
    }
  }
}

const abortMessages = {
  user: interruptedByUser,
  interrupt: interruptedByMessage,
  terminated: 'Terminated (SIGTERM)',
  parent: parentAborted,
} as const

/** @param used Number of turns that were made. It exceeds the limit if the limit was lowered. */
export function maxTurnsEnding({ context, spent }: Run, used: number = context.settings.maxTurns): PendingEnding {
  const { maxTurns } = context.settings
  const turnCount = spent.turns + 1
  const signal = new StopSignal({
    reason: 'steps_limit',
    message: turnLimit(maxTurns),
    context: { used, limit: maxTurns, turnCount },
    source: 'max_turns',
  })
  return pendingEndingOf('max_turns', signal, {
    raisedBy: ['limit:max_turns'],
    isOwnLimit: true,
    closingEntry: { type: 'max_turns_reached', maxTurns, turnCount },
  })
}

/** The signal of a used-up dollar budget: the session's, or that of a cost guard of this run. */
export function budgetSignal({ context, ports, spent }: Run, source: string): StopSignal {
  const { maxBudgetUsd, maxRunUsd } = context.settings
  const used = committedUsd(spent)
  return isRunNarrower({ context, ports })
    ? runLimitSignal(used, maxRunUsd, source)
    : costLimitSignal(ports.spentBeforeUsd + used, maxBudgetUsd, source)
}

/** The signal for the dollar limit of the run alone. */
function runLimitSignal(used: number, limit: number, source: string): StopSignal {
  const signal = costLimitSignal(used, limit, source)
  const message = runDollarLimit(limit)
  return new StopSignal({ ...signal.toJSON(), message, context: { ...signal.context, of: 'run' } })
}

export function budgetEnding(run: Run): PendingEnding {
  return pendingEndingOf('max_budget_usd', budgetSignal(run, 'max_budget_usd'), { isOwnLimit: true })
}

/**
 * The model failed, and the request is not retried. With `attempts` above 1 the retries are used up. `retryAtMs`: when
 * its service accepts requests again.
 */
export function modelErrorEnding(error: ModelErrorJson, attempts: number, retryAtMs?: number): PendingEnding {
  const exhausted = error.retryable && attempts > 1
  const failure = exhausted ? new RetriesExhaustedError(attempts, error) : new ModelError(error)
  const retryAt = retryAtMs === undefined ? undefined : isoTimeOf(retryAtMs)
  const { kind, status, requestId } = error
  const signal = new StopSignal({
    reason: exhausted ? 'retry_limit' : 'error',
    message: retryAt === undefined ? failure.message : retryLater(failure.message.replace(/[.\s]+$/, ''), retryAt),
    context: { kind, status, attempts, requestId, ...(retryAt !== undefined && { retryAt }) },
    source: 'model',
  })
  return pendingEndingOf('model_error', signal, {
    closingEntry: { error: wireKind(error), message: failure.message },
    error: failure,
  })
}

export function refusalEnding({ stop_reason: stopReason }: AssistantMessage): PendingEnding {
  const message = refused
  return pendingEndingOf(
    'refusal',
    new StopSignal({ reason: 'error', message, context: { stopReason }, source: 'model' }),
  )
}

export function promptTooLongEnding(error: ModelErrorJson): PendingEnding {
  const signal = new StopSignal({
    reason: 'error',
    message: error.message,
    context: { kind: error.kind, status: error.status },
    source: 'model',
  })
  return pendingEndingOf('prompt_too_long', signal, {
    closingEntry: { error: 'invalid_request', message: error.message },
    error: modelFailure('prompt_too_long', error),
  })
}

export function imageErrorEnding(error: ModelErrorJson): PendingEnding {
  const signal = new StopSignal({
    reason: 'error',
    message: error.message,
    context: { kind: error.kind, status: error.status },
    source: 'model',
  })
  return pendingEndingOf('image_error', signal, {
    closingEntry: { error: 'invalid_request', message: error.message },
    error: modelFailure('image', error),
  })
}

/** The ending when the service would refuse the person's media. No request was made. */
export function mediaErrorEnding(message: string): PendingEnding {
  const signal = new StopSignal({ reason: 'error', message, context: { kind: 'image', status: null }, source: 'media' })
  return pendingEndingOf('image_error', signal, {
    closingEntry: { error: 'invalid_request', message },
    error: new HaltingError('image', message, { details: { kind: 'image', status: null, requestId: null } }),
  })
}

function modelFailure(code: 'prompt_too_long' | 'image', error: ModelErrorJson): HaltingError {
  return new HaltingError(code, error.message, {
    details: { kind: error.kind, status: error.status, requestId: error.requestId },
  })
}

// Spec R-SDK-12.
/** The kind as the `error` field of the SDK message format names it. */
function wireKind(error: ModelErrorJson): AssistantEntry['error'] & string {
  switch (error.kind) {
    case 'prompt_too_long':
    case 'image':
      return 'invalid_request'
    case 'timeout':
    case 'connection':
      return 'server_error'
    default:
      return error.kind
  }
}

/** The ending when the token limit is reached. `how` says at which point; absent in the middle of a reply. */
export function tokenLimitEnding({ context, spent }: Run, how: string = replyCutToRest): PendingEnding {
  const used = spent.totalTokens
  const limit = context.settings.maxTotalTokens
  const message = tokensUsedUp(used, limit, how)
  const signal = new StopSignal({ reason: 'token_limit', message, context: { used, limit }, source: 'ledger' })
  return pendingEndingOf('token_limit', signal, { raisedBy: ['limit:tokens'], isOwnLimit: true })
}

/** The ending of the most urgent stop signal. */
export function signalEnding(run: Run, raisedBy: readonly string[]): PendingEnding {
  const signal = run.signals.highest() ?? new StopSignal({ reason: 'unknown' })
  return pendingEndingOf(endingReasonOf(signal, 'guard'), signal, { raisedBy })
}

/** The signal of a hook that stopped the run with its own reason. */
export function stopRequestedSignal(by: string, reason: string): StopSignal {
  return new StopSignal({
    reason: 'stop_requested',
    message: reason || stoppedBy(by),
    context: { hook: by },
    source: by,
  })
}
