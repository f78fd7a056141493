import { transitionRules } from '../limits/transition-rules.ts'
import { defenceFigures } from '../context/context-manager.ts'
import type { Reserve } from '../limits/ledger.ts'
import { usdOf } from '../model/prices.ts'
import type { AbortCause } from '../values/abort.ts'
import { type AssistantMessage, type ToolUseBlock, isToolUse, toolCallsOf, type Usage } from '../model/messages.ts'
import { lastPassOf } from '../model/billed-parts.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Model, ModelRequest } from '../model/model.ts'
import type { StepResult } from '../steps/step-engine.ts'
import { noEarlyStarts, type EarlyStarts } from '../run/tool-phase.ts'
import { askModel, type RequestOutcome, type Requester, type Failure } from '../request/ask-model.ts'
import { warningsOf, type Attempt, type RequestPlan } from '../request/request-plan.ts'
import { chargeOf } from '../request/charge.ts'
import { currentModel, outputCap, toolChoiceNow } from '../request/current-model.ts'
import { estimatePrompt, estimateRequest } from '../request/estimate.ts'
import { inputBoundOf } from '../request/input-bound.ts'
import type { Grant, OverBudget, PromptEstimate, ReplyCap } from '../request/grant.ts'
import { nextCount, promptDigest } from '../request/prompt-count.ts'
import { capInWindow } from '../request/reply-cap.ts'
import { learnFromRefusal, windowOf } from '../request/window.ts'
import { reservesOf } from '../request/reserve.ts'
import { startEarly } from '../tool-calls/early-starts.ts'
import { enterWaits } from '../request/questions.ts'
import { settingsInWait } from '../run/cancellation-points.ts'
import type { RunEvent } from '../state/events.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { ServiceWaits } from '../model/service-waits.ts'
import type { Run } from '../run/run.ts'

/** The model's answer, or how the request failed. */
export type Reply =
  | Answer
  /** The request failed and is not retried. `recover` decides whether something else can be tried. */
  | Failure
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
  /** The service reported its token usage. Estimates of later requests start from it. */
  readonly isCounted: boolean
  readonly calls: readonly ToolUseBlock[]
  /** Set when the stream broke after completed blocks. */
  readonly streamError: ModelErrorJson | null
  readonly grant: Grant
  readonly early: EarlyStarts
}

/** Asks the model for the next turn and passes its reply to the callback. The reply is not in the transcript yet. */
export function ask<R>(run: Run, onReply: (run: Run, reply: Reply) => MaybePromise<R>): Promise<R> {
  const asker = new TurnAsker(run)
  return askModel(run, turnRequest(run), asker).then((asked) => onReply(run, replyOf(run, asked, asker.early)))
}

function replyOf(run: Run, asked: RequestOutcome, early: EarlyStarts): Reply {
  switch (asked.kind) {
    case 'answered':
      return answer(run, asked, early)
    case 'aborted':
      return { kind: 'aborted', cause: asked.cause, partial: asked.partial, early }
    case 'over_budget':
    case 'failed':
    case 'overloaded':
      return asked
  }
}

