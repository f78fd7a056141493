import type { Model } from './model.ts'

/** What a model may come to in one request. */
export interface ModelBound {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * What the extra passes of a request may add for each model, and what the asked one reads again after each of them.
 * @param byBytes What the request has at most, by any tokenizer.
 */
export function extraBounds(
  model: Model,
  inputTokens: number,
  outputTokens: number,
  byBytes: number,
): readonly ModelBound[] {
  const { extraPasses = [], contextWindow, maxServerToolUses = 0 } = model
  const written = extraPasses.reduce((sum, pass) => sum + pass.uses * pass.outputTokens, 0)
  const whole = inputTokens + outputTokens + written
  // What was sent is all that there is at first; it grows where the service goes on by itself.
  const longest = maxServerToolUses > 0 || extraPasses.length > 1 ? whole : inputTokens
  const readAgain = Math.min(whole, Math.max(contextWindow, inputTokens))
  return extraPasses.flatMap((pass) => {
    if (pass.uses === 0 || longest < (pass.fromInputTokens ?? 0)) return []
    // Another model counts the same text otherwise.
    const read = Math.min(pass.inputTokens, pass.model === model.id ? readAgain : byBytes + outputTokens + written)
    return [
      { model: pass.model, inputTokens: pass.uses * read, outputTokens: pass.uses * pass.outputTokens },
      { model: model.id, inputTokens: pass.uses * readAgain, outputTokens: 0 },
    ]
  })
}
