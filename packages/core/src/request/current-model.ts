import type { Model } from '../model/model.ts'
import type { Run } from '../run/run.ts'
import type { ToolChoice } from '../model/sampling.ts'

/** The model of the next request: the fallback model after it was selected, unless another model was set later. */
export function currentModel({ context, spent }: Pick<Run, 'context' | 'spent'>): Model {
  const { model, fallbackModel } = context
  const hasFallenBack = (spent.laps.inRun.model_fallback ?? 0) > 0 && spent.settings?.isPastFallback !== true
  return hasFallenBack && fallbackModel !== null ? fallbackModel : model
}

/** The reply cap to request: the default, or the model's maximum after a reply was truncated. */
export function outputCap({ spent, context }: Pick<Run, 'spent' | 'context'>, model: Model): number {
  const maxTokens = Math.min(model.maxOutputTokens, context.settings.maxOutputTokens)
  const isEscalated = (spent.laps.inRun.max_output_tokens_escalate ?? 0) > 0
  return isEscalated ? maxTokens : Math.min(model.defaultOutputTokens ?? maxTokens, maxTokens)
}

export function canEscalate(run: Run): boolean {
  const model = currentModel(run)
  return outputCap(run, model) < Math.min(model.maxOutputTokens, run.context.settings.maxOutputTokens)
}

// Spec R-REQ-15a.
/**
 * The tool choice of the next request; undefined if the model decides. A required call applies until the run has called
 * a tool. Afterwards the model must be allowed to answer; otherwise the run could only end at a limit.
 */
export function toolChoiceNow({ context, spent }: Pick<Run, 'context' | 'spent'>): ToolChoice | undefined {
  if (spent.closing !== null) return 'none'
  const { toolChoice } = context.settings
  if (toolChoice === null || toolChoice === 'auto' || toolChoice === 'none') return toolChoice ?? undefined
  return (spent.toolCalls ?? 0) > 0 || !isOffered(context, toolChoice) ? undefined : toolChoice
}

/** Whether the model can still call the chosen tool. A person may have changed the tools since. */
function isOffered({ toolDefinitions }: Run['context'], choice: 'required' | { readonly tool: string }): boolean {
  return choice === 'required' ? toolDefinitions.length > 0 : toolDefinitions.some(({ name }) => name === choice.tool)
}
