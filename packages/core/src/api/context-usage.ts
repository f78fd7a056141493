import { askPrices } from '../model/prices.ts'
import { inputTokensOf, noUsage, type MessageContent } from '../model/messages.ts'
import { contextOf, type RunOptions } from './options.ts'
import type { RunContext } from '../run/run-context.ts'
import { startRun } from './start.ts'
import type { RunState } from '../state/state.ts'
import { Transcript } from '../conversation/transcript.ts'
import { estimateFixed, ratioOf } from '../request/estimate.ts'
import { compactionRoom, planCompaction } from '../context/compaction-plan.ts'
import { defenceFigures, type ContextView } from '../context/context-manager.ts'
import { userMessageTexts } from '../context/user-messages.ts'
import { longResultsOf } from '../context/sizes.ts'
import { estimateMessages } from '../model/tokens.ts'
import { partsOf, type ContextPart } from '../context/usage-parts.ts'
import type { WindowFigures } from '../model/window.ts'

/** What fills the context window at the next request, and what happens when it is full. */
export interface ContextUsage {
  /** Id of the model. */
  readonly model: string
  /** Tokens by kind and name. Their sum is `figures.usedTokens`. */
  readonly parts: readonly ContextPart[]
  /** The window and its thresholds. */
  readonly figures: WindowFigures
  /** Whether the provider's token count of an earlier request was available. Otherwise all figures are estimates. */
  readonly isCounted: boolean
  /** Dollars for the input of a turn, with an empty and with a full provider cache. Null for a model without a price. */
  readonly inputUsd: {
    /** US dollars when nothing is in the cache. */
    readonly uncached: number
    /** US dollars when the whole input is in the cache. */
    readonly cached: number
  } | null
  /** Null if the conversation is not compacted automatically. */
  readonly autoCompact: {
    /** Number of tokens at which the conversation is compacted. */
    readonly atTokens: number
    /** Minimum number of tokens that a compaction frees. All retained parts are assumed to have their maximum length. */
    readonly freesTokens: number
  } | null
  /** Approximate number of tokens that a compaction would free now; 0 if there is nothing to compact. */
  readonly compactionFreesTokens: number
}

/** The contents of the next request: the session so far, and optionally a prompt. */
export interface ContextUsageInput {
  /** The session so far. Default: an empty one. */
  readonly transcript?: Transcript
  /** The prompt that follows the transcript. Default: none. */
  readonly prompt?: MessageContent
}

/** Analyses the next request of a session with these options, without any request. @throws ConfigurationError for options that cannot be run. */
export function contextUsage(options: RunOptions, { transcript, prompt }: ContextUsageInput = {}): ContextUsage {
  const context = contextOf(options)
  const { settings, model, contextDefence, toolDefinitions: tools, tokens } = context
  const { system, userContext, systemContext } = settings
  const state = stateOf({ transcript, prompt })
  const counted = lastCount(context, state.transcript)
  const ratio = counted ?? 1
  const raw = partsOf({
    system,
    tools,
    transcript: state.transcript,
    entries: { ...systemContext, ...userContext },
    tokens,
  })
  const parts = scaled(raw, ratio)
  const used = parts.reduce((sum, part) => sum + part.tokens, 0)
  const window = settings.contextWindow ?? model.contextWindow
  const messages = state.transcript.messages()
  const tokensOf: ContextView['tokensOf'] = (list) => Math.ceil(ratio * estimateMessages(tokens, list))
  const view: ContextView = {
    state,
    model,
    system,
    tools,
    estimatedTokens: used,
    fixedTokens: Math.ceil(ratio * estimateFixed({ context })),
    contextWindow: window,
    tokensOf,
    tokensBetween: (from, to) => tokensOf(messages.slice(from, to)),
    clearableBefore: (index) => tokensOf(messages.slice(0, index).filter((each) => longResultsOf(each).length > 0)),
  }
  const figures = defenceFigures(contextDefence, model, { window, used })
  return {
    model: model.id,
    parts,
    figures,
    isCounted: counted !== undefined,
    inputUsd: inputCost(context, used),
    autoCompact: autoCompactOf(view, figures.thresholds.compaction),
    compactionFreesTokens: contextDefence.compact(view, 'manual') === undefined ? 0 : freedNow(view),
  }
}

