import type { CompactionReply, CompactionRequest, HookQuestion } from '../model/questions.ts'
import { messageOf } from '../values/errors.ts'
import { isCodeWaiting } from '../context/groups.ts'
import { ModelError } from '../model/model-error.ts'
import type { Model } from '../model/model.ts'
import { problemOfWebSearch } from '../model/web-search.ts'
import { storedProblemOf } from '../values/stored-checks.ts'
import { isModelMessages } from '../conversation/stored-transcript.ts'
import type { Run } from '../run/run.ts'
import type { RequestOutcome } from './ask-model.ts'
import type { RequestPlan } from './request-plan.ts'
import { estimateQuestion, estimateRequest } from './estimate.ts'
import { questionBoundOf } from './input-bound.ts'
import { currentModel } from './current-model.ts'
import { capInWindow } from './reply-cap.ts'
import { reservesOf } from './reserve.ts'

// Side questions that are not requests of the conversation itself: from compactions, background questions and hooks.

/** A side question, regardless of its originator. */
export type Question = CompactionRequest & Pick<HookQuestion, 'webSearch'>

/** How a question is sent and paid. Its content is captured now, because the conversation may continue meanwhile. */
export function questionPlan(run: Run, request: Question, model: Model, name: string): RequestPlan {
  const { system, messages, tools = [], toolChoice = 'none', webSearch } = request
  const { thinking } = run.context.settings
  const wanted = Math.min(
    request.maxOutputTokens ?? model.defaultOutputTokens ?? model.maxOutputTokens,
    model.maxOutputTokens,
  )
  const promptEstimate = () => estimateQuestion(run, request)
  const digest = run.transcript.digest().toString(36)
  return {
    name,
    model,
    isQuestion: true,
    ...(webSearch !== undefined && { webSearch }),
    ...capInWindow(run, model, wanted, promptEstimate),
    promptEstimate,
    withCap(cap) {
      return { ...this, ...cap }
    },
    inputBound: (bounded) => questionBoundOf(run, request, bounded),
    reserves: () => reservesOf(run),
    digest: () => digest,
    promptDigest: () => '',
    contextAfter: () => estimateRequest(run),
    body: ({ maxTokens: maxOutputTokens }, idempotencyKey) => {
      const searching = webSearch !== undefined && { webSearch }
      const fields = { system, messages, tools, maxOutputTokens, idempotencyKey, ...searching }
      if (tools.length === 0) return fields
      // For code that runs at the service, the question would count as later input, and the code would continue.
      if (toolChoice === 'none' || isCodeWaiting(messages)) return { ...fields, toolChoice: 'none' as const }
      return thinking === null ? fields : { ...fields, thinking }
    },
  }
}

/** Describes why a question is invalid; undefined if it is valid. */
export function problemOfQuestion(run: Run, request: Question): string | undefined {
  try {
    const { system, messages, model, webSearch } = request
    const problem = storedProblemOf(messages, isModelMessages)
    if (typeof system !== 'string' || problem !== undefined)
      return `A question must be { system, messages }: ${problem ?? 'its system prompt is not a text'}.`
    if (model !== undefined && !isNamedModel(run, model))
      return `${model.id} is not a model of this run: name it in \`models\` of the context defence.`
    return webSearch === undefined ? undefined : problemOfWebSearch(model ?? currentModel(run), webSearch)
  } catch (error) {
    return messageOf(error)
  }
}

function isNamedModel({ context }: Run, { id }: Model): boolean {
  const { models, contextDefence } = context
  return [...models, ...(contextDefence.models ?? [])].some((named) => named.id === id)
}

export function refusedQuestion(message: string): CompactionReply {
  const error = new ModelError({ kind: 'invalid_request', message, retryable: false, billed: 'nothing' })
  return { kind: 'failed', error: error.toRecord() }
}

export function replyTo(outcome: RequestOutcome): CompactionReply {
  switch (outcome.kind) {
    case 'answered':
      return { kind: 'answered', message: outcome.message, streamError: outcome.streamError }
    case 'aborted':
    case 'over_budget':
      return { kind: outcome.kind }
    case 'failed':
    case 'overloaded':
      return { kind: 'failed', error: outcome.error }
  }
}