/** The `Requester` of the run itself, for its next turn. */
class TurnAsker implements Requester {
  readonly retryName: string
  readonly canFallBack: boolean
  /** The early starts of the current attempt. */
  early: EarlyStarts = noEarlyStarts
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
    this.retryName = `retry:${run.spent.request}`
    this.canFallBack = canFallBack(run)
  }

  begin(attempt: number): ReturnType<Requester['begin']> {
    const run = this.#run
    const { request, closing } = run.spent
    if (closing === null) this.early = startEarly(run)
    run.emit({ type: 'model_start', request, attempt, model: currentModel(run).id })
    const { early } = this
    const entryId = run.entryId('assistant')
    return (update, emit) => {
      if (update.type === 'block' && isToolUse(update.block)) early.consider(update.block)
      emit({ type: 'model_update', request, entryId, update })
    }
  }

  report(event: RunEvent): void {
    this.#run.emit(event)
  }

  enter(attempt: number, step: StepResult<Attempt>): void {
    enterAttempt(this.#run, attempt, step)
  }

  enterWait(waited: ServiceWaits): void {
    enterWaits(this.#run, waited)
  }

  renew(attempt: number): MaybePromise<TurnRequest | undefined> {
    const run = this.#run
    return andThen(settingsInWait(run, attempt), (isSet) => (isSet ? turnRequest(run) : undefined))
  }
}

/** The request for the next turn, to the current model. */
function turnRequest(run: Run): TurnRequest {
  const model = currentModel(run)
  return new TurnRequest(
    run,
    model,
    capInWindow(run, model, outputCap(run, model), () => estimatePrompt(run)),
  )
}

/** The request for the next turn. The request for the last answer of a wrap-up has no tools, and reserves nothing for another request. */
class TurnRequest implements RequestPlan {
  readonly name: string
  readonly model: Model
  readonly cap: number
  readonly isOfWindow: true | undefined
  readonly #run: Run

  constructor(run: Run, model: Model, { cap, isOfWindow }: ReplyCap) {
    this.name = run.spent.closing === null ? `model:${run.spent.request}` : 'wrap_up:1'
    this.model = model
    this.cap = cap
    this.isOfWindow = isOfWindow
    this.#run = run
  }

  promptEstimate(): PromptEstimate {
    return estimatePrompt(this.#run)
  }

  withCap(cap: ReplyCap): TurnRequest {
    return new TurnRequest(this.#run, this.model, cap)
  }

  inputBound(model: Model): number {
    return inputBoundOf(this.#run, model)
  }

  reserves(): readonly Reserve[] {
    return reservesOf(this.#run)
  }

  // Spec R-RES-12.
  /** Covers only the transcript. It excludes what the program may change: system prompt, tools, model, output limit. */
  digest(): string {
    return this.#run.transcript.digest().toString(36)
  }

  promptDigest(): string {
    return promptDigest(this.#run, this.model)
  }

  body({ maxTokens: maxOutputTokens }: Grant, idempotencyKey: string): ModelRequest {
    const { context, spent, transcript } = this.#run
    const { system, thinking, sampling } = context.settings
    const { toolDefinitions: tools } = context
    const toolChoice = toolChoiceNow({ context, spent })
    const plain = { system, messages: transcript.messages(), tools, maxOutputTokens, idempotencyKey }
    if (toolChoice === undefined && thinking === null && sampling === null) return plain
    return {
      ...plain,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(thinking !== null && { thinking }),
      ...(sampling !== null && { sampling }),
    }
  }

  contextAfter(usage: Usage | null): number {
    const pass = usage === null ? undefined : lastPassOf(usage)
    return pass === undefined ? estimateRequest(this.#run) : pass.inputTokens + pass.outputTokens
  }
}

function canFallBack({ context, spent }: Run): boolean {
  return (
    context.fallbackModel !== null && (spent.laps.inRun.model_fallback ?? 0) < transitionRules.model_fallback.iterations
  )
}

/** Adds the outcome of an attempt to the figures and emits its events. */
function enterAttempt(run: Run, attempt: number, { value: result, durationMs }: StepResult<Attempt>): void {
  const { request } = run.spent
  if (result.kind === 'over_budget') {
    run.emit({ type: 'model_end', request, attempt, outcome: 'over_budget', usage: null, costUsd: 0, durationMs })
    return
  }
  const { kind: outcome, charge } = result
  const { usage } = charge
  run.emit({ type: 'model_end', request, attempt, outcome, usage, costUsd: usdOf(charge.nanos), durationMs })
  if (charge.note !== undefined) run.emit({ type: 'notice', message: charge.note })
  for (const message of warningsOf(result)) run.emit({ type: 'notice', message })
  if (result.kind === 'failed') learnFromRefusal(run, currentModel(run), result.error)
  // An attempt that was aborted before it was sent costs nothing.
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
  const { message, streamError, grant, charge, promptDigest: of } = result
  const tokens = lastPassOf(message.usage)?.inputTokens ?? 0
  const isCounted = charge.usage !== null && tokens > 0
  const newCount = { tokens, length: run.transcript.messages().length, of }
  const counted = isCounted ? nextCount(run.spent.counted, newCount) : run.spent.counted
  run.update({ lastStopReason: message.stop_reason, counted })
  return { kind: 'answered', message, isCounted, calls: toolCallsOf(message), streamError, grant, early }
}

/** Appends the model's message to the transcript. */
export function appendReply(run: Run, { message, isCounted }: Pick<Answer, 'message' | 'isCounted'>): void {
  run.append({ kind: 'assistant', id: run.entryId('assistant'), message })
  const { spent } = run
  const { length } = run.transcript.messages()
  // The number of output tokens of the reply is known too. From now on they count as input.
  const isNext = isCounted && length === spent.counted.length + 1
  run.update({
    assistantMessages: spent.assistantMessages + 1,
    counted: isNext
      ? { ...spent.counted, tokens: spent.counted.tokens + (lastPassOf(message.usage)?.outputTokens ?? 0), length }
      : spent.counted,
  })
  if (run.ports.hasListener()) emitWindowFigures(run)
}

/** Reports how full the context window is. */
function emitWindowFigures(run: Run): void {
  const { contextDefence } = run.context
  const model = currentModel(run)
  const used = estimateRequest(run)
  const figures = defenceFigures(contextDefence, model, { window: windowOf(run, model), used })
  run.emit({ type: 'context', figures })
}

/** Appends the received part of an aborted reply. */
export function appendPartialReply(run: Run, message: AssistantMessage): void {
  run.append({ kind: 'assistant', id: run.entryId('assistant'), message, aborted: true })
  run.update({ assistantMessages: run.spent.assistantMessages + 1 })
}
