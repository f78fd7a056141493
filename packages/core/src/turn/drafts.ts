import type { AbortCause } from '../cancel/abort.ts'
import { costLimitSignal, timeLimitSignal } from '../guards/limits.ts'
import { usdOf } from '../budget/prices.ts'
import { HaltingError } from '../errors.ts'
import { ModelError, RetriesExhaustedError, type ModelErrorJson } from '../model/model-error.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import type { AssistantEntry } from '../transcript.ts'
import { draftOf, type Draft } from './outcome.ts'

// The endings that more than one phase can come to, each with its figures.

/** An abort: its cause decides the reason, the place tells between streaming and tools. */
export function abortDraft(cause: AbortCause, place: 'streaming' | 'tools', state: RunState, ports: Ports): Draft {
  const source = 'abort'
  const used = { cause, turn: state.spent.turns }
  switch (cause) {
    case 'time': {
      const limitMs = ports.settings.maxDurationMs
      return draftOf('time_limit', timeLimitSignal(Math.max(activeMs(state), limitMs), limitMs, source), {
        overridable: false,
      })
    }
    case 'budget':
      return draftOf('max_budget_usd', budgetSignal(state, ports, source), {
        wrapsUp: false,
      })
    case 'abandoned':
      return draftOf(
        'abandoned',
        new StopSignal({ reason: 'user_requested', message: 'The consumer of the run left', context: used, source }),
      )
    case 'user':
    case 'interrupt':
    case 'terminated':
    case 'parent': {
      const message = abortMessages[cause]
      const signal = new StopSignal({ reason: 'user_requested', message, context: used, source })
      const say = cause === 'interrupt' ? {} : { say: { interruption: place } as const }
      return draftOf(place === 'streaming' ? 'aborted_streaming' : 'aborted_tools', signal, say)
    }
  }
}

const abortMessages = {
  user: 'Interrupted by the user',
  interrupt: 'Interrupted by a new message',
  terminated: 'The process was told to end',
  parent: 'The parent run was aborted',
} as const

export function maxTurnsDraft(state: RunState, ports: Ports): Draft {
  const { maxTurns } = ports.settings
  const turnCount = state.spent.turns + 1
  const signal = new StopSignal({
    reason: 'steps_limit',
    message: `Reached maximum number of turns (${maxTurns})`,
    context: { used: maxTurns, limit: maxTurns, turnCount },
    source: 'max_turns',
  })
  return draftOf('max_turns', signal, {
    raisedBy: ['max_turns'],
    say: { type: 'max_turns_reached', maxTurns, turnCount },
  })
}

/** The budget that is used up: the session's, or a cost guard's for this run. */
export function budgetSignal(state: RunState, { settings }: Ports, source: string): StopSignal {
  const { maxBudgetUsd, maxRunUsd, spentBeforeUsd } = settings
  const used = committedUsd(state)
  return maxRunUsd < maxBudgetUsd - spentBeforeUsd
    ? costLimitSignal(used, maxRunUsd, source)
    : costLimitSignal(spentBeforeUsd + used, maxBudgetUsd, source)
}

export function budgetDraft(state: RunState, ports: Ports): Draft {
  return draftOf('max_budget_usd', budgetSignal(state, ports, 'max_budget_usd'))
}

/** The model failed for good. `attempts` above 1: retries ran out. */
export function modelErrorDraft(error: ModelErrorJson, attempts: number): Draft {
  const exhausted = error.retryable && attempts > 1
  const failure = exhausted ? new RetriesExhaustedError(attempts, error) : new ModelError(error)
  const signal = new StopSignal({
    reason: exhausted ? 'retry_limit' : 'error',
    message: failure.message,
    context: { kind: error.kind, status: error.status, attempts, requestId: error.requestId },
    source: 'model',
  })
  return draftOf('model_error', signal, { say: { error: wireKind(error), message: failure.message }, error: failure })
}

export function promptTooLongDraft(error: ModelErrorJson): Draft {
  const signal = new StopSignal({
    reason: 'error',
    message: error.message,
    context: { kind: error.kind, status: error.status },
    source: 'model',
  })
  return draftOf('prompt_too_long', signal, {
    say: { error: 'invalid_request', message: error.message },
    error: modelFailure('prompt_too_long', error),
  })
}

export function imageErrorDraft(error: ModelErrorJson): Draft {
  const signal = new StopSignal({
    reason: 'error',
    message: error.message,
    context: { kind: error.kind, status: error.status },
    source: 'model',
  })
  return draftOf('image_error', signal, {
    say: { error: 'invalid_request', message: error.message },
    error: modelFailure('image', error),
  })
}

function modelFailure(code: 'prompt_too_long' | 'image', error: ModelErrorJson): HaltingError {
  return new HaltingError(code, error.message, {
    details: { kind: error.kind, status: error.status, requestId: error.requestId },
  })
}

/** The kind as the `error` field of the SDK message format names it (spec R-SDK-12). */
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

export function activeMs(state: RunState): number {
  return state.spent.now - state.spent.startedAt
}

/** What was spent, worst cases included. */
export function committedUsd(state: RunState): number {
  return usdOf(state.spent.nanos + state.spent.unknownNanos)
}

/** The run's tokens are used up in the middle of a reply. */
export function loweredTokensDraft(state: RunState, ports: Ports): Draft {
  const { totalTokens } = state.spent
  const limit = ports.settings.maxTokens
  const message = `Token limit reached: ${totalTokens}/${limit}; the reply was cut at what was left`
  return draftOf(
    'token_limit',
    new StopSignal({ reason: 'token_limit', message, context: { used: totalTokens, limit }, source: 'ledger' }),
    { raisedBy: ['ledger'] },
  )
}
