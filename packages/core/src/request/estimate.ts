import type { ContextView } from '../context/context-manager.ts'
import type { CompactionRequest } from '../model/questions.ts'
import { sizesOf } from '../context/sizes.ts'
import { estimateMessages, type Tokens } from '../model/tokens.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { RunSettings } from '../run/run-context.ts'
import type { Run } from '../run/run.ts'
import { currentModel } from './current-model.ts'
import type { PromptEstimate } from './grant.ts'
import { promptCountFor } from './prompt-count.ts'

/** Estimated tokens of the next request. Cached per conversation: the context layers and the figures both need it. */
export function estimateRequest(run: Run): number {
  const model = currentModel(run)
  const { length } = run.transcript
  const { counted, tokenRatio: ratio } = run.spent
  const { estimate } = run
  const isSame = estimate?.length === length && estimate.counted === counted
  if (isSame && estimate.model === model && estimate.ratio === ratio) return estimate.tokens
  const tokens = recomputeEstimate(run, model)
  run.estimate = { tokens, length, counted, model, ratio }
  return tokens
}

/**
 * Works like `estimateRequest`, and adds the number of tokens that the provider has not counted yet. These are scaled by
 * the known ratio of count to estimate.
 */
export function estimatePrompt(run: Run): PromptEstimate {
  const tokens = estimateRequest(run)
  const counted = promptCountFor(run, currentModel(run))
  if (counted === undefined) return { tokens, uncountedTokens: tokens }
  const countedTokens = Math.max(0, counted.tokens - (counted.freed ?? 0))
  const uncountedTokens = (tokens - countedTokens) * Math.max(1, tokenRatioOf(run) / run.spent.tokenRatio)
  return { tokens: Math.ceil(countedTokens + uncountedTokens), uncountedTokens }
}

/** Works like `estimatePrompt`, for a question: its part from the conversation is scaled by the known ratio. */
export function estimateQuestion(run: Run, { system, messages, tools = [] }: CompactionRequest): PromptEstimate {
  const { tokens } = run.context
  const estimate = tokens.estimate(system) + estimateTools(tokens, tools) + estimateMessages(tokens, messages)
  const ratio = tokenRatioOf(run)
  const isCalibrated = ratio !== 1
  const prompt = Math.ceil(ratio * estimate)
  return { tokens: prompt, uncountedTokens: isCalibrated ? prompt * calibratedDoubt : prompt }
}

/** Uncertain share of a question's tokens even if the ratio is known, since parts of a conversation differ. */
const calibratedDoubt = 0.25

function recomputeEstimate(run: Run, model: Model): number {
  const { context, spent } = run
  const counted = promptCountFor(run, model)
  const messages = run.transcript.messages()
  const ratio = spent.tokenRatio
  if (counted === undefined) return Math.ceil(ratio * (estimateFixed(run) + estimateMessages(context.tokens, messages)))
  const added = Math.ceil(ratio * estimateMessages(context.tokens, messages, counted.length))
  return Math.max(0, counted.tokens - (counted.freed ?? 0)) + added
}

/** Estimated tokens of system prompt and tools, which are part of every request. Not scaled by the known ratio. */
export function estimateFixed({ context }: Pick<Run, 'context'>): number {
  const { settings, toolDefinitions, tokens } = context
  return estimateSystem(tokens, settings) + estimateTools(tokens, toolDefinitions)
}

function estimateSystem(tokens: Tokens, settings: RunSettings): number {
  const cached = systemEstimates.get(settings)
  if (cached?.tokens === tokens) return cached.estimate
  const estimate = tokens.estimate(settings.system)
  systemEstimates.set(settings, { tokens, estimate })
  return estimate
}

const systemEstimates = new WeakMap<RunSettings, { readonly tokens: Tokens; readonly estimate: number }>()

function estimateTools(tokens: Tokens, definitions: readonly ToolDefinition[]): number {
  const cached = toolEstimates.get(definitions)
  if (cached?.tokens === tokens) return cached.estimate
  const estimate = definitions.length === 0 ? 0 : tokens.estimate(JSON.stringify(definitions))
  toolEstimates.set(definitions, { tokens, estimate })
  return estimate
}

const toolEstimates = new WeakMap<readonly ToolDefinition[], { readonly tokens: Tokens; readonly estimate: number }>()

/**
 * Ratio of the provider's count to the estimate of the same text: from the last count if it still applies, otherwise the
 * ratio that is stored in the run. Estimating old messages is expensive, so only callers that are about to free context
 * should use this.
 */
export function tokenRatioOf(run: Run): number {
  const counted = promptCountFor(run, currentModel(run))
  if (counted === undefined) return run.spent.tokenRatio
  const { tokens } = run.context
  const estimate = estimateFixed(run) + sizesOf(tokens, run.transcript.messages()).before(counted.length)
  return ratioOf(counted.tokens - (counted.freed ?? 0), estimate)
}

/** Limits the ratio to plausible values, in case a service reports something absurd. */
export function ratioOf(countedTokens: number, estimated: number): number {
  const ratio = countedTokens / Math.max(1, estimated)
  return Number.isFinite(ratio) ? Math.min(8, Math.max(0.25, ratio)) : 1
}

/** Estimated tokens of parts of the conversation and of other messages, scaled by the known ratio. */
export function calibratedSizes(run: Run): Pick<ContextView, 'tokensOf' | 'tokensBetween' | 'clearableBefore'> {
  const ratio = tokenRatioOf(run)
  const { tokens } = run.context
  const sizes = sizesOf(tokens, run.transcript.messages())
  return {
    tokensOf: (messages) => Math.ceil(ratio * estimateMessages(tokens, messages)),
    tokensBetween: (from, to) => Math.ceil(ratio * (sizes.before(to) - sizes.before(from))),
    clearableBefore: (index) => Math.ceil(ratio * sizes.clearableBefore(index)),
  }
}
