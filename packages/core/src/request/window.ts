import type { Model } from '../model/model.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Run } from '../run/run.ts'
import { estimateFixed, estimateRequest, ratioOf } from './estimate.ts'
import { estimateMessages } from '../model/tokens.ts'

// Spec R-CTX-10.
/** The number of input tokens that fit, according to the options or the model, and at most what a refusal reported. */
export function windowOf({ context, spent }: Pick<Run, 'context' | 'spent'>, model: Model): number {
  const configured = context.settings.contextWindow ?? model.contextWindow
  return Math.min(configured, learnedWindow(spent.windows, model.id) ?? Infinity)
}

// Spec R-CTX-10b.
/** The number of tokens of prompt and reply that fit together, if a refusal counted both; undefined otherwise. */
export function sharedWindowOf({ spent }: Pick<Run, 'spent'>, model: Model): number | undefined {
  return learnedWindow(spent.sharedWindows, model.id)
}

type LearnedWindows = { readonly [model: string]: number } | null | undefined

function learnedWindow(windows: LearnedWindows, model: string): number | undefined {
  return windows !== null && windows !== undefined && Object.hasOwn(windows, model) ? windows[model] : undefined
}

/** No model has a smaller window, so a smaller reported one is ignored. */
const smallestWindow = 1_000

/** Stores the window of a model from a refusal, and whether the reply counts against it. */
export function learnWindow(run: Run, model: string, { kind, contextLimit }: ModelErrorJson): void {
  if (kind !== 'prompt_too_long' || contextLimit === undefined) return
  const { limit, includesOutput } = contextLimit
  learnLimit(run, model, limit)
  if (includesOutput !== true || limit < smallestWindow) return
  const { sharedWindows } = run.spent
  if (limit < (learnedWindow(sharedWindows, model) ?? Infinity))
    run.update({ sharedWindows: { ...sharedWindows, [model]: limit } })
}

function learnLimit(run: Run, model: string, limit: number): void {
  const { windows } = run.spent
  if (limit >= smallestWindow && limit < (learnedWindow(windows, model) ?? Infinity))
    run.update({ windows: { ...windows, [model]: limit } })
}

/** Stores the window from a refusal of the run's own request. The request contained the whole conversation, so estimates can be compared with it. */
export function learnFromRefusal(run: Run, model: Model, error: ModelErrorJson): void {
  if (error.kind !== 'prompt_too_long') return
  learnWindow(run, model.id, error)
  const { contextLimit, excessTokens } = error
  // Only the excess was reported: the window is the sent size minus the excess.
  if (contextLimit === undefined && excessTokens !== undefined)
    learnLimit(run, model.id, estimateRequest(run) - excessTokens)
  const used = contextLimit?.used ?? null
  if (used === null) return
  const estimate = estimateFixed(run) + estimateMessages(run.context.tokens, run.transcript.messages())
  run.update({ tokenRatio: Math.max(run.spent.tokenRatio, ratioOf(used, estimate)) })
}
