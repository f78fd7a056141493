import { allowances } from '../allowance.ts'
import type { Emit } from '../events.ts'
import type { AssistantMessage, ToolUseBlock } from '../messages.ts'
import { inputTokensOf, toolCallsOf } from '../messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import { longestRetryWaitMs, overloadsBeforeFallback, retryDelayMs } from '../model/retry.ts'
import type { Ports } from '../ports.ts'
import { at, entryId, withSpent, type RunState } from '../state.ts'
import { noEarlyStarts, type EarlyStarts } from '../tools/early-starts.ts'
import type { StepResult } from '../steps/steps.ts'
import { makeAttempt, type Attempt } from './attempt.ts'
import { chargeOf, type Grant, type Refusal } from './charge.ts'
import { startEarly } from './early.ts'
import { say } from './flow.ts'
import { currentModel, outputCap } from './current-model.ts'
import { keyOf } from './keys.ts'
import type { AbortCause } from '../cancel/abort.ts'

/** What the model said, or how the request failed. */
export type Reply =
  | Answer
  /** The service or the way to it failed for good; `recover` looks for a way on. */
  | { readonly kind: 'failed'; readonly state: RunState; readonly error: ModelErrorJson; readonly attempts: number }
  | { readonly kind: 'overloaded'; readonly state: RunState; readonly error: ModelErrorJson; readonly attempts: number }
  | { readonly kind: 'refused'; readonly state: RunState; readonly refusal: Refusal }
  | {
      readonly kind: 'aborted'
      readonly state: RunState
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly early: EarlyStarts
    }

export interface Answer {
  readonly kind: 'answered'
  readonly state: RunState
  readonly message: AssistantMessage
  /** The service told what it read and wrote: later requests count on from there. */
  readonly isCounted: boolean
  readonly calls: readonly ToolUseBlock[]
  /** Set when the stream broke after completed blocks. */
  readonly interrupted: ModelErrorJson | null
  readonly grant: Grant
  readonly early: EarlyStarts
}

/** Asks the model: attempts until one is answered or the failure is final. The message is not in the transcript yet. */
export async function respond(state: RunState, ports: Ports, emit: Emit): Promise<Reply> {
  const closing = state.spent.closing !== null
  let current = state
  const model = currentModel(current, ports)
  const cap = outputCap(current, model)
  let overloads = 0
  for (let attempt = 1; ; attempt++) {
    const { request } = current.spent
    const early = closing ? noEarlyStarts : startEarly(current, ports, emit)
    emit({ type: 'model_start', request, attempt, model: model.id })
    const step = await makeAttempt({ attempt, model, cap, closing }, current, ports, emit, early)
    current = accounted(current, step, emit, attempt)
    ports.progress.spent = current.spent
    const result = step.value
    switch (result.kind) {
      case 'answered':
        return answer(current, result, early)
      case 'refused':
        return { kind: 'refused', state: current, refusal: result.refusal }
      case 'aborted':
        return { kind: 'aborted', state: current, cause: result.cause, partial: result.partial, early }
      case 'unknown':
        if (attempt > ports.settings.maxRetries)
          return { kind: 'failed', state: current, error: lostError, attempts: attempt }
        continue
      case 'failed': {
        const { error } = result
        overloads = error.kind === 'overloaded' ? overloads + 1 : 0
        if (overloads >= overloadsBeforeFallback && canFallBack(current, ports)) {
          return { kind: 'overloaded', state: current, error, attempts: attempt }
        }
        const key = keyOf(current, `retry:${request}.${attempt}`)
        const delayMs = retryDelayMs(attempt, error, key)
        if (!error.retryable || attempt > ports.settings.maxRetries || delayMs > longestRetryWaitMs)
          return { kind: 'failed', state: current, error, attempts: attempt }
        emit({ type: 'retry', request, attempt, maxRetries: ports.settings.maxRetries, delayMs, error })
        await ports.steps.sleep(key, delayMs, { signal: ports.abort.signal })
        continue
      }
    }
  }
}

const lostError: ModelErrorJson = {
  kind: 'unknown',
  message: 'The process ended again and again while the model was asked; what it answered is not known.',
  status: null,
  retryable: false,
  retryAfterMs: null,
  requestId: null,
  usage: null,
  billed: 'unknown',
}

function canFallBack(state: RunState, ports: Ports): boolean {
  return ports.fallbackModel !== null && (state.spent.laps.inRun.model_fallback ?? 0) < allowances.model_fallback.laps
}

function accounted(state: RunState, step: StepResult<Attempt>, emit: Emit, attempt: number): RunState {
  const result = step.value
  const { request } = state.spent
  const { durationMs } = step
  if (result.kind === 'refused') {
    emit({ type: 'model_end', request, attempt, outcome: 'refused', usage: null, costUsd: 0, durationMs })
    return at(state, step)
  }
  const { usage, nanos } = result.charge
  emit({ type: 'model_end', request, attempt, outcome: result.kind, usage, costUsd: nanos / 1e9, durationMs })
  const { spent } = state
  // An attempt that was aborted before it was made reached nobody.
  if (result.kind === 'aborted' && result.charge.known) return at(state, step)
  const turns = spent.turnBegins ? spent.turns + 1 : spent.turns
  const now = Math.max(spent.now, step.at + durationMs)
  return withSpent(state, {
    ...chargeOf(spent, result.charge),
    now,
    turns,
    turnBegins: false,
    requests: spent.requests + 1,
    apiMs: spent.apiMs + durationMs,
  })
}

function answer(state: RunState, result: Extract<Attempt, { readonly kind: 'answered' }>, early: EarlyStarts): Answer {
  const { message, interrupted, grant, charge } = result
  const counted = { tokens: inputTokensOf(message.usage), length: state.transcript.messages().length }
  const isCounted = charge.usage !== null && counted.tokens > 0
  return {
    kind: 'answered',
    state: withSpent(state, { lastStopReason: message.stop_reason, ...(isCounted ? { counted } : {}) }),
    message,
    isCounted,
    calls: toolCallsOf(message),
    interrupted,
    grant,
    early,
  }
}

/** Puts the model's message on record. */
export function withReply(
  state: RunState,
  { message, isCounted }: Pick<Answer, 'message' | 'isCounted'>,
  emit: Emit,
  aborted = false,
): RunState {
  const id = entryId(state, 'assistant')
  const entry = aborted
    ? ({ kind: 'assistant', id, message, aborted: true } as const)
    : ({ kind: 'assistant', id, message } as const)
  const next = say(state, entry, emit)
  const { counted } = next.spent
  const length = next.transcript.messages().length
  // The reply's own tokens were counted too: it is input from now on.
  const grown =
    isCounted && length === counted.length + 1
      ? { counted: { tokens: counted.tokens + message.usage.output_tokens, length } }
      : {}
  return withSpent(next, { assistantMessages: next.spent.assistantMessages + 1, ...grown })
}
