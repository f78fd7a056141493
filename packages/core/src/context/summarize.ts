import { isText, isToolUse, textOf, type ModelMessage, type AssistantMessage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Model } from '../model/model.ts'
import { maxSummaryTokens } from './compaction-plan.ts'
import { cutPointsOf } from './groups.ts'
import { compactionRequests, type CompactionScope, type ContextView } from './context-manager.ts'
import type { CompactionReply } from '../model/questions.ts'
import { shortenText, withShortResults } from './shorten.ts'
import {
  calledTool,
  messagesLeftOut,
  noSummaryReasons,
  plainSummaryText,
  summaryQuestion,
  wroteText,
} from './context-texts.ts'

/** The outcome of a request for a summary. `unable`: no model can summarize it. `failed`: no model answered, or the budget was too small. */
export type Summarized =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'unable'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }

/** Share of the available tokens for the question at each try, since the service's count may differ much from the estimate. */
const shares = [1, 0.6, 0.3, 0.12] as const
/** Share of the remaining tokens that the reply may use. */
const replyShare = 0.75
/** Maximum characters of a result in a question that was too long. */
const shortResultLength = 2_000

// Spec R-CTX-7.
/**
 * Asks a model for a summary of the oldest messages. If the question is too long, it drops the oldest groups and asks
 * again, at most 3 times. If a separate compaction model cannot answer, the run's own model is asked.
 */
export async function summarize(
  scope: CompactionScope,
  view: ContextView,
  messages: readonly ModelMessage[],
  { model: compactModel, maxTokens }: { readonly model?: Model | undefined; readonly maxTokens: number },
): Promise<Summarized> {
  const instruction: ModelMessage = { role: 'user', content: summaryQuestion(scope.instructions) }
  let model = compactModel ?? view.model
  let learned = Infinity
  let last: Summarized = { kind: 'unable', message: noSummaryReasons.tooLong }
  let step = 0
  let hasCalled = false
  for (let asks = 0; asks < compactionRequests; asks++) {
    const share = shares[step] ?? shares[0]
    const window = Math.min(model === view.model ? view.contextWindow : model.contextWindow, learned)
    const room = (window - maxTokens - view.fixedTokens - view.tokensOf([instruction])) * 0.97 * share
    const asked = within(step > 0 ? withShortResults(messages, shortResultLength) : messages, room, view)
    if (asked === undefined) return last
    const { system, tools } = view
    const isOwn = model === view.model
    // Uses the tool choice of the run's own requests while that works, since the service has the conversation in its cache.
    const toolChoice = isOwn && !hasCalled ? 'auto' : 'none'
    const question = [...asked, instruction]
    const left = Math.floor((window - view.fixedTokens - view.tokensOf(question)) * replyShare)
    // A model that thinks uses reply tokens for thinking, so the cap may use the rest of the window.
    const cap = Math.max(maxTokens, Math.min(left, maxSummaryTokens, model.maxOutputTokens))
    const reply = await scope.ask({ model, system, tools, toolChoice, messages: question, maxOutputTokens: cap })
    const outcome = summaryIn(reply)
    if (isOwn && !hasCalled && isCallAlone(reply)) {
      hasCalled = true
      last = { kind: 'unable', message: noSummaryReasons.toolCall }
      continue
    }
    if (outcome.kind === 'too_long') {
      last = { kind: 'unable', message: outcome.error.message }
      step++
      // If the error does not report the size that fits, that size is less than the refused one.
      const limit = outcome.error.contextLimit?.limit ?? view.fixedTokens + maxTokens + view.tokensOf(question)
      learned = Math.min(learned, limit)
    } else if (outcome.kind === 'summary' || isOwn || reply.kind === 'aborted') return outcome
    else {
      last = outcome
      model = view.model
    }
  }
  return last
}

function isCallAlone(reply: CompactionReply): boolean {
  return (
    reply.kind === 'answered' && summaryOfReply(reply.message) === undefined && reply.message.content.some(isToolUse)
  )
}

type SummaryOutcome = Summarized | { readonly kind: 'too_long'; readonly error: ModelErrorJson }

function summaryIn(reply: CompactionReply): SummaryOutcome {
  switch (reply.kind) {
    case 'answered': {
      const text = summaryOfReply(reply.message)
      return text === undefined ? { kind: 'unable', message: noSummaryReasons.empty } : { kind: 'summary', text }
    }
    case 'over_budget':
      return { kind: 'failed', message: noSummaryReasons.budget }
    case 'aborted':
      return { kind: 'failed', message: noSummaryReasons.aborted }
    case 'failed':
      if (reply.error.kind === 'prompt_too_long') return { kind: 'too_long', error: reply.error }
      return { kind: reply.error.retryable ? 'failed' : 'unable', message: reply.error.message }
  }
}

/** The newest messages that fit, preceded by the earlier summary, if any; undefined if too few tokens are left. */
function within(
  messages: readonly ModelMessage[],
  room: number,
  { tokensOf }: ContextView,
): readonly ModelMessage[] | undefined {
  if (tokensOf(messages) <= room) return messages
  const first = messages.slice(0, 1).map((message) => withoutMiddle(message, room * firstShare, tokensOf))
  const left = room - tokensOf(first) - tokensOf([leftOut])
  let start: number | undefined
  let tokens = 0
  for (const point of cutPointsOf(messages).toReversed()) {
    tokens += tokensOf(messages.slice(point, start))
    if (tokens > left) break
    start = point
  }
  return start === undefined ? undefined : [...first, leftOut, ...messages.slice(start)]
}

/** Share of the available tokens for the first message. It is the task, or the previous summary, whose beginning and end matter most. */
const firstShare = 0.4

function withoutMiddle(message: ModelMessage, room: number, tokensOf: ContextView['tokensOf']): ModelMessage {
  const tokens = tokensOf([message])
  const { role, content } = message
  if (tokens <= room || role !== 'user') return message
  const shorter = (text: string): string => shortenText(text, Math.floor((text.length * Math.max(0, room)) / tokens))
  if (typeof content === 'string') return { role, content: shorter(content) }
  return { role, content: content.map((block) => (isText(block) ? { ...block, text: shorter(block.text) } : block)) }
}

const leftOut: ModelMessage = Object.freeze({
  role: 'user',
  content: messagesLeftOut,
})

/** A summary that is made without a model: it lists the calls that were made, and the last texts. */
export function plainSummary(messages: readonly ModelMessage[], why: string): string {
  const lines: string[] = []
  for (const { role, content } of messages) {
    if (role !== 'assistant' || typeof content === 'string') continue
    const text = textOf(content).trim()
    if (text !== '') lines.push(wroteText(shortenText(text, 300).replaceAll('\n', ' ')))
    for (const block of content)
      if (isToolUse(block)) lines.push(calledTool(block.name, shortenText(JSON.stringify(block.input) ?? '', 160)))
  }
  const newest = lines.slice(-60)
  return plainSummaryText(why, lines.length - newest.length, newest)
}

/** The summary in a model's reply, without its thinking; undefined if the reply has none. */
export function summaryOfReply({ content, stop_reason: reason }: AssistantMessage): string | undefined {
  if (reason === 'refusal') return undefined
  const text = textOf(content)
  const analysis = text.indexOf('</analysis>')
  const summary = (analysis < 0 ? text : text.slice(analysis + '</analysis>'.length)).trim()
  return summary === '' ? undefined : summary
}
