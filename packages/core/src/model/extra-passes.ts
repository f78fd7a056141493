import type { Model } from './model.ts'

/** Upper bounds for one model within one request. */
export interface ModelBound {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * Upper bounds of the extra passes of a request for each model, and of what the requested model reads again after them.
 * @param byBytes Upper bound of the request's tokens for any tokenizer.
 */
export function extraBounds(
  model: Model,
  inputTokens: number,
  outputTokens: number,
  byBytes: number,
): readonly ModelBound[] {
  const { extraPasses = [], contextWindow, maxServerToolUses = 0 } = model
  const passOutput = extraPasses.reduce((sum, pass) => sum + pass.uses * pass.outputTokens, 0)
  const whole = inputTokens + outputTokens + passOutput
  // At first there is only the sent input. It grows if the service continues by itself.
  const longest = maxServerToolUses > 0 || extraPasses.length > 1 ? whole : inputTokens
  const readAgain = Math.min(whole, Math.max(contextWindow, inputTokens))
  return extraPasses.flatMap((pass) => {
    if (pass.uses === 0 || longest < (pass.fromInputTokens ?? 0)) return []
    // Another model may count a different number of tokens for the same text.
    const read = Math.min(pass.inputTokens, pass.model === model.id ? readAgain : byBytes + outputTokens + passOutput)
    return [
      { model: pass.model, inputTokens: pass.uses * read, outputTokens: pass.uses * pass.outputTokens },
      { model: model.id, inputTokens: pass.uses * readAgain, outputTokens: 0 },
    ]
  })
}
