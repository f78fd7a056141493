import type { MaybePromise } from '../values/maybe-promise.ts'
import type { ModelMessage, TextBlock } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { type CompactionPlan, planCompaction } from './compaction-plan.ts'
import { pinnedMessagesText, userMessageTexts, messagesWithin } from './user-messages.ts'
import type { Compaction, CompactionResult, CompactionScope, ContextView } from './context-manager.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import type { Transcript } from '../conversation/transcript.ts'
import { shortenText } from './shorten.ts'
import { plainSummary, summarize } from './summarize.ts'
import { compactedHeading, currentState, noSummaryReasons, onlyResultsShortened } from './context-texts.ts'

/** A text that is pinned across a compaction, such as the state of an open file, or a to-do list. */
export interface PinnedText {
  /** The heading of the text for the model. */
  readonly title: string
  /** The text. */
  readonly text: string
}

/** Returns what a program pins across a compaction, at the time of the compaction. If it throws, nothing is pinned. */
export type PinContext = (scope: {
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** The messages that the compaction replaces. */
  readonly messages: readonly ModelMessage[]
  /** The whole conversation, including the messages that earlier compactions replaced. */
  readonly transcript: Transcript
  /** Approximate maximum tokens of all texts together. */
  readonly maxTokens: number
  /** The id of the subagent whose conversation this is, as in the state that its tools receive. */
  readonly agentId?: string
}) => MaybePromise<readonly PinnedText[]>

export interface CompactionParts {
  /** The model to ask for the summary instead of the run's own. */
  readonly model?: Model | undefined
  readonly carryOver?: PinContext | undefined
}

/** A full compaction: a summary, people's messages, pinned context, and the newest messages. Undefined when it would save nothing. */
export function fullCompaction(
  view: ContextView,
  trigger: CompactionTrigger,
  parts: CompactionParts,
): Compaction | undefined {
  const plan = planCompaction(view, trigger)
  if (plan === undefined) return undefined
  return { trigger, run: (scope) => compact(scope, { view, plan, trigger, parts }) }
}

interface Work {
  readonly view: ContextView
  readonly plan: CompactionPlan
  readonly trigger: CompactionTrigger
  readonly parts: CompactionParts
}

async function compact(scope: CompactionScope, work: Work): Promise<CompactionResult> {
  const { view, plan, trigger, parts } = work
  const { replaced, kept } = plan
  const summarized =
    replaced.length === 0
      ? undefined
      : await summarize(scope, view, replaced, { model: parts.model, maxTokens: plan.summaryTokens })
  if (scope.signal.aborted) return gaveUp(noSummaryReasons.aborted)
  // The summary failed and the window is not full yet, so compaction is retried before the next request.
  if (summarized?.kind === 'failed' && trigger !== 'reactive' && !isFull(view)) return gaveUp(summarized.message)
  const summary =
    summarized === undefined
      ? onlyResultsShortened
      : summarized.kind === 'summary'
        ? shortenText(summarized.text, plan.summaryTokens * maxCharactersPerToken)
        : plainSummary(replaced, summarized.message)
  const carried = await carry(scope, work)
  const first: ModelMessage = {
    role: 'user',
    content: [block(compactedHeading(replaced.length, summary)), ...messagesBlock(work), ...carried.map(pinnedBlock)],
  }
  const messages = [first, ...kept]
  const postTokens = view.fixedTokens + view.tokensOf(messages)
  // Both sides use the same estimate, since the service's own count may differ much from any estimate.
  if (postTokens >= view.fixedTokens + view.tokensOf(view.state.transcript.messages()))
    return gaveUp(noSummaryReasons.notShorter)
  return { kind: 'compacted', messages, preTokens: view.estimatedTokens, postTokens, summary, personsWords: 'carried' }
}

/** Maximum characters per token of a summary that respects its cap. Some services have no cap. */
const maxCharactersPerToken = 8

/** Share of the window from which compaction cannot wait any longer. */
const fullShare = 0.97

function isFull({ estimatedTokens, contextWindow }: ContextView): boolean {
  return estimatedTokens >= contextWindow * fullShare
}

function gaveUp(message: string): CompactionResult {
  return { kind: 'gave_up', message }
}

function block(text: string): TextBlock {
  return { type: 'text', text }
}

function messagesBlock({ view, plan }: Work): readonly TextBlock[] {
  const all = userMessageTexts(view.state.transcript, plan.kept)
  if (all.length === 0) return []
  const tokensOf = (text: string): number => view.tokensOf([{ role: 'user', content: text }])
  const { words, isShortened } = messagesWithin(all, plan.wordsTokens, tokensOf)
  return [block(pinnedMessagesText(words, isShortened))]
}

async function carry({ signal }: CompactionScope, { view, plan, parts }: Work): Promise<readonly PinnedText[]> {
  if (parts.carryOver === undefined) return []
  const { transcript } = view.state
  const messages = transcript.messages()
  const tokensOf = (carried: PinnedText): number => view.tokensOf([{ role: 'user', content: [pinnedBlock(carried)] }])
  let left = plan.carriedTokens
  try {
    const pinned = await parts.carryOver({ signal, messages, transcript, maxTokens: left, ...agentOf(view) })
    return pinned.flatMap(({ title, text }) => {
      if (left <= 0) return []
      const whole = { title: shortenText(title, maxTitleLength), text }
      const tokens = tokensOf(whole)
      // Pinned texts are truncated to the remaining tokens, whatever their source and script.
      const carried =
        tokens <= left ? whole : { ...whole, text: shortenText(text, Math.floor((text.length * left) / tokens)) }
      left -= tokens <= left ? tokens : tokensOf(carried)
      return carried.text === '' ? [] : [carried]
    })
  } catch {
    // A file that cannot be read now is omitted: the model can read it later.
    return []
  }
}

function agentOf({ state }: ContextView): { readonly agentId?: string } {
  const { depth, agentId } = state.run
  return depth === 0 || agentId === undefined ? {} : { agentId }
}

/** Maximum characters of a title: a path, or a few words. */
const maxTitleLength = 500

function pinnedBlock({ title, text }: PinnedText): TextBlock {
  return block(currentState(title, text))
}
