import type { Model } from '../model/model.ts'

/** The same model, of which replies of at most so many tokens are asked. */
export function cappedModel(model: Model, mostOutputTokens: number): Model {
  const maxOutputTokens = Math.min(model.maxOutputTokens, mostOutputTokens)
  const { id, contextWindow, maxServerToolUses, extraPasses, maxImageTokens } = model
  return {
    id,
    contextWindow,
    maxOutputTokens,
    ...(maxServerToolUses !== undefined && { maxServerToolUses }),
    ...(extraPasses !== undefined && { extraPasses }),
    ...(maxImageTokens !== undefined && { maxImageTokens }),
    call: (request, options) => model.call(request, options),
  }
}
