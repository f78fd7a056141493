import type { Model } from '../../model/model.ts'
import type { ModelErrorJson } from '../../model/model-error.ts'
import type { Run } from '../run.ts'
import { estimateFixed, ratioOf } from './estimate.ts'
import { estimateMessages } from '../../context/tokens.ts'

/** Tokens of input that fit: as the options or the model say, and no more than a refusal said (spec R-CTX-10). */
export function windowOf({ context, spent }: Pick<Run, 'context' | 'spent'>, model: Model): number {
  const { windows } = spent
  const told = context.settings.contextWindow ?? model.contextWindow
  const learned = windows !== null && Object.hasOwn(windows, model.id) ? windows[model.id] : undefined
  return Math.min(told, learned ?? Infinity)
}

/** No model's window is smaller: whoever says so is not believed. */
const smallestWindow = 1_000

/** Learns from a refusal what the window of a model is, and how its service counts. */
export function learnWindow(run: Run, model: string, { kind, contextLimit }: ModelErrorJson): void {
  if (kind !== 'prompt_too_long' || contextLimit === undefined) return
  const { limit } = contextLimit
  const { windows } = run.spent
  const known = windows !== null && Object.hasOwn(windows, model) ? windows[model] : undefined
  if (limit >= smallestWindow && limit < (known ?? Infinity)) run.update({ windows: { ...windows, [model]: limit } })
}

/** What a refusal of the run's own request says: it was about all of the conversation, so estimates can be held against it. */
export function learnFromRefusal(run: Run, model: Model, error: ModelErrorJson): void {
  learnWindow(run, model.id, error)
  const used = error.kind === 'prompt_too_long' ? (error.contextLimit?.used ?? null) : null
  if (used === null) return
  const estimate = estimateFixed(run) + estimateMessages(run.context.tokens, run.transcript.messages())
  run.update({ tokenRatio: Math.max(run.spent.tokenRatio, ratioOf(used, estimate)) })
}
