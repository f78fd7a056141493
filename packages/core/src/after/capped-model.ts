import type { Model } from '../model/model.ts'

/** The same model, of which replies of at most so many tokens are asked. */
export function cappedModel(model: Model, mostOutputTokens: number): Model {
  const maxOutputTokens = Math.min(model.maxOutputTokens, mostOutputTokens)
  const { id, contextWindow, maxServerToolUses, webSearch, extraPasses, maxImageTokens } = model
  const admit = model.admit?.bind(model)
  return {
    id,
    contextWindow,
    maxOutputTokens,
    ...(maxServerToolUses !== undefined && { maxServerToolUses }),
    ...(webSearch !== undefined && { webSearch }),
    ...(extraPasses !== undefined && { extraPasses }),
    ...(maxImageTokens !== undefined && { maxImageTokens }),
    // The cap is in the request that its call is given.
    ...(admit !== undefined && { admit }),
    call: (request, options) => model.call(request, options),
  }
}
