import type { Model } from '../model/model.ts'
import { modelFacts } from '../model/model-facts.ts'

/** The same model, of which replies of at most so many tokens are asked. */
export function cappedModel(model: Model, mostOutputTokens: number): Model {
  const maxOutputTokens = Math.min(model.maxOutputTokens, mostOutputTokens)
  // The cap is the default, too.
  const { defaultOutputTokens: _, ...facts } = modelFacts(model)
  const admit = model.admit?.bind(model)
  return {
    ...facts,
    maxOutputTokens,
    // The cap is in the request that its call is given.
    ...(admit !== undefined && { admit }),
    call: (request, options) => model.call(request, options),
  }
}
