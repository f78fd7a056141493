import type { Model } from '../model/model.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'

/** The model that is asked now: the fallback once it took over. */
export function currentModel(state: RunState, ports: Ports): Model {
  const { inRun } = state.spent.laps
  return (inRun.model_fallback ?? 0) > 0 && ports.fallbackModel !== null ? ports.fallbackModel : ports.model
}

/** What is asked for: the default cap, or all that the model can once a reply was cut. */
export function outputCap(state: RunState, model: Model): number {
  const escalated = (state.spent.laps.inRun.max_output_tokens_escalate ?? 0) > 0
  return escalated
    ? model.maxOutputTokens
    : Math.min(model.defaultOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens)
}

export function canEscalate(state: RunState, ports: Ports): boolean {
  const model = currentModel(state, ports)
  return outputCap(state, model) < model.maxOutputTokens
}
