import type { Eventually } from '../values/eventually.ts'
import type { ModelMessage, TextBlock } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { type CompactionPlan, planCompaction } from './compaction-plan.ts'
import { carriedWordsText, personsWordsOf, wordsWithin } from './persons-words.ts'
import type { Compaction, CompactionResult, CompactionScope, ContextView } from './port.ts'
import type { CompactionTrigger } from '../model/questions.ts'
import type { Transcript } from '../conversation/transcript.ts'
import { shortenText } from './shorten.ts'
import { plainSummary, summarize } from './summarize.ts'
import { compactedHeading, currentState, noSummaryReasons, onlyResultsShortened } from './context-texts.ts'

/** A text that is carried over a compaction: the state of a file that is worked on, a list of things to do. */
export interface CarriedText {
  /** Heading under which the model is shown the text. */
  readonly title: string
  /** The text. */
  readonly text: string
}

/** What a program carries over a compaction by itself, read at that moment. What it throws is nothing carried. */
export type CarryOver = (scope: {
  /** Aborted when the run is. */
  readonly signal: AbortSignal
  /** The messages that the compaction replaces. */
  readonly messages: readonly ModelMessage[]
  /** The whole conversation, with what earlier compactions replaced. */
  readonly transcript: Transcript
  /** About how many tokens all of it may have. */
  readonly maxTokens: number
  /** Of a subagent whose conversation it is: its id, as in the state that its tools are given. */
  readonly agentId?: string
}) => Eventually<readonly CarriedText[]>

export interface CompactionParts {
  /** Asked for the summary in place of the run's own. */
  readonly model?: Model | undefined
  readonly carryOver?: CarryOver | undefined
}

/** A full compaction: a summary, what people said, what the program carries over, and the newest messages. Undefined when it would gain nothing. */
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
  // Nobody was there to ask, and there is still room: it is tried again before the next request.
  if (summarized?.kind === 'failed' && trigger !== 'reactive' && !isFull(view)) return gaveUp(summarized.message)
  const summary =
    summarized === undefined
      ? onlyResultsShortened
      : summarized.kind === 'summary'
        ? shortenText(summarized.text, plan.summaryTokens * longestToken)
        : plainSummary(replaced, summarized.message)
  const carried = await carry(scope, work)
  const first: ModelMessage = {
    role: 'user',
    content: [block(compactedHeading(replaced.length, summary)), ...wordsOf(work), ...carried.map(carriedBlock)],
  }
  const messages = [first, ...kept]
  const postTokens = view.fixedTokens + view.tokensOf(messages)
  // Measured alike: what the service counted may be far from any estimate.
  if (postTokens >= view.fixedTokens + view.tokensOf(view.state.transcript.messages()))
    return gaveUp(noSummaryReasons.notShorter)
  return { kind: 'compacted', messages, preTokens: view.estimatedTokens, postTokens, summary, personsWords: 'carried' }
}

/** A summary that keeps to its cap has hardly more characters a token; some services cap nothing. */
const longestToken = 8

/** Share of the window from which on waiting for a better moment is no longer possible. */
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

function wordsOf({ view, plan }: Work): readonly TextBlock[] {
  const all = personsWordsOf(view.state.transcript, plan.kept)
  if (all.length === 0) return []
  const tokensOf = (text: string): number => view.tokensOf([{ role: 'user', content: text }])
  const { words, isShortened } = wordsWithin(all, plan.wordsTokens, tokensOf)
  return [block(carriedWordsText(words, isShortened))]
}

async function carry({ signal }: CompactionScope, { view, plan, parts }: Work): Promise<readonly CarriedText[]> {
  if (parts.carryOver === undefined) return []
  const { transcript } = view.state
  const messages = transcript.messages()
  const tokensOf = (carried: CarriedText): number => view.tokensOf([{ role: 'user', content: [carriedBlock(carried)] }])
  let left = plan.carriedTokens
  try {
    const given = await parts.carryOver({ signal, messages, transcript, maxTokens: left, ...agentOf(view) })
    return given.flatMap(({ title, text }) => {
      if (left <= 0) return []
      const whole = { title: shortenText(title, longestTitle), text }
      const tokens = tokensOf(whole)
      // What is carried is cut to what is left, whoever gave it and in whatever script.
      const carried =
        tokens <= left ? whole : { ...whole, text: shortenText(text, Math.floor((text.length * left) / tokens)) }
      left -= tokens <= left ? tokens : tokensOf(carried)
      return carried.text === '' ? [] : [carried]
    })
  } catch {
    // What cannot be read now, the model can read when it needs it.
    return []
  }
}

function agentOf({ state }: ContextView): { readonly agentId?: string } {
  const { depth, agentId } = state.run
  return depth === 0 || agentId === undefined ? {} : { agentId }
}

/** A path, or a few words, in characters. */
const longestTitle = 500

function carriedBlock({ title, text }: CarriedText): TextBlock {
  return block(currentState(title, text))
}
