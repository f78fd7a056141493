import type { Model } from '../model/model.ts'
import type { Run } from '../run/run.ts'

/** The model that is asked now: the fallback once it took over, unless another was set after that. */
export function currentModel({ context, spent }: Pick<Run, 'context' | 'spent'>): Model {
  const { model, fallbackModel } = context
  const hasFallenBack = (spent.laps.inRun.model_fallback ?? 0) > 0 && spent.settings?.isPastFallback !== true
  return hasFallenBack && fallbackModel !== null ? fallbackModel : model
}

/** What is asked for: the default cap, or all that the model can once a reply was cut. */
export function outputCap({ spent, context }: Pick<Run, 'spent' | 'context'>, model: Model): number {
  const most = Math.min(model.maxOutputTokens, context.settings.maxOutputTokens)
  const isEscalated = (spent.laps.inRun.max_output_tokens_escalate ?? 0) > 0
  return isEscalated ? most : Math.min(model.defaultOutputTokens ?? most, most)
}

export function canEscalate(run: Run): boolean {
  const model = currentModel(run)
  return outputCap(run, model) < Math.min(model.maxOutputTokens, run.context.settings.maxOutputTokens)
}
