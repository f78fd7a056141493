import type { Model } from '../model/model.ts'
import type { Run } from '../run/run.ts'
import type { ToolChoice } from '../model/sampling.ts'

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

// Spec R-REQ-15a.
/**
 * What the next request says of tools; undefined to leave it to the model. A call that is required is required until the run has called a tool: afterwards the
 * model must be free to answer, or the run would go on until a limit ends it.
 */
export function toolChoiceNow({ context, spent }: Pick<Run, 'context' | 'spent'>): ToolChoice | undefined {
  if (spent.closing !== null) return 'none'
  const { toolChoice } = context.settings
  if (toolChoice === null || toolChoice === 'auto' || toolChoice === 'none') return toolChoice ?? undefined
  return (spent.toolCalls ?? 0) > 0 || !isOffered(context, toolChoice) ? undefined : toolChoice
}

/** A person may have set other tools since. */
function isOffered({ toolDefinitions }: Run['context'], choice: 'required' | { readonly tool: string }): boolean {
  return choice === 'required' ? toolDefinitions.length > 0 : toolDefinitions.some(({ name }) => name === choice.tool)
}
