import { allowances } from '../allowance.ts'
import type { AbortCause } from '../cancel/abort.ts'
import type { AssistantMessage, ToolUseBlock } from '../messages.ts'
import { inputTokensOf, toolCallsOf } from '../messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import { longestRetryWaitMs, overloadsBeforeFallback, retryDelayMs } from '../model/retry.ts'
import type { RunProgress } from '../state.ts'
import type { StepResult } from '../steps/steps.ts'
import { noEarlyStarts, type EarlyStarts } from '../tools/early-starts.ts'
import { makeAttempt, type Attempt } from './request/attempt.ts'
import { chargeOf, type Grant, type OverBudget } from './request/charge.ts'
import { currentModel, outputCap } from './request/current-model.ts'
import { startEarly } from './request/start-early.ts'
import type { Run } from './run.ts'

/** What the model said, or how the request failed. */
export type Reply =
  | Answer
  /** The service or the way to it failed for good; `recover` looks for a way on. */
  | { readonly kind: 'failed'; readonly error: ModelErrorJson; readonly attempts: number }
  | { readonly kind: 'overloaded'; readonly error: ModelErrorJson; readonly attempts: number }
  | { readonly kind: 'over_budget'; readonly overBudget: OverBudget }
  | {
      readonly kind: 'aborted'
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly early: EarlyStarts
    }

export interface Answer {
  readonly kind: 'answered'
  readonly message: AssistantMessage
  /** The service told what it read and wrote: later requests count on from there. */
  readonly isCounted: boolean
  readonly calls: readonly ToolUseBlock[]
  /** Set when the stream broke after completed blocks. */
  readonly streamError: ModelErrorJson | null
  readonly grant: Grant
  readonly early: EarlyStarts
}

/** Asks the model: attempts until one is answered or the failure is final. The message is not in the transcript yet. */
export async function ask(run: Run): Promise<Reply> {
  const closing = run.spent.closing !== null
  const model = currentModel(run)
  const cap = outputCap(run, model)
  const { request } = run.spent
  const { maxRetries } = run.context.settings
  let overloads = 0
  for (let attempt = 1; ; attempt++) {
    const early = closing ? noEarlyStarts : startEarly(run)
    run.emit({ type: 'model_start', request, attempt, model: model.id })
    const step = await makeAttempt(run, { attempt, model, cap, closing }, early)
    enterAttempt(run, attempt, step)
    const result = step.value
    switch (result.kind) {
      case 'answered':
        return answer(run, result, early)
      case 'over_budget':
        return result
      case 'aborted':
        return { kind: 'aborted', cause: result.cause, partial: result.partial, early }
      case 'unknown':
        if (attempt > maxRetries) return { kind: 'failed', error: lostError, attempts: attempt }
        continue
      case 'failed': {
        const { error } = result
        overloads = error.kind === 'overloaded' ? overloads + 1 : 0
        const name = `retry:${request}.${attempt}`
        const delayMs = retryDelayMs(attempt, error, run.key(name))
        const isFinal = !error.retryable || attempt > maxRetries || delayMs > longestRetryWaitMs
        // Where fewer attempts are made than it takes, overloads alone must have used them up.
        const isOverloaded = overloads >= overloadsBeforeFallback || (isFinal && overloads === attempt)
        if (isOverloaded && canFallBack(run)) return { kind: 'overloaded', error, attempts: attempt }
        if (isFinal) return { kind: 'failed', error, attempts: attempt }
        run.emit({ type: 'retry', request, attempt, maxRetries, delayMs, error })
        await run.ports.steps.sleep(run.key(name), delayMs, { signal: run.ports.abort.signal })
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

function canFallBack({ context, spent }: Run): boolean {
  return context.fallbackModel !== null && (spent.laps.inRun.model_fallback ?? 0) < allowances.model_fallback.laps
}

/** Enters what an attempt came to in the figures, and tells of it. */
function enterAttempt(run: Run, attempt: number, { value: result, durationMs }: StepResult<Attempt>): void {
  const { request } = run.spent
  if (result.kind === 'over_budget') {
    run.emit({ type: 'model_end', request, attempt, outcome: 'over_budget', usage: null, costUsd: 0, durationMs })
    return
  }
  const { kind: outcome, charge } = result
  const { usage } = charge
  run.emit({ type: 'model_end', request, attempt, outcome, usage, costUsd: charge.nanos / 1e9, durationMs })
  // An attempt that was aborted before it was made reached nobody.
  if (outcome === 'aborted' && charge.known) return
  run.update(chargeOf(run.spent, charge, 'turn'))
  const { turns, turnBegins, requests, apiMs } = run.spent
  run.update({
    turns: turnBegins ? turns + 1 : turns,
    turnBegins: false,
    requests: requests + 1,
    apiMs: apiMs + durationMs,
  })
}

function answer(run: Run, result: Extract<Attempt, { readonly kind: 'answered' }>, early: EarlyStarts): Answer {
  const { message, streamError, grant, charge } = result
  const tokens = inputTokensOf(message.usage)
  const isCounted = charge.usage !== null && tokens > 0
  const counted: RunProgress['counted'] = isCounted
    ? { tokens, length: run.transcript.messages().length }
    : run.spent.counted
  run.update({ lastStopReason: message.stop_reason, counted })
  return { kind: 'answered', message, isCounted, calls: toolCallsOf(message), streamError, grant, early }
}

/** Puts the model's message on record. */
export function appendReply(run: Run, { message, isCounted }: Pick<Answer, 'message' | 'isCounted'>): void {
  run.append({ kind: 'assistant', id: run.entryId('assistant'), message })
  const { spent } = run
  const { length } = run.transcript.messages()
  // The reply's own tokens were counted too: it is input from now on.
  const isNext = isCounted && length === spent.counted.length + 1
  run.update({
    assistantMessages: spent.assistantMessages + 1,
    counted: isNext ? { tokens: spent.counted.tokens + message.usage.output_tokens, length } : spent.counted,
  })
}

/** Puts what had come of a reply that was aborted on record. */
export function appendPartialReply(run: Run, message: AssistantMessage): void {
  run.append({ kind: 'assistant', id: run.entryId('assistant'), message, aborted: true })
  run.update({ assistantMessages: run.spent.assistantMessages + 1 })
}
