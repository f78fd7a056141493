import type { Model } from '../../model/model.ts'
import type { Run } from '../run.ts'

/** The model that is asked now: the fallback once it took over, unless another was set after that. */
export function currentModel({ context, spent }: Pick<Run, 'context' | 'spent'>): Model {
  const { model, fallbackModel } = context
  const hasFallenBack = (spent.laps.inRun.model_fallback ?? 0) > 0 && spent.settings?.isPastFallback !== true
  return hasFallenBack && fallbackModel !== null ? fallbackModel : model
}

/** What is asked for: the default cap, or all that the model can once a reply was cut. */
export function outputCap({ spent }: Pick<Run, 'spent'>, model: Model): number {
  const isEscalated = (spent.laps.inRun.max_output_tokens_escalate ?? 0) > 0
  return isEscalated
    ? model.maxOutputTokens
    : Math.min(model.defaultOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens)
}

export function canEscalate(run: Run): boolean {
  const model = currentModel(run)
  return outputCap(run, model) < model.maxOutputTokens
}