/** The state of the run that would start. If there is no message at all, its prompt is empty. */
function stateOf({ transcript = Transcript.empty(), prompt }: ContextUsageInput): RunState {
  if (prompt !== undefined) return startRun({ transcript, prompt })
  if (transcript.messages().length > 0) return startRun({ transcript })
  return { ...startRun({ prompt: '' }), transcript }
}

/** Ratio of the provider's token count to our estimate, for the newest request whose messages are unchanged. Undefined if there is none. */
function lastCount(context: RunContext, transcript: Transcript): number | undefined {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const entry = transcript.at(index)
    if (entry?.kind !== 'assistant' && entry?.kind !== 'user' && entry?.kind !== 'attachment') {
      if (entry?.kind !== 'collapse_staged') return undefined
      continue
    }
    if (entry.kind !== 'assistant' || entry.error !== undefined) continue
    const { message } = entry
    const counted = inputTokensOf(message.usage)
    if (counted === 0 || (message.by ?? message.model) !== context.model.id) continue
    const before = Transcript.of(transcript.since(0).slice(0, index)).messages()
    return ratioOf(counted, estimateFixed({ context }) + estimateMessages(context.tokens, before))
  }
  return undefined
}

/** Scales the parts to whole tokens without changing their sum. Rounding errors are added to the parts that lost most. */
function scaled(parts: readonly ContextPart[], ratio: number): readonly ContextPart[] {
  const exact = parts.map(({ tokens }) => tokens * ratio)
  const floors = exact.map(Math.floor)
  let remainder =
    Math.ceil(exact.reduce((sum, each) => sum + each, 0) - 1e-6) - floors.reduce((sum, each) => sum + each, 0)
  const byRemainder = exact
    .map((each, index) => [each - Math.floor(each), index] as const)
    .toSorted(([a], [b]) => b - a)
  for (const [, index] of byRemainder) {
    if (remainder-- <= 0) break
    floors[index] = (floors[index] ?? 0) + 1
  }
  return parts.map((part, index) => ({ ...part, tokens: floors[index] ?? 0 }))
}

/** The price that a provider with a cache charges: the input is written to the cache the first time, and read from it later. */
function inputCost({ prices, model }: RunContext, tokens: number): ContextUsage['inputUsd'] {
  const cost = (usage: Partial<typeof noUsage>): number | undefined => {
    const answer = askPrices(() => prices.cost(model.id, { ...noUsage, ...usage }))
    return answer.kind === 'usd' ? answer.usd : undefined
  }
  const uncached = cost({ cache_creation_input_tokens: tokens })
  const cached = cost({ cache_read_input_tokens: tokens })
  return uncached === undefined || cached === undefined ? null : { uncached, cached }
}

function autoCompactOf(view: ContextView, atTokens: number): ContextUsage['autoCompact'] {
  if (!Number.isFinite(atTokens)) return null
  const { tail, summary, words, carried } = compactionRoom(view, 'auto')
  const remaining = view.fixedTokens + tail + summary + words + carried
  return { atTokens, freesTokens: Math.max(0, Math.floor(atTokens - remaining)) }
}

/** Assumed length of a summary as a share of the summarized text. The maximum summary length also applies. */
const summaryShare = 0.1

function freedNow(view: ContextView): number {
  const plan = planCompaction(view, 'manual')
  if (plan === undefined) return 0
  const { tokensOf, state } = view
  const replaced = tokensOf(plan.replaced)
  const words = userMessageTexts(state.transcript, plan.kept).reduce(
    (sum, text) => sum + tokensOf([{ role: 'user', content: text }]),
    0,
  )
  const shortened = tokensOf(state.transcript.messages().slice(plan.replaced.length)) - tokensOf(plan.kept)
  const remainder = Math.min(words, plan.wordsTokens) + Math.min(replaced * summaryShare, plan.summaryTokens)
  return Math.max(0, Math.floor(replaced + shortened - remainder))
}
