import { overheadOfMessage, upperBoundOfMessages, upperBoundOfText } from '../model/tokens.ts'
import type { CompactionRequest } from '../model/questions.ts'
import type { ModelMessage } from '../model/messages.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { PromptCount } from '../state/state.ts'
import type { Run } from '../run/run.ts'
import { boundByCount, promptCountFor } from './prompt-count.ts'

/** The parts of a run needed to bound its next request. */
export type RequestBasis = Pick<Run, 'context' | 'spent' | 'transcript'>

/** Tokens that services add around the content of a request. */
export const requestOverhead = 1_000

/** The maximum billed input tokens of the run's next request: the provider's own count, plus one token per byte of what was added since. */
export function inputBoundOf(run: RequestBasis, model: Model): number {
  const counted = promptCountFor(run, model)
  const messages = run.transcript.messages()
  return withServerTools(
    counted !== undefined
      ? boundByCount(counted, (from) => upperBoundOfMessages(messages, model, from)) + readAgain(messages, counted)
      : requestOverhead +
          upperBoundOfText(run.context.settings.system) +
          boundOfTools(run.context.toolDefinitions) +
          upperBoundOfMessages(messages, model),
    model,
  )
}

/**
 * Works like `inputBoundOf`, for a question of a compaction. The count of the conversation covers those of its messages
 * that are part of the question; the rest is bounded by bytes. If there are none, or the result would be larger, the
 * whole question is bounded by bytes.
 */
export function questionBoundOf(run: Run, { system, messages, tools = [] }: CompactionRequest, model: Model): number {
  const fixedBound = requestOverhead + upperBoundOfText(system) + (tools.length === 0 ? 0 : boundOfTools(tools))
  const byBytes = upperBoundOfMessages(messages, model)
  const counted = promptCountFor(run, model)
  if (counted === undefined) return withServerTools(fixedBound + byBytes, model)
  const conversation = run.transcript.messages()
  const byCount = boundByCount(counted, (from) => {
    const covered = new Set(conversation.slice(0, from))
    return upperBoundOfMessages(
      messages.filter((message) => !covered.has(message)),
      model,
    )
  })
  return withServerTools(fixedBound + Math.min(byBytes, byCount), model)
}

// Spec R-BUD-13c.
/**
 * The tokens that a request reads again for a reply at the end of the conversation, which is sent back unchanged
 * (`pause_turn`). Its output tokens are counted, but not what services add around a message and its blocks. In other
 * cases the bound of the following messages covers that.
 */
function readAgain(messages: readonly ModelMessage[], { length }: PromptCount): number {
  const last = messages.at(-1)
  return messages.length === length && last?.role === 'assistant' ? overheadOfMessage(last) : 0
}

/** The input including server-side tools. Each use of such a tool reads everything again, plus its results, and at most the window. */
function withServerTools(sent: number, { maxServerToolUses = 0, contextWindow }: Model): number {
  return sent + maxServerToolUses * Math.max(sent, contextWindow)
}

/** The bytes of the run's next request: an upper bound on its tokens for any tokenizer. */
export function byteBoundOf(run: Pick<Run, 'context' | 'transcript'>, model: Model): number {
  const { settings, toolDefinitions } = run.context
  const messages = run.transcript.messages()
  const cached = byteBounds.get(messages)
  const bound = (cached?.bound ?? 0) + upperBoundOfMessages(messages, model, cached?.length ?? 0)
  byteBounds.set(messages, { length: messages.length, bound })
  return requestOverhead + upperBoundOfText(settings.system) + boundOfTools(toolDefinitions) + bound
}

/** Cached bounds. A list of messages only grows as long as it is the same object. */
const byteBounds = new WeakMap<readonly ModelMessage[], { readonly length: number; readonly bound: number }>()

const toolBounds = new WeakMap<readonly ToolDefinition[], number>()

function boundOfTools(definitions: readonly ToolDefinition[]): number {
  const cached = toolBounds.get(definitions)
  if (cached !== undefined) return cached
  const bound = upperBoundOfText(JSON.stringify(definitions))
  toolBounds.set(definitions, bound)
  return bound
}
